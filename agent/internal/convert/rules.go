package convert

import (
	"encoding/json"

	"github.com/tmc/langchaingo/llms"
)

// Rules describe the forms of messages that a provider of langchaingo requires.
type Rules struct {
	SingleParts   bool // an AI message has one part
	NoBlankText   bool // blank text is refused
	CacheMarks    bool // a human message may have cache markers
	MergedResults bool // the results of a turn are one message
	SchemaMaps    bool // the parameters of a tool are a map[string]any
	ResultsLast   bool // no human message may follow tool messages, so results have no images
	NoToolsAtEnd  bool // tools are left out when the model has to answer without them
}

// The rules of providers.
var (
	// OpenAI accepts messages as they are.
	OpenAI = Rules{}

	// Anthropic accepts AI messages of one part, no blank text, and cache markers. Its models
	// are told in words when they have to answer without tools: the provider ignores the tool
	// choice, and the API requires the tools as long as the history has calls.
	Anthropic = Rules{SingleParts: true, NoBlankText: true, CacheMarks: true}

	// Bedrock is Anthropic without cache markers, which the provider refuses.
	Bedrock = Rules{SingleParts: true, NoBlankText: true}

	// Google accepts the results of one turn in one message, and schemas of tools as maps.
	Google = Rules{MergedResults: true, SchemaMaps: true}

	// Mistral accepts no human message after tool messages, and no tools when the model has to
	// answer without them.
	Mistral = Rules{ResultsLast: true, NoToolsAtEnd: true}
)

// Tools returns the tools in the form that the provider requires. It does not modify its argument.
func (r Rules) Tools(tools []llms.Tool) []llms.Tool {
	if !r.SchemaMaps {
		return tools
	}
	out := make([]llms.Tool, len(tools))
	for i, tool := range tools {
		out[i] = tool
		if tool.Function == nil {
			continue
		}
		f := *tool.Function
		if schema, ok := schemaMap(f.Parameters); ok {
			f.Parameters = schema
		}
		out[i].Function = &f
	}
	return out
}

// schemaMap decodes a schema.
func schemaMap(schema any) (map[string]any, bool) {
	data, err := json.Marshal(schema)
	if err != nil {
		return nil, false
	}
	var m map[string]any
	return m, json.Unmarshal(data, &m) == nil && m != nil
}
