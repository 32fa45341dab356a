package sampling

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// A server's tools are written in the dialect of the model's provider, the model's arguments are
// turned back, and the model sees its own arguments again.
func TestToolsAreWrittenForTheHost(t *testing.T) {
	for name, tt := range map[string]struct {
		host, schema string
		sent         string // parameters
		wrote        string // arguments of the model
		taken        string // arguments for the server
		replayed     string // arguments in the next request to the model
	}{
		"nothing at all": {"openai", `{}`, `{"type":"object","properties":{}}`, `{}`, `{}`, `{}`},
		"a bare object":  {"compatible", `{"type":"object"}`, `{"type":"object","properties":{}}`, `{}`, `{}`, `{}`},
		"a list of anything": {"openai", `{"type":"object","properties":{"l":{"type":"array"}}}`,
			`{"type":"object","properties":{"l":{"type":"array","items":{}}}}`, `{"l": ["1"]}`, `{"l": ["1"]}`, `{"l": ["1"]}`},
		"a tuple": {"azure", `{"type":"object","properties":{"l":{"type":"array","items":[{"type":"integer"}]}}}`,
			`{"type":"object","properties":{"l":{"type":"array","prefixItems":[{"type":"integer"}],"items":{}}}}`, `{"l":[1]}`, `{"l":[1]}`, `{"l":[1]}`},
		"alternatives at the root": {"openai", `{"type":"object","properties":{"a":{"type":"integer"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`,
			`{"type":"object","description":"Give all arguments in \"input\".","properties":{"input":{"type":"object","properties":{"a":{"type":"integer"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}},"required":["input"],"additionalProperties":false}`,
			`{"input":{"a":1}}`, `{"a":1}`, `{"input":{"a":1}}`},
		"arguments that do not fit": {"openai", `{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"not":{"required":["b"]}}`,
			`{"type":"object","description":"Give all arguments in \"input\".","properties":{"input":{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"not":{"required":["b"]}}},"required":["input"],"additionalProperties":false}`,
			`{"input":{"c":1}}`, `{"input":{"c":1}}`, `{"input":{"c":1}}`},
		"any properties for Gemini": {"gemini", `{"type":"object","properties":{"o":{"type":"object","additionalProperties":{"type":"string"}}},"required":["o"]}`,
			`{"type":"object","properties":{"o":{"type":"array","description":"A list of names and values.","items":{"type":"object","properties":{"key":{"type":"string"},"value":{"type":"string"}},"required":["key","value"]}}},"required":["o"]}`,
			`{"o":[{"key":"a","value":"b"}]}`, `{"o":{"a":"b"}}`, `{"o":{"a":"b"}}`},
		"nothing for Gemini": {"gemini", `{"type":"object"}`,
			`{"type":"object","properties":{"no_parameters":{"type":"boolean","nullable":true,"description":"Leave it out: there are no parameters."}}}`,
			`{"no_parameters":true}`, `{}`, `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, answering(fmt.Sprintf(`{"choices":[{"message":{"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":%q}}]},"finish_reason":"tool_calls"}]}`, tt.wrote), plainAnswer))
			s := h.sampler(t, &Options{Host: tt.host})
			first := `{"role":"user","content":{"type":"text","text":"Hi"}}`
			ask := func(messages string) *mcp.CreateMessageResult {
				t.Helper()
				return answered(t, s, `{"maxTokens":5,"tools":[{"name":"f","inputSchema":`+tt.schema+`}],"messages":[`+messages+`]}`)
			}
			use, _ := ask(first).Content[0].(*mcp.ToolUseContent)
			check.Require(t, use != nil && string(use.Input) == tt.taken, "got the tool use %+v, want %s", use, tt.taken)
			equalJSON(t, encodedAt(t, h.Last(), "tools", 0, "function", "parameters"), tt.sent)
			ask(first + `,{"role":"assistant","content":{"type":"tool_use","id":"c1","name":"f","input":` + tt.taken + `}},` +
				`{"role":"user","content":{"type":"tool_result","toolUseId":"c1","content":[{"type":"text","text":"done"}]}}`)
			arguments, _ := at(t, h.Last(), "messages", 1, "tool_calls", 0, "function", "arguments").(string)
			equalJSON(t, arguments, tt.replayed)
		})
	}
}

// An unreadable schema is an error before the model is asked.
func TestToolsThatCannotBeWritten(t *testing.T) {
	for schema, want := range map[string]string{
		`{"$ref":"https://example.com/s"}`:  "never fetched",
		`{"type":"string"}`:                 "arguments are an object",
		`{"$schema":"https://example.com"}`: "unsupported dialect",
	} {
		t.Run(want, func(t *testing.T) {
			h := newHost(t, answering(plainAnswer))
			const params = `{"maxTokens":5,"messages":[{"role":"user","content":{"type":"text","text":"Hi"}}],"tools":[{"name":"f","inputSchema":%s}]}`
			failure := wantCode(t, ask(t, h.sampler(t, nil), fmt.Sprintf(params, schema)), mcp.CodeInvalidParams)
			check.Contains(t, "", failure.Message, want)
			check.Contains(t, "", failure.Message, `"f"`)
			h.wantAsked(t, 0)
		})
	}
}

// A short schema can become long if its references are resolved. The limits hold for the model's schema.
func TestToolsThatGrow(t *testing.T) {
	var defs []string
	for i := range 8 {
		defs = append(defs, fmt.Sprintf(`"d%d":{"type":"object","properties":{"l":{"$ref":"#/$defs/d%d"},"r":{"$ref":"#/$defs/d%d"}}}`, i, i+1, i+1))
	}
	schema := `{"type":"object","properties":{"v":{"$ref":"#/$defs/d0"}},"$defs":{` + strings.Join(defs, ",") + `,"d8":{"type":"string"}}}`
	params := fmt.Sprintf(`{"maxTokens":5,"messages":[{"role":"user","content":{"type":"text","text":"Hi"}}],"tools":[{"name":"f","inputSchema":%s},{"name":"g","inputSchema":%[1]s}]}`, schema)
	const short, long = 2000, 8000 // more than the original request, less than Gemini's
	for name, tt := range map[string]struct {
		host   string
		limits Limits
		kind   string // kind of the refusal, "" for none
	}{
		"not grown":       {"openai", alone(Limits{InputBytes: short, Total: Budget{Tokens: short}}), ""},
		"grown":           {"gemini", Limits{}, ""},
		"over the bytes":  {"gemini", alone(Limits{InputBytes: long}), kindSize},
		"over the tokens": {"gemini", alone(Limits{Total: Budget{Tokens: long}}), kindBudget},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, answering(plainAnswer))
			s := h.sampler(t, &Options{Host: tt.host, Limits: tt.limits})
			err := ask(t, s, params)
			if tt.kind != "" {
				wantRefusal(t, err, tt.kind)
				h.wantAsked(t, 0)
				return
			}
			check.Must(t, err)
			sent := len(encodedAt(t, h.Last(), "tools"))
			got := s.governor.allServers.charges[0].spent.Input
			check.That(t, got >= int64(sent/5) && got <= int64(sent/3), "got %d tokens for tools of %d bytes, want about a quarter", got, sent)
		})
	}
}

// No schema is written for a lost server.
func TestToolsOfWhoHasGone(t *testing.T) {
	h := newHost(t, answering(plainAnswer))
	ctx, leave := context.WithCancel(t.Context())
	s := h.sampler(t, &Options{Review: &Review{Request: func(context.Context, *Request) error { leave(); return nil }}})
	const unusable = `{"maxTokens":5,"messages":[{"role":"user","content":{"type":"text","text":"Hi"}}],"tools":[{"name":"f","inputSchema":{"type":"string"}}]}`
	check.Is(t, check.Err(s.CreateMessage(ctx, question(t, unusable))), context.Canceled, "the end of the context")
}

// at is the value at a path in JSON.
func at(t *testing.T, text string, path ...any) any {
	t.Helper()
	var v any
	check.Must(t, json.Unmarshal([]byte(text), &v))
	for _, step := range path {
		switch step := step.(type) {
		case string:
			object, _ := v.(map[string]any)
			v = object[step]
		case int:
			list, _ := v.([]any)
			check.Require(t, step < len(list), "got %s, want something at %v", text, path)
			v = list[step]
		}
	}
	return v
}

func encodedAt(t *testing.T, text string, path ...any) string {
	t.Helper()
	return asJSON(at(t, text, path...))
}
