package agent

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter"
)

// Dialect is the form that a provider of langchaingo needs the history in. The
// history itself has one form: an AI message with its text and all its tool
// calls, then one tool message for every call. A model that wraps another one
// hides its type, and then [Options.Dialect] has to name the dialect.
type Dialect string

const (
	// DialectAuto goes by the package of the model's type: anthropic and bedrock
	// are DialectAnthropic, googleai and vertex DialectGoogle, mistral
	// DialectMistral, all others DialectOpenAI.
	DialectAuto Dialect = ""

	// DialectOpenAI takes the history as it is.
	DialectOpenAI Dialect = "openai"

	// DialectAnthropic takes AI messages of one part. Its models are told in
	// words when they have to answer without tools, since the provider ignores
	// the tool choice and the API wants the tools as long as the history has
	// calls.
	DialectAnthropic Dialect = "anthropic"

	// DialectGoogle takes the results of one turn in one message, and tools with
	// their schemas as maps.
	DialectGoogle Dialect = "google"

	// DialectMistral takes no human message after tool messages, hence no images
	// of results, and no tools when the model has to answer without them.
	DialectMistral Dialect = "mistral"
)

// rules are what the dialects differ in.
type rules struct {
	singleParts     bool // an AI message has one part
	mergedResults   bool // consecutive tool messages are one
	schemaMaps      bool // the parameters of a tool are a map[string]any
	humanAfterTools bool // a human message may follow tool messages
	toolsAtEnd      bool // tools stay when the model has to answer without them

	profile adapter.Profile // for which the schemas of tools are written
}

func (d Dialect) rules(model llms.Model) (rules, error) {
	if d == DialectAuto {
		t := reflect.TypeOf(model)
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		d = detect(t.PkgPath())
	}
	switch d {
	case DialectOpenAI:
		return rules{humanAfterTools: true, toolsAtEnd: true, profile: adapter.OpenAI}, nil
	case DialectAnthropic:
		return rules{singleParts: true, humanAfterTools: true, toolsAtEnd: true, profile: adapter.Anthropic}, nil
	case DialectGoogle:
		return rules{mergedResults: true, schemaMaps: true, humanAfterTools: true, toolsAtEnd: true, profile: adapter.GoogleAI}, nil
	case DialectMistral:
		return rules{profile: adapter.OpenAI}, nil
	}
	return rules{}, fmt.Errorf("options: dialect %q is unknown; use one of the Dialect constants", d)
}

// profile is the provider for which the schemas of tools are written: as the
// options say, or else the model, or else its dialect.
func (o *Options) profile(model llms.Model, dialect adapter.Profile) (adapter.Profile, error) {
	p := o.Profile
	if m, ok := model.(interface {
		ToolProfile(...llms.CallOption) string
	}); ok && p == "" {
		p = adapter.Profile(m.ToolProfile(o.CallOptions...))
	}
	if p == "" {
		p = dialect
	}
	if all := adapter.Profiles(); !slices.Contains(all, p) {
		return "", fmt.Errorf("options: there is no profile %q; use one of %v", p, all)
	}
	return p, nil
}

// detect returns the dialect of the models of a package.
func detect(pkgPath string) Dialect {
	switch strings.TrimPrefix(pkgPath, "github.com/tmc/langchaingo/llms/") {
	case "anthropic", "bedrock":
		return DialectAnthropic
	case "googleai", "googleai/vertex":
		return DialectGoogle
	case "mistral":
		return DialectMistral
	}
	return DialectOpenAI
}

// encode puts the history into the provider's form. Messages are copied where
// they change.
func (d rules) encode(history []llms.MessageContent) []llms.MessageContent {
	out := make([]llms.MessageContent, 0, len(history))
	for _, m := range history {
		switch {
		case len(m.Parts) == 0:
			// The providers index the first part.
		case m.Role == llms.ChatMessageTypeAI:
			out = append(out, d.encodeAI(m)...)
		case d.mergedResults && m.Role == llms.ChatMessageTypeTool && len(out) > 0 && out[len(out)-1].Role == m.Role:
			last := &out[len(out)-1]
			last.Parts = append(last.Parts[:len(last.Parts):len(last.Parts)], m.Parts...)
		default:
			out = append(out, m)
		}
	}
	return out
}

func (d rules) encodeAI(m llms.MessageContent) []llms.MessageContent {
	parts := make([]llms.ContentPart, 0, len(m.Parts))
	for _, part := range m.Parts {
		switch p := part.(type) {
		case llms.ToolCall:
			parts = append(parts, withObject(p))
		case llms.TextContent:
			// Anthropic's API refuses blank text.
			if !d.singleParts || strings.TrimSpace(p.Text) != "" {
				parts = append(parts, p)
			}
		default:
			parts = append(parts, p)
		}
	}
	if !d.singleParts {
		return []llms.MessageContent{{Role: m.Role, Parts: parts}}
	}
	out := make([]llms.MessageContent, len(parts))
	for i := range parts {
		out[i] = llms.MessageContent{Role: m.Role, Parts: parts[i : i+1 : i+1]}
	}
	return out
}

// withObject replaces arguments that are not a JSON object. Providers and chat
// templates decode them and refuse the whole history otherwise; the tool message
// tells the model what was wrong.
func withObject(call llms.ToolCall) llms.ToolCall {
	var object map[string]json.RawMessage
	if call.FunctionCall == nil || json.Unmarshal([]byte(call.FunctionCall.Arguments), &object) == nil && object != nil {
		return call
	}
	call.FunctionCall = &llms.FunctionCall{Name: call.FunctionCall.Name, Arguments: "{}"}
	return call
}

// definitions puts the tools into the provider's form.
func (d rules) definitions(tools []llms.Tool) []llms.Tool {
	if !d.schemaMaps {
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
