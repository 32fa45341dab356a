package chat

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/internal/check"
)

// A count that cannot be true is ignored; the other counts are used.
func TestUsage(t *testing.T) {
	for _, tt := range []struct {
		name, usage string
		want        *Usage
	}{
		{"in full", `{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":3}}`,
			&Usage{Prompt: 10, Completion: 5, Total: 15, Reasoning: 3, Cached: 4}},
		{"OpenAI, written to the cache", `{"input_tokens":10,"output_tokens":5,"total_tokens":15,"input_tokens_details":{"cached_tokens":4,"cache_write_tokens":9}}`,
			&Usage{Prompt: 10, Completion: 5, Total: 15, Cached: 4, CacheWrite: 6}},
		{"Moonshot, read from the cache", `{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"cached_tokens":4}`,
			&Usage{Prompt: 10, Completion: 5, Total: 15, Cached: 4}},
		{"DeepSeek, read from the cache", `{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"prompt_cache_hit_tokens":4,"prompt_cache_miss_tokens":6}`,
			&Usage{Prompt: 10, Completion: 5, Total: 15, Cached: 4}},
		{"no total", `{"prompt_tokens":10,"completion_tokens":5}`, &Usage{Prompt: 10, Completion: 5, Total: 15}},
		{"a total that is too small", `{"prompt_tokens":10,"completion_tokens":5,"total_tokens":1}`, &Usage{Prompt: 10, Completion: 5, Total: 15}},
		{"reasoning in the total alone", `{"prompt_tokens":10,"completion_tokens":5,"total_tokens":45}`, &Usage{Prompt: 10, Completion: 35, Total: 45}},
		{"prompt and total", `{"prompt_tokens":10,"completion_tokens":0,"total_tokens":15}`, &Usage{Prompt: 10, Completion: 5, Total: 15}},
		{"completion and total", `{"prompt_tokens":0,"completion_tokens":5,"total_tokens":15}`, &Usage{Prompt: 10, Completion: 5, Total: 15}},
		{"completion alone", `{"completion_tokens":5}`, &Usage{Completion: 5, Total: 5}},
		{"a total alone", `{"total_tokens":15}`, &Usage{Total: 15}},
		{"other names", `{"input_tokens":10,"output_tokens":5}`, &Usage{Prompt: 10, Completion: 5, Total: 15}},
		{"odd kinds of numbers", `{"prompt_tokens":1.0,"completion_tokens":-5,"total_tokens":"many"}`, &Usage{Prompt: 1, Total: 1}},
		{"absurd beside true", `{"prompt_tokens":10,"completion_tokens":1e300,"total_tokens":100000001}`, &Usage{Prompt: 10, Total: 10}},
		{"the most that is plausible", `{"prompt_tokens":100000000}`, &Usage{Prompt: 100000000, Total: 100000000}},
		{"nothing", `{}`, nil},
		{"zeros", `{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}`, nil},
		{"negative", `{"prompt_tokens":-1,"completion_tokens":-1,"total_tokens":-2}`, nil},
		{"absurd", `{"prompt_tokens":1e300,"completion_tokens":1e12}`, nil},
		{"names that are not known", `{"tokens_in":3,"tokens_out":4}`, nil},
		{"no object", `[3]`, nil},
		{"null", `null`, nil},
	} {
		h := newHost(t, answering(`{"choices":[{"message":{"content":"x"}}],"usage":`+tt.usage+`}`))
		check.Same(t, tt.name, check.Value(h.client(t, openAI, nil).Complete(t.Context(), hello()))(t).Usage, tt.want)
	}
}

// Size counts text that is not passed on, too.
func TestSize(t *testing.T) {
	const (
		f     = `"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1"}}]`
		usage = `"usage":{"prompt_tokens":3,"completion_tokens":9}`
	)
	for _, tt := range []struct {
		name, message, finish string
		size                  int
	}{
		{"text", `{"content":"Hello"}`, "stop", 5},
		{"all kinds", `{"content":"Hello","reasoning":"Hm.","refusal":"No",` + f + `}`, "tool_calls", 5 + 3 + 2 + 7},
		{"cut off at the end of the tokens", `{` + f + `}`, "length", 7},
		{"after a stop sequence", `{"content":"Hello ### and more"}`, "stop", 18},
	} {
		whole := newHost(t, answering(fmt.Sprintf(`{"choices":[{"message":%s,"finish_reason":%q}],%s}`, tt.message, tt.finish, usage)))
		streamed := newHost(t, streaming(chunk(tt.message, ""), chunk(`{}`, tt.finish), `data: {"choices":[],`+usage+`}`))
		r := hello()
		r.Stop, r.ReadToEnd = []string{"###"}, true
		one := check.Value(whole.client(t, openAI, nil).Complete(t.Context(), r))(t)
		other := check.Value(streamed.client(t, openAI, nil).Stream(t.Context(), r, Deltas{}))(t)
		for form, got := range map[string]*Reply{"whole": one, "streamed": other} {
			check.That(t, got.Size == tt.size && got.Usage != nil && got.Usage.Completion == 9,
				"%s, %s: got %d bytes and the usage %+v, want %d bytes and the host's count", tt.name, form, got.Size, got.Usage, tt.size)
		}
	}
}

// The host's count comes at the end of a stream, so the stream is read to its
// end if the caller wants the count. A failure there does not lose the answer.
func TestStreamIsReadToItsEnd(t *testing.T) {
	start := []string{chunk(`{"content":"Hel"}`, ""), chunk(`{"content":"lo ### and"}`, "")}
	rest := []string{
		chunk(`{"content":" more"}`, ""), callDelta(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`), chunk(`{}`, "stop"),
		`data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":9}}`, `data: [DONE]`,
	}
	counted := &Usage{Prompt: 3, Completion: 9, Total: 12}
	for _, tt := range []struct {
		name  string
		toEnd bool
		rest  []string
		usage *Usage
		size  int
	}{
		{"to the end", true, rest, counted, 13 + 5 + 3},
		{"left", false, rest, nil, 13},
		{"broken off", true, rest[:1], nil, 13 + 5},
		{"an error", true, append(rest[:1:1], `data: {"error":{"message":"m"}}`, rest[3]), nil, 13 + 5},
		{"no chunk", true, append(rest[:1:1], `data: <html>`, rest[3]), nil, 13 + 5},
	} {
		h := newHost(t, streaming(append(start, tt.rest...)...))
		r := hello()
		r.Stop, r.ReadToEnd = []string{"###"}, tt.toEnd
		var pieces string
		got := check.Value(h.client(t, openAI, nil).Stream(t.Context(), r, Deltas{Text: func(s string) error { pieces += s; return nil }}))(t)
		want := &Reply{Model: "m", Endpoint: Chat, Text: "Hello ", Finish: FinishStop, Stopped: true, Usage: tt.usage, Size: tt.size}
		diff := cmp.Diff(want, got)
		check.That(t, diff == "" && pieces == "Hello ", "%s: got the pieces %q, reply (-want +got):\n%s", tt.name, pieces, diff)
	}
}

// A useless answer still has a cost.
func TestUsageOfNoUse(t *testing.T) {
	for _, choice := range []string{
		`{"finish_reason":"content_filter","message":{"content":""}}`,
		`{"finish_reason":"error","message":{"content":"x"}}`,
		`{"message":{"tool_calls":[{"id":"a","function":{"arguments":"{\"x\":1}"}}]}}`,
	} {
		h := newHost(t, answering(`{"choices":[`+choice+`],"usage":{"prompt_tokens":3,"completion_tokens":9}}`))
		_, err := h.client(t, openAI, nil).Complete(t.Context(), hello())
		failure, ok := err.(*Error)
		check.That(t, ok && failure.Usage != nil && failure.Usage.Total == 12, "%s: got %v, want an *Error with the usage", choice, err)
	}
}
