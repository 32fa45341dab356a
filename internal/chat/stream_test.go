package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// chunk is an event with a delta, and a finish reason if not empty.
func chunk(delta, finish string) string {
	if finish == "" {
		return `data: {"choices":[{"index":0,"delta":` + delta + `}]}`
	}
	return `data: {"choices":[{"index":0,"delta":` + delta + `,"finish_reason":"` + finish + `"}]}`
}

func callDelta(calls string) string { return chunk(`{"tool_calls":[`+calls+`]}`, "") }

const done = `data: [DONE]`

func TestStream(t *testing.T) {
	call := func(id, name, args string) ToolCall { return ToolCall{ID: id, Name: name, Arguments: args} }
	tests := []struct {
		name   string
		lines  []string
		want   Reply
		pieces []string
	}{
		{
			"text",
			[]string{`data: {"id":"1","model":"m-2026","choices":[{"delta":{"role":"assistant","content":""}}]}`, chunk(`{"content":"Hel"}`, ""), chunk(`{"content":"lo"}`, ""), chunk(`{}`, "stop"),
				`data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`, done},
			Reply{ID: "1", Model: "m-2026", Text: "Hello", Finish: FinishStop, Usage: &Usage{Prompt: 3, Completion: 2, Total: 5}},
			[]string{"Hel", "lo"},
		},
		{
			"comments, blank data, no choices",
			[]string{`: OPENROUTER PROCESSING`, `data:`, `data: {"choices":[],"prompt_filter_results":[]}`, `event: ping`, chunk(`{"content":"x"}`, "stop"), done},
			Reply{Model: "m", Text: "x", Finish: FinishStop}, []string{"x"},
		},
		{
			"no DONE",
			[]string{chunk(`{"content":"x"}`, "stop")},
			Reply{Model: "m", Text: "x", Finish: FinishStop}, []string{"x"},
		},
		{
			"DONE without a reason",
			[]string{chunk(`{"content":"x"}`, ""), done},
			Reply{Model: "m", Text: "x"}, []string{"x"},
		},
		{
			"nothing after DONE counts",
			[]string{chunk(`{"content":"x"}`, "stop"), done, chunk(`{"content":"y"}`, "stop")},
			Reply{Model: "m", Text: "x", Finish: FinishStop}, []string{"x"},
		},
		{
			"other choices",
			[]string{`data: {"choices":[{"index":1,"delta":{"content":"y"}},{"index":0,"delta":{"content":"x"}}]}`, chunk(`{}`, "stop")},
			Reply{Model: "m", Text: "x", Finish: FinishStop}, []string{"x"},
		},
		{
			"reasoning and refusal",
			[]string{chunk(`{"reasoning_content":"H"}`, ""), chunk(`{"reasoning":"m"}`, ""), chunk(`{"refusal":"I can"}`, ""), chunk(`{"refusal":"not"}`, "stop")},
			Reply{Model: "m", Reasoning: "Hm", Refusal: "I cannot", Finish: FinishStop}, nil,
		},
		{
			"content in parts",
			[]string{chunk(`{"content":[{"type":"thinking","thinking":"t"},{"type":"text","text":"x"}]}`, "stop")},
			Reply{Model: "m", Text: "x", Finish: FinishStop}, []string{"x"},
		},
		{
			"interleaved calls, type on every delta",
			[]string{
				chunk(`{"content":"Let me."}`, ""),
				callDelta(`{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}`),
				callDelta(`{"index":1,"id":"b","type":"function","function":{"name":"g","arguments":""}}`),
				callDelta(`{"index":0,"type":"function","function":{"arguments":"{\"x\""}}`),
				callDelta(`{"index":1,"type":"function","function":{"arguments":"{\"y\""}},{"index":0,"type":"function","function":{"arguments":":1}"}}`),
				callDelta(`{"index":1,"type":"function","function":{"arguments":":2}"}}`),
				chunk(`{}`, "tool_calls"), done,
			},
			Reply{Model: "m", Text: "Let me.", Finish: FinishToolCalls, ToolCalls: []ToolCall{call("a", "f", `{"x":1}`), call("b", "g", `{"y":2}`)}},
			[]string{"Let me."},
		},
		{
			"id and name on every delta",
			[]string{
				callDelta(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}`),
				callDelta(`{"index":0,"id":"a","function":{"name":"f","arguments":":1}"}}`),
				chunk(`{}`, "tool_calls"),
			},
			Reply{Model: "m", Finish: FinishToolCalls, ToolCalls: []ToolCall{call("a", "f", `{"x":1}`)}}, nil,
		},
		{
			"indexes in the wrong order",
			[]string{
				callDelta(`{"index":7,"id":"b","function":{"name":"g","arguments":"{}"}}`),
				callDelta(`{"index":2,"id":"a","function":{"name":"f","arguments":"{}"}}`),
				chunk(`{}`, "tool_calls"),
			},
			Reply{Model: "m", Finish: FinishToolCalls, ToolCalls: []ToolCall{call("b", "g", `{}`), call("a", "f", `{}`)}}, nil,
		},
		{
			"Gemini: no index, calls in one piece",
			[]string{
				callDelta(`{"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`),
				chunk(`{"tool_calls":[{"id":"b","function":{"name":"f","arguments":"{\"x\":2}"}}]}`, "stop"),
			},
			Reply{Model: "m", Finish: FinishToolCalls, ToolCalls: []ToolCall{call("a", "f", `{"x":1}`), call("b", "f", `{"x":2}`)}}, nil,
		},
		{
			"Gemini: index 0 for all",
			[]string{
				callDelta(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`),
				callDelta(`{"index":0,"id":"b","function":{"name":"f","arguments":"{\"x\":2}"}}`),
				chunk(`{}`, "stop"),
			},
			Reply{Model: "m", Finish: FinishToolCalls, ToolCalls: []ToolCall{call("a", "f", `{"x":1}`), call("b", "f", `{"x":2}`)}}, nil,
		},
		{
			"no index and no id",
			[]string{
				callDelta(`{"function":{"name":"f","arguments":"{\"x\""}}`),
				callDelta(`{"function":{"arguments":":1}"}}`),
				callDelta(`{"function":{"name":"f","arguments":"{\"x\":2}"}}`),
				chunk(`{}`, "stop"),
			},
			Reply{Model: "m", Finish: FinishToolCalls, ToolCalls: []ToolCall{call("ID", "f", `{"x":1}`), call("ID", "f", `{"x":2}`)}}, nil,
		},
		{
			"no index, id on every delta",
			[]string{
				callDelta(`{"id":"a","function":{"name":"f","arguments":"{\"x\""}}`),
				callDelta(`{"id":"b","function":{"name":"g","arguments":"{"}}`),
				callDelta(`{"id":"a","function":{"arguments":":1}"}}`),
				callDelta(`{"id":"b","function":{"arguments":"}"}}`),
				chunk(`{}`, "tool_calls"),
			},
			Reply{Model: "m", Finish: FinishToolCalls, ToolCalls: []ToolCall{call("a", "f", `{"x":1}`), call("b", "g", `{}`)}}, nil,
		},
		{
			"another id on every delta",
			[]string{
				callDelta(`{"index":0,"id":"a","function":{"name":"f","arguments":""}},{"index":1,"id":"b","function":{"name":"g","arguments":"{"}}`),
				callDelta(`{"index":0,"id":"r1","function":{"arguments":"{\"x\""}}`),
				callDelta(`{"index":1,"id":"r2","function":{"arguments":"}"}},{"index":0,"id":"r3","function":{"arguments":":1}"}}`),
				chunk(`{}`, "tool_calls"),
			},
			Reply{Model: "m", Finish: FinishToolCalls, ToolCalls: []ToolCall{call("a", "f", `{"x":1}`), call("b", "g", `{}`)}}, nil,
		},
		{
			"another id and the name on every delta",
			[]string{
				callDelta(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}`),
				callDelta(`{"index":0,"id":"r1","function":{"name":"f","arguments":":\"}"}}`),
				callDelta(`{"index":0,"id":"r2","function":{"name":"f","arguments":"\\\"\"}"}}`),
				callDelta(`{"index":0,"id":"r3","function":{"name":"f","arguments":"{\"x\":2}"}}`),
				chunk(`{}`, "tool_calls"),
			},
			Reply{Model: "m", Finish: FinishToolCalls, ToolCalls: []ToolCall{call("a", "f", `{"x":"}\""}`), call("r3", "f", `{"x":2}`)}}, nil,
		},
		{
			"no index, another id on every delta",
			[]string{
				callDelta(`{"id":"a","function":{"name":"f","arguments":"{\"x\""}}`),
				callDelta(`{"id":"r1","function":{"arguments":":1}"}}`),
				chunk(`{}`, "tool_calls"),
			},
			Reply{Model: "m", Finish: FinishToolCalls, ToolCalls: []ToolCall{call("a", "f", `{"x":1}`)}}, nil,
		},
		{
			"index 0 for all and no ids",
			[]string{
				callDelta(`{"index":0,"function":{"name":"f","arguments":"{\"x\":1}"}},{"index":0,"function":{"name":"f","arguments":"{\"y\":2}"}}`),
				callDelta(`{"index":0,"function":{"name":"g","arguments":"{\"z\":"}}`),
				callDelta(`{"index":0,"function":{"name":"g","arguments":"3}"}}`),
				chunk(`{}`, "stop"),
			},
			Reply{Model: "m", Finish: FinishToolCalls, ToolCalls: []ToolCall{call("ID", "f", `{"x":1}`), call("ID", "f", `{"y":2}`), call("ID", "g", `{"z":3}`)}}, nil,
		},
		{
			"index 0 for all and no ids, names first",
			[]string{
				callDelta(`{"index":0,"function":{"name":"f","arguments":""}}`), callDelta(`{"index":0,"function":{"arguments":"{\"x\":1}"}}`),
				callDelta(`{"index":0,"function":{"name":"f","arguments":""}}`), callDelta(`{"index":0,"function":{"arguments":"{\"y\":2}"}}`),
				chunk(`{}`, "stop"),
			},
			Reply{Model: "m", Finish: FinishToolCalls, ToolCalls: []ToolCall{call("ID", "f", `{"x":1}`), call("ID", "f", `{"y":2}`)}}, nil,
		},
		{
			"the name once more at the end",
			[]string{
				callDelta(`{"index":0,"function":{"name":"f","arguments":"{\"x\":1}"}}`), callDelta(`{"index":0,"function":{"name":"f","arguments":""}}`),
				chunk(`{}`, "stop"),
			},
			Reply{Model: "m", Finish: FinishToolCalls, ToolCalls: []ToolCall{call("ID", "f", `{"x":1}`)}}, nil,
		},
		{
			"index 0 for all, no ids and no arguments",
			[]string{callDelta(`{"index":0,"function":{"name":"f"}}`), callDelta(`{"index":0,"function":{"name":"g"}}`), chunk(`{}`, "stop")},
			Reply{Model: "m", Finish: FinishToolCalls, ToolCalls: []ToolCall{call("ID", "f", `{}`), call("ID", "g", `{}`)}}, nil,
		},
		{
			"index 0 for all and no arguments",
			[]string{callDelta(`{"index":0,"id":"a","function":{"name":"f"}},{"index":0,"id":"b","function":{"name":"f"}}`), chunk(`{}`, "stop")},
			Reply{Model: "m", Finish: FinishToolCalls, ToolCalls: []ToolCall{call("a", "f", `{}`), call("b", "f", `{}`)}}, nil,
		},
		{
			"no index, no ids and no arguments",
			[]string{callDelta(`{"function":{"name":"f"}},{"function":{"name":"f"}}`), chunk(`{}`, "stop")},
			Reply{Model: "m", Finish: FinishToolCalls, ToolCalls: []ToolCall{call("ID", "f", `{}`), call("ID", "f", `{}`)}}, nil,
		},
		{
			"a name in pieces",
			[]string{
				callDelta(`{"index":0,"id":"a","function":{"name":"get","arguments":""}}`), callDelta(`{"index":0,"function":{"name":"_wea"}}`),
				callDelta(`{"index":0,"function":{"name":"ther","arguments":"{"}}`), callDelta(`{"index":0,"function":{"arguments":"}"}}`), chunk(`{}`, "stop"),
			},
			Reply{Model: "m", Finish: FinishToolCalls, ToolCalls: []ToolCall{call("a", "get_weather", `{}`)}}, nil,
		},
		{
			"a name in pieces of no tool",
			[]string{
				callDelta(`{"index":0,"id":"a","function":{"name":"no_"}}`), callDelta(`{"index":0,"function":{"name":"such"}}`),
				callDelta(`{"index":0,"function":{"name":"_tool","arguments":"{}"}}`), chunk(`{}`, "stop"),
			},
			Reply{Model: "m", Finish: FinishToolCalls, ToolCalls: []ToolCall{call("a", "no_such_tool", `{}`)}}, nil,
		},
		{
			"a name that grows",
			[]string{
				callDelta(`{"index":0,"id":"a","function":{"name":"get_"}}`),
				callDelta(`{"index":0,"function":{"name":"get_weather","arguments":"{}"}}`), chunk(`{}`, "stop"),
			},
			Reply{Model: "m", Finish: FinishToolCalls, ToolCalls: []ToolCall{call("a", "get_weather", `{}`)}}, nil,
		},
		{
			"calls in a message at the end",
			[]string{
				chunk(`{"role":"assistant","content":"Let me."}`, ""),
				`data: {"choices":[{"index":0,"message":{"content":"Let me.","reasoning":"Hm.","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}},{"id":"b","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`,
			},
			Reply{Model: "m", Text: "Let me.", Reasoning: "Hm.", Finish: FinishToolCalls, ToolCalls: []ToolCall{call("a", "f", `{}`), call("b", "f", `{}`)}},
			[]string{"Let me."},
		},
		{
			"the whole message once more",
			[]string{
				chunk(`{"content":"Let #"}`, ""), callDelta(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`),
				`data: {"choices":[{"message":{"content":"Let #me","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]},"delta":{},"finish_reason":"stop"}]}`,
			},
			Reply{Model: "m", Text: "Let #me", Finish: FinishToolCalls, ToolCalls: []ToolCall{call("a", "f", `{}`)}}, []string{"Let ", "#me"},
		},
		{
			"another message at the end",
			[]string{chunk(`{"content":"Let me."}`, ""), `data: {"choices":[{"message":{"content":"Other."},"finish_reason":"stop"}]}`},
			Reply{Model: "m", Text: "Let me.", Finish: FinishStop}, []string{"Let me."},
		},
		{
			"messages instead of deltas",
			[]string{
				`data: {"choices":[{"message":{"role":"assistant","content":"Hel"}}]}`, `data: {"choices":[{"message":{"content":"lo"},"finish_reason":"stop"}]}`,
			},
			Reply{Model: "m", Text: "Hello", Finish: FinishStop}, []string{"Hel", "lo"},
		},
		{
			"halves of surrogate pairs",
			[]string{
				chunk(`{"reasoning":"\ud83d"}`, ""), chunk(`{"reasoning":"\ude00"}`, ""), chunk(`{"content":"a\ud83d"}`, ""), chunk(`{"content":""}`, ""),
				chunk(`{"content":[{"type":"text","text":"\ude00\ud83d\ude01\ud83d"}]}`, ""), chunk(`{"content":"\ude02b"}`, ""),
				callDelta(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":\"\ud83d"}}`), callDelta(`{"index":0,"function":{"arguments":"\ude00\"}"}}`),
				chunk(`{}`, "stop"),
			},
			Reply{Model: "m", Text: "a😀😁😂b", Reasoning: "😀", Finish: FinishToolCalls, ToolCalls: []ToolCall{call("a", "f", `{"x":"😀"}`)}},
			[]string{"a", "😀😁", "😂b"},
		},
		{
			"halves without the other",
			[]string{chunk(`{"content":"\ud83d"}`, ""), chunk(`{"content":"a\ude00\n\u0041"}`, ""), chunk(`{"content":"\\ud83d\ud83d"}`, "stop")},
			Reply{Model: "m", Text: "\uFFFDa\uFFFD\nA\\ud83d\uFFFD", Finish: FinishStop}, []string{"\uFFFDa\uFFFD\nA", "\\ud83d", "\uFFFD"},
		},
		{
			"bytes of a character",
			[]string{chunk(`{"content":"a`+"\xf0\x9f"+`"}`, ""), chunk(`{"content":"`+"\x98\x80"+`b"}`, ""), chunk(`{"content":"`+"\xff"+`"}`, "stop")},
			Reply{Model: "m", Text: "a😀b\uFFFD", Finish: FinishStop}, []string{"a", "😀b", "\uFFFD"},
		},
		{
			"phantom calls",
			[]string{callDelta(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}},{"index":1,"type":"function","function":{}}`), chunk(`{}`, "tool_calls")},
			Reply{Model: "m", Finish: FinishToolCalls, ToolCalls: []ToolCall{call("a", "f", `{}`)}}, nil,
		},
		{
			"arguments as an object",
			[]string{callDelta(`{"index":0,"id":"a","function":{"name":"f","arguments":{"x": 1}}}`), chunk(`{}`, "tool_calls")},
			Reply{Model: "m", Finish: FinishToolCalls, ToolCalls: []ToolCall{call("a", "f", `{"x":1}`)}}, nil,
		},
		{
			"cut off within a call",
			[]string{callDelta(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x"}}`), chunk(`{}`, "length")},
			Reply{Model: "m", Finish: FinishLength}, nil,
		},
		{
			"stop sequence over several pieces",
			[]string{chunk(`{"content":"one #"}`, ""), chunk(`{"content":"two ##"}`, ""), chunk(`{"content":"# three"}`, ""), chunk(`{"content":"four"}`, "stop"), done},
			Reply{Model: "m", Text: "one #two ", Finish: FinishStop, Stopped: true}, []string{"one ", "#two "},
		},
		{
			"half a stop sequence at the end",
			[]string{chunk(`{"content":"one ##"}`, "stop"), done},
			Reply{Model: "m", Text: "one ##", Finish: FinishStop}, []string{"one ", "##"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, streaming(tt.lines...))
			r := hello()
			r.Stop = []string{"###"}
			r.Tools = []Tool{{Name: "f"}, {Name: "g"}, {Name: "get"}, {Name: "get_weather"}}
			var pieces []string
			got, err := h.client(t, openAI, nil).Stream(t.Context(), r, Deltas{
				Text: func(s string) error { pieces = append(pieces, s); return nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			for i := range got.ToolCalls { // made up here, and different every time
				if strings.HasPrefix(got.ToolCalls[i].ID, "call_") {
					got.ToolCalls[i].ID = "ID"
				}
			}
			got.Size = 0 // TestSize
			if diff := cmp.Diff(&tt.want, got); diff != "" {
				t.Errorf("reply (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.pieces, pieces); diff != "" {
				t.Errorf("pieces (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStreamRequest(t *testing.T) {
	for url, want := range map[string]string{
		openAI:  `{"model":"m","messages":[{"role":"user","content":"Hi"}],"stream":true,"stream_options":{"include_usage":true}}`,
		mistral: `{"model":"m","messages":[{"role":"user","content":"Hi"}],"stream":true}`,
	} {
		h := newHost(t, streaming(chunk(`{"content":"x"}`, "stop")))
		if _, err := h.client(t, url, nil).Stream(t.Context(), hello(), Deltas{}); err != nil {
			t.Fatal(err)
		}
		equalJSON(t, h.last(), want)
	}
}

func TestStreamFaults(t *testing.T) {
	start := chunk(`{"content":"x"}`, "")
	many := make([]string, maxCalls+10)
	for i := range many {
		many[i] = callDelta(fmt.Sprintf(`{"index":%d,"id":"c%d","function":{"name":"f"}}`, i, i))
	}
	tests := []struct {
		name  string
		lines []string
		want  Error
	}{
		{"empty", nil, Error{Code: CodeTruncated, Message: "the stream ended before the model did"}},
		{"ended too early", []string{start}, Error{Code: CodeTruncated, Message: "the stream ended before the model did"}},
		{"error in a chunk", []string{start, `data: {"error":{"message":"m","code":502}}`}, Error{Status: 502, Message: "m"}},
		{"error as text", []string{start, `data: {"error":"m"}`}, Error{Status: 200, Message: "m"}},
		{"error event", []string{start, "event: error\ndata: {\"error\":{\"message\":\"m\",\"code\":\"tool_use_failed\"}}"}, Error{Status: 200, Code: "tool_use_failed", Message: "m"}},
		{"error in the choice", []string{start, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"error","error":{"message":"m","code":"x"}}]}`}, Error{Status: 200, Code: "x", Message: "m"}},
		{"finish reason error", []string{chunk(`{"content":"x"}`, "error")}, Error{Code: CodeTruncated, Message: "the host broke off with finish reason error"}},
		{"filtered", []string{chunk(`{}`, "content_filter")}, Error{Code: CodeContentFilter, Message: "the host withheld the answer"}},
		{"bare error", []string{`{"error":{"message":"m","code":"x"}}`}, Error{Status: 200, Code: "x", Message: "m"}},
		{"bare error on several lines", []string{"{\n  \"error\": {\r\n    \"message\": \"m\",\n    \"code\": 503\n  }\n}"}, Error{Status: 503, Message: "m"}},
		{"bare error within the stream", []string{start, `{"error":{"message":"m","code":"x"}}`}, Error{Status: 200, Code: "x", Message: "m"}},
		{"bare error before the end", []string{`{"error":{"message":"m","code":"x"}}`, done}, Error{Status: 200, Code: "x", Message: "m"}},
		{"bare error between the stream and its end", []string{start, `{"error":{"message":"m","code":"x"}}`, done}, Error{Status: 200, Code: "x", Message: "m"}},
		{"the end alone", []string{done}, Error{Code: CodeTruncated, Message: "the stream ended before the model did"}},
		{"bare JSON that breaks off", []string{`{"error":{"message":"m`}, Error{Code: CodeTruncated, Message: "the stream ended before the model did"}},
		{"bare JSON of something else", []string{`{"status":"ok"}`}, Error{Code: CodeEmpty, Message: "the answer has no choice"}},
		{"bare JSON of something else within the stream", []string{start, `{"status":"ok"}`}, Error{Code: CodeTruncated, Message: "the stream ended before the model did"}},
		{"not JSON", []string{"data: <html>"}, Error{Code: CodeMalformed, Message: "an event of the stream is not a chunk of a chat completion: '<' at byte 0, want '{'"}},
		{"too many calls", append(many, many[0], chunk(`{}`, "stop")), Error{Code: CodeMalformed, Message: "the answer has more than 256 tool calls"}},
		{"a nameless call", []string{callDelta(`{"index":0,"function":{"arguments":"{\"x\":1}"}}`), chunk(`{}`, "tool_calls")}, Error{Code: CodeMalformed, Message: "a tool call without a name"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, streaming(tt.lines...))
			got, err := h.client(t, openAI, nil).Stream(t.Context(), hello(), Deltas{})
			if got != nil {
				t.Errorf("got the reply %+v beside the error", got)
			}
			failure := wantCode(t, err, tt.want.Code)
			if failure.Message != tt.want.Message || failure.Status != tt.want.Status {
				t.Errorf("got %+v, want %+v", *failure, tt.want)
			}
			if h.asked() != 1 {
				t.Errorf("asked %d times, want 1: a stream is not repeated", h.asked())
			}
		})
	}
}

// Names without an end, and an endless list of names, use a bounded memory.
func TestStreamedCallsAreBounded(t *testing.T) {
	index := 0
	for _, test := range []struct {
		want  string
		delta func(n int) *toolCallWire
	}{
		{"the answer has more than 256 tool calls", func(n int) *toolCallWire { return &toolCallWire{id: fmt.Sprint(n), name: "f"} }},
		{"the name of a tool call is over 256 bytes", func(n int) *toolCallWire { return &toolCallWire{index: &index, id: "a", name: fmt.Sprint("n", n)} }},
		{"the name of a tool call is over 256 bytes", func(n int) *toolCallWire { return &toolCallWire{index: &index, id: "a", name: fmt.Sprint("n", n%2)} }},
	} {
		calls := streamedCalls{names: namesOf(&Request{}), byIndex: map[int]*streamedCall{}}
		var err error
		for n := 0; err == nil && n < 1000; n++ {
			err = calls.add(test.delta(n))
		}
		if err == nil || err.Error() != test.want {
			t.Errorf("got %v after %d calls, want %q", err, len(calls.calls), test.want)
		}
	}
}

func TestStreamCutByTheNetwork(t *testing.T) {
	for _, last := range []string{chunk(`{"content":"x"}`, "") + "\n\n", `data: {"choices":[{"ind`} {
		h := newHost(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, last)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		})
		_, err := h.client(t, openAI, nil).Stream(t.Context(), hello(), Deltas{})
		wantCode(t, err, CodeTruncated)
	}
}

func TestStreamIsRepeatedBeforeItBegins(t *testing.T) {
	n := 0
	h := newHost(t, func(w http.ResponseWriter, r *http.Request) {
		if n++; n == 1 {
			failing(503, "Retry-After: 0", "")(w, r)
			return
		}
		streaming(chunk(`{"content":"x"}`, "stop"))(w, r)
	})
	got, err := h.client(t, openAI, nil).Stream(t.Context(), hello(), Deltas{})
	if err != nil || got.Text != "x" {
		t.Errorf("got %+v, %v, want x", got, err)
	}
}

func TestCallbackEndsTheStream(t *testing.T) {
	enough := errors.New("enough")
	gone := make(chan struct{})
	h := newHost(t, func(w http.ResponseWriter, r *http.Request) {
		streaming(chunk(`{"reasoning_content":"x"}`, ""), chunk(`{"content":"x"}`, ""))(w, r)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		gone <- struct{}{}
	})
	c := h.client(t, openAI, nil)
	for name, deltas := range map[string]Deltas{
		"text":      {Text: func(string) error { return enough }},
		"reasoning": {Reasoning: func(string) error { return enough }},
	} {
		if _, err := c.Stream(t.Context(), hello(), deltas); err != enough {
			t.Errorf("%s: got %v, want %v", name, err, enough)
		}
		<-gone // the host's handler has ended
	}
	h = newHost(t, answering(plainAnswer))
	_, err := h.client(t, openAI, nil).Stream(t.Context(), hello(), Deltas{Text: func(string) error { return context.Canceled }})
	if err != context.Canceled {
		t.Errorf("answer in one piece: got %v, want %v", err, context.Canceled)
	}
}

// A text ends at the same place however it comes in pieces.
func TestStopFilter(t *testing.T) {
	texts := []string{"", "plain", "the END of it", "EENDless", "ENENOUGH", "EN", "a\n\nUser", "a\n\nUser: b", "ENEN END"}
	for _, text := range texts {
		checkStops(t, text, []string{"END", "ENOUGH", "\n\nUser:"})
	}
	for n := range 1 << 10 { // all texts of 10 letters
		text := strings.NewReplacer("0", "a", "1", "b").Replace(fmt.Sprintf("%010b", n))
		checkStops(t, text, []string{"aabab", "abab", "bbb", "abaabb", "baab"})
	}
}

func checkStops(t *testing.T, text string, stops []string) {
	t.Helper()
	wantText, wantCut := cutAtStop(text, stops)
	for size := 1; size <= len(text)+1; size++ {
		f := newStopFilter(stops)
		got, cut := "", false
		for rest := text; rest != "" && !cut; {
			n := min(size, len(rest))
			var piece string
			piece, cut = f.write(rest[:n])
			got, rest = got+piece, rest[n:]
		}
		if !cut {
			got += f.flush()
		}
		if got != wantText || cut != wantCut {
			t.Errorf("%q in pieces of %d: got %q, %t, want %q, %t", text, size, got, cut, wantText, wantCut)
		}
	}
}

func BenchmarkAssemble(b *testing.B) {
	var s strings.Builder
	for range 1000 {
		s.WriteString(`data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"word "}}]}` + "\n\n")
	}
	s.WriteString(chunk(`{}`, "stop") + "\n\ndata: [DONE]\n\n")
	stream := s.String()
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		x := &exchange{maxReply: 1 << 20}
		if _, err := x.assemble(strings.NewReader(stream), &draft{}, nil); err != nil {
			b.Fatal(err)
		}
	}
}
