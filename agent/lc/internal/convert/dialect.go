package convert

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/tmc/langchaingo/llms"
)

// Dialect is the form that a provider of langchaingo needs messages in. A model that
// wraps another one hides its type: name the dialect then.
type Dialect string

// The dialects.
const (
	// Auto goes by the package of the model's type, see [Dialect.For]. Without a model, and for any other package than
	// those below, it is OpenAI.
	Auto Dialect = ""

	// OpenAI takes messages as they are.
	OpenAI Dialect = "openai"

	// Anthropic takes AI messages of one part, no blank text, and marks for its cache.
	// Its models are told in words when they have to answer without tools: the provider
	// ignores the tool choice, and the API wants the tools as long as the history has
	// calls.
	Anthropic Dialect = "anthropic"

	// Bedrock is Anthropic without marks for a cache, which the provider refuses.
	Bedrock Dialect = "bedrock"

	// Google takes the results of one turn in one message, and tools with their schemas
	// as maps.
	Google Dialect = "google"

	// Mistral takes no human message after tool messages, hence no images of results, and
	// no tools when the model has to answer without them.
	Mistral Dialect = "mistral"
)

// rules are what the dialects differ in.
type rules struct {
	singleParts     bool // an AI message has one part
	noBlankText     bool // blank text is refused
	cacheMarks      bool // a human message may have marks for a cache
	mergedResults   bool // the results of a turn are one message
	schemaMaps      bool // the parameters of a tool are a map[string]any
	humanAfterTools bool // a human message may follow tool messages
	toolsAtEnd      bool // tools stay when the model has to answer without them
}

var dialects = map[Dialect]rules{
	OpenAI:    {humanAfterTools: true, toolsAtEnd: true},
	Anthropic: {singleParts: true, noBlankText: true, cacheMarks: true, humanAfterTools: true, toolsAtEnd: true},
	Bedrock:   {singleParts: true, noBlankText: true, humanAfterTools: true, toolsAtEnd: true},
	Google:    {mergedResults: true, schemaMaps: true, humanAfterTools: true, toolsAtEnd: true},
	Mistral:   {},
}

// rules of a dialect; an unknown dialect has the rules of [OpenAI].
func (d Dialect) rules() rules {
	if r, ok := dialects[d]; ok {
		return r
	}
	return dialects[OpenAI]
}

// For returns the dialect for a model: d itself, or, if d is [Auto], the dialect of the
// package of the model's type. An unknown dialect is an error.
func (d Dialect) For(model llms.Model) (Dialect, error) {
	if d == Auto {
		return detect(model), nil
	}
	if _, ok := dialects[d]; !ok {
		return "", fmt.Errorf("dialect %q is unknown; use a constant of package convert", d)
	}
	return d, nil
}

// HumanAfterTools reports whether a human message may follow tool messages.
func (d Dialect) HumanAfterTools() bool { return d.rules().humanAfterTools }

// ToolsAtEnd reports whether the model needs its tools also when it has to answer
// without them.
func (d Dialect) ToolsAtEnd() bool { return d.rules().toolsAtEnd }

// detect returns the dialect of the package of a model's type.
func detect(model llms.Model) Dialect {
	t := reflect.TypeOf(model)
	if t == nil {
		return OpenAI
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return ofPackage(t.PkgPath())
}

func ofPackage(path string) Dialect {
	switch strings.TrimPrefix(path, "github.com/tmc/langchaingo/llms/") {
	case "anthropic":
		return Anthropic
	case "bedrock":
		return Bedrock
	case "googleai", "googleai/vertex":
		return Google
	case "mistral":
		return Mistral
	}
	return OpenAI
}

// Tools returns the tools in the form that the provider needs. It does not change them.
func (d Dialect) Tools(tools []llms.Tool) []llms.Tool {
	if !d.rules().schemaMaps {
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
