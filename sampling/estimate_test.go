package sampling

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// A host's count that cannot be true, or is far too small for the text, is ignored: an estimate
// counts. An empty reply has no tokens, and 0 is a valid count.
func TestUsageThatCannotBeTrue(t *testing.T) {
	const counted = `"prompt_tokens":12,"completion_tokens":8`
	long := fmt.Sprintf(`{"messages":[{"role":"user","content":{"type":"text","text":%q}}],"maxTokens":100}`, strings.Repeat("word ", 2000))
	type row struct {
		usage string
		want  usage
	}
	for _, tt := range []struct {
		question, reply string
		rows            []row
	}{
		{hi, "Hello", []row{ // 34 bytes, or 8 tokens, and 5 bytes, or 2 tokens
			{`{` + counted + `}`, usage{Input: 12, Output: 8}},
			{`{"input_tokens":12,"output_tokens":8}`, usage{Input: 12, Output: 8}},
			{`{` + counted + `,"total_tokens":30}`, usage{Input: 12, Output: 18}},
			{`{"prompt_tokens":12,"total_tokens":30}`, usage{Input: 12, Output: 18}},
			{`{"completion_tokens":8,"total_tokens":30}`, usage{Input: 22, Output: 8}},
			{`{"total_tokens":30}`, usage{Input: 28, Output: 2, Estimated: true}},
			{`{"total_tokens":1}`, usage{Output: 1, Estimated: true}},
			{`{"prompt_tokens":12}`, usage{Input: 12, Output: 2, Estimated: true}},
			{`{"prompt_tokens":12,"completion_tokens":0}`, usage{Input: 12, Output: 2, Estimated: true}},
			{`{"prompt_tokens":0,"completion_tokens":8}`, usage{Input: 8, Output: 8, Estimated: true}},
			{`{"prompt_tokens":-3,"completion_tokens":-8}`, usage{Input: 8, Output: 2, Estimated: true}},
			{`{"prompt_tokens":1e300,"completion_tokens":1e300}`, usage{Input: 8, Output: 2, Estimated: true}},
			{`{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}`, usage{Input: 8, Output: 2, Estimated: true}},
			{`{"tokens_in":12,"tokens_out":8}`, usage{Input: 8, Output: 2, Estimated: true}},
			{`{}`, usage{Input: 8, Output: 2, Estimated: true}},
			{`null`, usage{Input: 8, Output: 2, Estimated: true}},
			{`"many"`, usage{Input: 8, Output: 2, Estimated: true}},
		}},
		{hi, "", []row{
			{`{"prompt_tokens":12,"completion_tokens":0}`, usage{Input: 12}},
			{`{"prompt_tokens":12,"completion_tokens":7}`, usage{Input: 12, Output: 7}},
			{`{"completion_tokens":0}`, usage{Input: 8, Estimated: true}},
			{`{"total_tokens":20}`, usage{Input: 20, Estimated: true}},
		}},
		{long, strings.Repeat("word ", 1000), []row{
			{`{"prompt_tokens":1,"completion_tokens":1}`, usage{Input: 10032 / 4, Output: 1250, Estimated: true}},
			{`{"prompt_tokens":1,"completion_tokens":1000}`, usage{Input: 10032 / 4, Output: 1000, Estimated: true}},
			{`{"prompt_tokens":2000,"completion_tokens":1}`, usage{Input: 2000, Output: 1250, Estimated: true}},
			{`{"total_tokens":2}`, usage{Input: 10032 / 4, Output: 1250, Estimated: true}},
			{`{"prompt_tokens":79,"completion_tokens":40}`, usage{Input: 79, Output: 40}},
			{`{"prompt_tokens":100000,"completion_tokens":50000}`, usage{Input: 100000, Output: 50000}},
		}},
	} {
		for _, r := range tt.rows {
			h := newHost(t, answering(fmt.Sprintf(`{"choices":[{"message":{"content":%q},"finish_reason":"stop"}],"usage":%s}`, tt.reply, r.usage)))
			s := h.sampler(t, nil)
			answered(t, s, tt.question)
			check.Equal(t, fmt.Sprintf("%s for a reply of %d bytes", r.usage, len(tt.reply)), s.governor.allServers.charges[0].spent, r.want)
		}
	}
}

// The sampler ends the text at the server's stop sequence; the host's count comes after it.
func TestStopSequenceIsCounted(t *testing.T) {
	params := `{"messages":[{"role":"user","content":{"type":"text","text":"Hi"}}],"maxTokens":9,"stopSequences":["END"]}`
	for usage, want := range map[string]usage{
		`{"prompt_tokens":10,"completion_tokens":3000}`: {Input: 10, Output: 3000},
		`{}`: {Input: 37 / 4, Output: (400 + 3) / 4, Estimated: true},
	} {
		h := newHost(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for _, text := range []string{"so END", strings.Repeat("x", 394)} {
				fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":%q}}]}\n\n", text)
			}
			fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: {\"choices\":[],\"usage\":%s}\n\n", usage)
		})
		shown := ""
		s := h.sampler(t, &Options{OnText: func(_ context.Context, _ *Request, piece string) { shown += piece }})
		got := answered(t, s, params)
		texts := []string{got.Content[0].(*mcp.TextContent).Text, shown, got.StopReason}
		check.Same(t, "text, shown, stopped for", texts, []string{"so ", "so ", "stopSequence"})
		check.Equal(t, usage, s.governor.allServers.charges[0].spent, want)
	}
}

// The host's extra data of a tool use comes back to the host, and is not counted as text.
func TestHostExtraIsNoText(t *testing.T) {
	const use = `{"maxTokens":1,"messages":[{"role":"assistant","content":{"type":"tool_use","id":"a","name":"f"%s}},{"role":"user","content":{"type":"tool_result","toolUseId":"a","content":[]}}]}`
	without, with := question(t, fmt.Sprintf(use, "")), question(t, fmt.Sprintf(use, `,"_meta":{"io.github.mcpchain/host-extra":{"x":"y"}}`))
	got, want := newNeeds(with), newNeeds(without)
	check.That(t, got == want && inputSize(with) != inputSize(without), "got %+v, want %+v, and a larger request", got, want)
}
