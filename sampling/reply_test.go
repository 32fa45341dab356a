package sampling

import (
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

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
