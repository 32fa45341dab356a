package sampling

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func TestReplyMapping(t *testing.T) {
	choice := func(message, finish string) string {
		return fmt.Sprintf(`{"model":"m","choices":[{"index":0,"message":%s,"finish_reason":%s}]}`, message, finish)
	}
	calls := func(list string) string { return `{"content":"Let me.","tool_calls":[` + list + `]}` }
	f := `{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}`
	plain := `{"messages":[{"role":"user","content":{"type":"text","text":"Hi"}}],"maxTokens":9,"stopSequences":["END"]}`
	tools := `{"messages":[{"role":"user","content":{"type":"text","text":"Hi"}}],"maxTokens":9,"tools":[{"name":"f","inputSchema":{"type":"object"}}]}`
	text := func(s, stop string) string {
		return fmt.Sprintf(`{"role":"assistant","model":"m","content":{"type":"text","text":%q},"stopReason":%q}`, s, stop)
	}
	used := `{"role":"assistant","model":"m","content":[{"type":"text","text":"Let me."},{"type":"tool_use","id":"a","name":"f","input":{"x":1}}],"stopReason":"toolUse"}`
	for _, tt := range []struct{ name, params, answer, want string }{
		{"text", plain, choice(`{"content":"Hello"}`, `"stop"`), text("Hello", "endTurn")},
		{"length", plain, choice(`{"content":"Hel"}`, `"length"`), text("Hel", "maxTokens")},
		{"Mistral's length", plain, choice(`{"content":"Hel"}`, `"model_length"`), text("Hel", "maxTokens")},
		{"reasoned to the end of the tokens", plain, choice(`{"content":null}`, `"length"`), text("", "maxTokens")},
		{"stop sequence cut here", plain, choice(`{"content":"Hello END more"}`, `"stop"`), text("Hello ", "stopSequence")},
		{"stop sequence cut by vLLM", plain, `{"model":"m","choices":[{"message":{"content":"Hello "},"finish_reason":"stop","stop_reason":"END"}]}`, text("Hello ", "stopSequence")},
		{"refusal", plain, choice(`{"content":null,"refusal":"I cannot."}`, `"stop"`), text("I cannot.", "refusal")},
		{"filtered in part", plain, choice(`{"content":"Hel"}`, `"content_filter"`), text("Hel", "contentFilter")},
		{"parts", plain, choice(`{"content":[{"type":"thinking","thinking":[]},{"type":"text","text":"Hello"}]}`, `"stop"`), text("Hello", "endTurn")},
		{"the host's own word", plain, choice(`{"content":"Hello"}`, `"weird"`), text("Hello", "weird")},
		{"no reason", plain, choice(`{"content":"Hello"}`, `null`), `{"role":"assistant","model":"m","content":{"type":"text","text":"Hello"}}`},
		{"a host that does not name the model", plain, `{"choices":[{"message":{"content":"Hello"}}]}`, `{"role":"assistant","model":"gpt-4.1","content":{"type":"text","text":"Hello"}}`},
		{"nothing at all", plain, choice(`{}`, `"stop"`), text("", "endTurn")},
		{"tool use", tools, choice(calls(f), `"tool_calls"`), used},
		{"tool use that ends with stop", tools, choice(calls(f), `"stop"`), used},
		{"arguments as an object", tools, choice(calls(`{"id":"a","function":{"name":"f","arguments":{"x": 1}}}`), `"tool_calls"`), used},
		{"tool use cut off", tools, choice(calls(`{"id":"a","function":{"name":"f","arguments":"{\"x\""}}`), `"length"`), text("Let me.", "maxTokens")},
		{"announced but absent", tools, choice(calls(``), `"tool_calls"`), text("Let me.", "endTurn")},
		{"call without tools", plain, choice(calls(f), `"tool_calls"`), text("Let me.", "endTurn")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			equalJSON(t, asJSON(answered(t, newHost(t, answering(tt.answer)).sampler(t, nil), tt.params)), tt.want)
		})
	}
}

// A model errs at random: after an invalid call it gets a second chance.
func TestSecondChance(t *testing.T) {
	params := `{"messages":[{"role":"user","content":{"type":"text","text":"Hi"}}],"maxTokens":9,"tools":[{"name":"f","inputSchema":{}}]}`
	for _, bad := range []string{
		`{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{x"}}]}}]}`,
		`{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"[1]"}}]}}]}`,
		`{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"g","arguments":"{}"}}]}}]}`,
	} {
		h := newHost(t, answering(bad, plainAnswer))
		check.NoError(t, ask(t, h.sampler(t, nil), params), "good at the second time")
		h = newHost(t, answering(bad))
		wantCode(t, ask(t, h.sampler(t, nil), params), mcp.CodeInternalError)
		h.wantAsked(t, 2)
	}
}

func TestOnText(t *testing.T) {
	events := func(tail string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, `data: {"model":"m","choices":[{"delta":{"content":"Hel"}}]}`+"\n\n")
			io.WriteString(w, `data: {"choices":[{"delta":{"content":"lo"}}]}`+"\n\n"+tail)
		}
	}
	var pieces []string
	opts := &Options{OnText: func(_ context.Context, r *Request, piece string) { pieces = append(pieces, r.Model+":"+piece) }}
	h := newHost(t, events("data: [DONE]\n\n"))
	check.Equal(t, "Hello", answered(t, h.sampler(t, opts), hi).Content[0].(*mcp.TextContent).Text, "Hello")
	check.Same(t, "pieces", pieces, []string{"gpt-4.1:Hel", "gpt-4.1:lo"})

	h = newHost(t, events(""))
	wantCode(t, ask(t, h.sampler(t, opts), hi), mcp.CodeInternalError)
}
