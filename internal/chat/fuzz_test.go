package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/internal/check"
)

// Any answer of a host causes no panic, and gives either an *Error or a valid Reply.
func fuzzReply(f *testing.F, contentType string) {
	f.Fuzz(func(t *testing.T, body []byte) {
		doer := doerFunc(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {contentType}}, Body: io.NopCloser(bytes.NewReader(body))}, nil
		})
		c := newClient(t, openAI, doer, &Options{Retries: -1})
		r := hello()
		r.Stop = []string{"STOP", "###"}
		var streamed strings.Builder
		reply, err := c.Stream(t.Context(), r, Deltas{Text: func(s string) error { streamed.WriteString(s); return nil }})
		if err != nil {
			failure, ok := errors.AsType[*Error](err)
			check.Require(t, ok && utf8.ValidString(failure.Error()) && len(failure.Message) <= maxQuoted+len("…"),
				"got %T: %q, want an *Error of bounded text", err, err)
			return
		}
		check.That(t, reply.Model != "" && streamed.String() == reply.Text,
			"got model %q, text %q and pieces %q, want a model and the same twice", reply.Model, reply.Text, streamed.String())
		check.That(t, utf8.ValidString(reply.Text+reply.Reasoning+reply.Refusal), "got %+v, want valid UTF-8", reply)
		check.That(t, !strings.Contains(reply.Text, "STOP") && !strings.Contains(reply.Text, "###"), "a stop sequence is in %q", reply.Text)
		ids := map[string]bool{}
		for _, call := range reply.ToolCalls {
			check.That(t, utf8.ValidString(call.Arguments) && call.ID != "" && call.Name != "" && call.Arguments != "" && !ids[call.ID],
				"got the call %+v among %+v", call, reply.ToolCalls)
			ids[call.ID] = true
		}
	})
}

func FuzzReply(f *testing.F) {
	for _, s := range []string{
		plainAnswer, `{"error":"x"}`, `[{"error":{"code":400}}]`, `{"choices":[{"message":{"content":[{"type":"text","text":"STOP"}]}}]}`,
		`{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":{}}},{"id":"a","function":{"name":"f"}}]},"finish_reason":"length"}]}`,
		`{"choices":[{"finish_reason":"error"}],"usage":{"prompt_tokens":1e99}}`, `<html>`, `null`, ``,
	} {
		f.Add([]byte(s))
	}
	fuzzReply(f, "application/json")
}

func FuzzStream(f *testing.F) {
	for _, s := range []string{
		chunk(`{"content":"ST"}`, "") + "\n\n" + chunk(`{"content":"OP"}`, "stop") + "\n\ndata: [DONE]\n\n",
		callDelta(`{"index":0,"id":"a","function":{"name":"f","arguments":"{"}},{"index":0,"id":"b","function":{"name":"f"}}`) + "\n\n" + chunk(`{}`, "tool_calls") + "\n\n",
		callDelta(`{"function":{"name":"f"}}`) + "\n\n" + callDelta(`{"function":{"arguments":"{}"}}`) + "\n\n" + chunk(`{}`, "length") + "\n\n",
		callDelta(`{"index":0,"function":{"name":"f","arguments":"{}"}},{"index":0,"function":{"name":"f"}},{"index":0,"id":"r","function":{"arguments":"{"}}`) + "\n\n" + chunk(`{}`, "stop") + "\n\n",
		chunk(`{"content":"a\ud83d"}`, "") + "\n\n" + `data: {"choices":[{"message":{"content":"\ude00"},"finish_reason":"stop"}]}` + "\n\n",
		"{\"error\":\n{\"message\":\"x\"}}\n", plainAnswer,
		"event: error\ndata: {}\n\n", ": comment\n\ndata: x\n\n",
	} {
		f.Add([]byte(s))
	}
	fuzzReply(f, "text/event-stream")
}

// A text in two pieces is whole in the end, wherever it is cut.
func FuzzPieces(f *testing.F) {
	for _, s := range []string{"plain", "a😀b", "\n\"\\\b\f\r\t\u2028<&>", "\xff\xed\xa0\xbd\xed\xb8\x80", "\xf0\x9f"} {
		f.Add(s, 1)
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, s string, cut int) {
		quoted := check.Value(json.Marshal(s))(t)
		var want string
		check.Must(t, json.Unmarshal(quoted, &want))
		check.Equal(t, quoted, unquote(quoted), want)
		joined := func(a, b string) string {
			var p wellFormedPieces
			first, second := p.write(a), p.write(b)
			check.That(t, utf8.ValidString(first) && utf8.ValidString(second), "got the pieces %q and %q, want valid UTF-8", first, second)
			return first + second + p.flush()
		}
		within := max(0, min(cut, len(s)))
		got := joined(s[:within], s[within:])
		check.That(t, utf8.ValidString(got) && (!utf8.ValidString(s) || got == s), "%q cut at %d: got %q", s, within, got)
		units := utf16.Encode([]rune(want))
		escaped := func(units []uint16) []byte {
			out := []byte{'"'}
			for _, u := range units {
				out = fmt.Appendf(out, `\u%04x`, u)
			}
			return append(out, '"')
		}
		within = max(0, min(cut, len(units)))
		got = joined(unquote(escaped(units[:within])), unquote(escaped(units[within:])))
		check.That(t, got == want, "%q cut at unit %d: got %q", want, within, got)
	})
}

func FuzzErrorBody(f *testing.F) {
	for _, s := range []string{
		`{"error":{"message":"m","code":"c"}}`, `{"error":"m"}`, `[{"error":{}}]`, `{"detail":[{"loc":["a",1],"msg":"m"}]}`,
		`{"error":{"error":{"error":{"error":{"message":"deep"}}}}}`, `<title>x`, "",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		parseErrorBody("application/json", body)
		parseErrorBody("text/html", body)
	})
}
