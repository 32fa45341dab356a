package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"golang.org/x/tools/txtar"

	"github.com/mcpchain/mcpchain/internal/check"
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
	archive, err := txtar.ParseFile("testdata/streams.txtar")
	check.Must(t, err)
	type test struct {
		name   string
		lines  []string
		want   Reply
		pieces []string
	}
	var tests []test
	for _, f := range archive.Files {
		switch n := len(tests) - 1; f.Name {
		case "reply":
			err = json.Unmarshal(f.Data, &tests[n].want)
		case "pieces":
			err = json.Unmarshal(f.Data, &tests[n].pieces)
		default:
			tests = append(tests, test{name: f.Name, lines: strings.Split(strings.TrimSuffix(string(f.Data), "\n"), "\n")})
		}
		check.Must(t, err)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, streaming(tt.lines...))
			r := hello()
			r.Stop = []string{"###"}
			r.Tools = []Tool{{Name: "f"}, {Name: "g"}, {Name: "get"}, {Name: "get_weather"}}
			var pieces []string
			got := check.Value(h.client(t, openAI, nil).Stream(t.Context(), r, Deltas{
				Text: func(s string) error { pieces = append(pieces, s); return nil },
			}))(t)
			sameReply(t, got, &tt.want)
			check.Same(t, "pieces", pieces, tt.pieces)
		})
	}
}

func TestStreamRequest(t *testing.T) {
	for url, want := range map[string]string{
		openAI:  `{"model":"m","messages":[{"role":"user","content":"Hi"}],"stream":true,"stream_options":{"include_usage":true}}`,
		mistral: `{"model":"m","messages":[{"role":"user","content":"Hi"}],"stream":true}`,
	} {
		h := newHost(t, streaming(chunk(`{"content":"x"}`, "stop")))
		check.Must(t, check.Err(h.client(t, url, nil).Stream(t.Context(), hello(), Deltas{})))
		equalJSON(t, h.Last(), want)
	}
}

func TestStreamFaults(t *testing.T) {
	start := chunk(`{"content":"x"}`, "")
	many := make([]string, maxCalls+10)
	for i := range many {
		many[i] = callDelta(fmt.Sprintf(`{"index":%d,"id":"c%d","function":{"name":"f"}}`, i, i))
	}
	for _, tt := range []struct {
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
		{"too many calls", append(many, many[0], chunk(`{}`, "stop")), Error{Code: CodeMalformed, Message: "answer has more than 256 tool calls"}},
		{"a nameless call", []string{callDelta(`{"index":0,"function":{"arguments":"{\"x\":1}"}}`), chunk(`{}`, "tool_calls")}, Error{Code: CodeMalformed, Message: "a tool call without a name"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, streaming(tt.lines...))
			got, err := h.client(t, openAI, nil).Stream(t.Context(), hello(), Deltas{})
			check.That(t, got == nil, "got the reply %+v beside the error", got)
			failure := wantCode(t, err, tt.want.Code)
			check.That(t, failure.Message == tt.want.Message && failure.Status == tt.want.Status, "got %+v, want %+v", *failure, tt.want)
			check.Equal(t, "requests", h.Asked(), 1)
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
		{"answer has more than 256 tool calls", func(n int) *toolCallWire { return &toolCallWire{id: fmt.Sprint(n), name: "f"} }},
		{"tool call name is over 256 bytes", func(n int) *toolCallWire { return &toolCallWire{index: &index, id: "a", name: fmt.Sprint("n", n)} }},
		{"tool call name is over 256 bytes", func(n int) *toolCallWire { return &toolCallWire{index: &index, id: "a", name: fmt.Sprint("n", n%2)} }},
	} {
		calls := streamedCalls{names: newNames(&Request{}), byIndex: map[int]*streamedCall{}}
		var err error
		for n := 0; err == nil && n < 1000; n++ {
			err = calls.add(test.delta(n))
		}
		check.That(t, err != nil && err.Error() == test.want, "got %v after %d calls, want %q", err, len(calls.calls), test.want)
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
		wantCode(t, check.Err(h.client(t, openAI, nil).Stream(t.Context(), hello(), Deltas{})), CodeTruncated)
	}
}

// A reply with its finish reason is complete, however its connection ends.
func TestStreamCutAfterTheReply(t *testing.T) {
	doer := doerFunc(func(*http.Request) (*http.Response, error) {
		reset := iotest.ErrReader(errors.New("stream error: stream ID 1; INTERNAL_ERROR"))
		body := io.MultiReader(strings.NewReader(chunk(`{"content":"x"}`, "stop")+"\n\n"), reset)
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(body)}, nil
	})
	got, err := newClient(t, openAI, doer, nil).Stream(t.Context(), hello(), Deltas{})
	check.That(t, err == nil && got.Text == "x" && got.Finish == FinishStop, "got %+v, %v, want x", got, err)
}

func TestStreamIsRepeatedBeforeItBegins(t *testing.T) {
	h := newHost(t, inTurn(failing(503, "Retry-After: 0", ""), streaming(chunk(`{"content":"x"}`, "stop"))))
	check.Equal(t, "", check.Value(h.client(t, openAI, nil).Stream(t.Context(), hello(), Deltas{}))(t).Text, "x")
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
		_, err := c.Stream(t.Context(), hello(), deltas)
		check.That(t, err == enough, "%s: got %v, want %v", name, err, enough)
		<-gone // the host's handler has ended
	}
	h = newHost(t, answering(plainAnswer))
	_, err := h.client(t, openAI, nil).Stream(t.Context(), hello(), Deltas{Text: func(string) error { return context.Canceled }})
	check.Equal(t, "answer in one piece", err, context.Canceled)
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
		f := stopFilter{stops: stops}
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
		check.That(t, got == wantText && cut == wantCut, "%q in pieces of %d: got %q, %t, want %q, %t", text, size, got, cut, wantText, wantCut)
	}
}
