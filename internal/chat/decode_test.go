package chat

import (
	"bytes"
	"context"
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

// nested is an array of parts within parts.
func nested(levels int) string {
	return strings.Repeat(`[{"text":`, levels) + `"x"` + strings.Repeat(`}]`, levels)
}

// bombs are replies that cost much for few bytes if they are not read in one pass.
func bombs() map[string]string {
	const many = 1_000_000
	message := func(content string) string {
		return `{"choices":[{"index":0,"message":` + content + `,"delta":` + content + `,"finish_reason":"stop"}]}`
	}
	repeat := func(s string, n int) string { return "[" + strings.Repeat(s+",", n-1) + s + "]" }
	return map[string]string{
		"nested content":   message(`{"content":` + nested(4900) + `}`),
		"nested reasoning": message(`{"reasoning":` + nested(400) + `,"refusal":` + nested(400) + `,"content":"x"}`),
		"nested error":     `{"error":` + strings.Repeat(`{"error":`, 900) + `"x"` + strings.Repeat("}", 901),
		"choices":          `{"choices":` + repeat("{}", many) + `}`,
		"tool calls":       message(`{"tool_calls":` + repeat("{}", many) + `}`),
		"details":          message(`{"reasoning_details":` + repeat("{}", 80_000) + `}`),
		"parts":            message(`{"content":` + repeat("{}", many) + `}`),
		"usage":            `{"choices":[{"message":{"content":"x"}}],"usage":` + strings.Repeat(`{"prompt_tokens_details":`, 900) + "1" + strings.Repeat("}", 901),
		"names":            message(`{"tool_calls":[{"id":"` + strings.Repeat("i", many) + `","function":{"name":"` + strings.Repeat("n", many) + `"}}]}`),
		"words":            `{"id":"` + strings.Repeat("i", many) + `","model":"` + strings.Repeat("m", many) + `","choices":[{"message":{"content":"x"},"finish_reason":"` + strings.Repeat("f", many) + `"}]}`,
		"a page of HTML":   "<title>" + strings.Repeat("a ", 4*many),
		"an error":         `{"error":{"message":"` + strings.Repeat("http://a ", many) + `"}}`,
		"name in pieces":   message(`{"tool_calls":` + repeat(`{"index":0,"id":"a","function":{"name":"nn"}},{"index":0,"id":"a","function":{"name":"mm"}}`, 4000) + `}`),
	}
}

// What a reply costs is in proportion to its bytes, whatever is in it.
func TestBombs(t *testing.T) {
	for name, body := range bombs() {
		for form, handler := range map[string]http.HandlerFunc{"whole": answering(body), "streamed": streaming("data: "+body, done)} {
			c := newHost(t, handler).client(t, openAI, &Options{Retries: -1})
			var reply *Reply
			var err error
			bytes := check.Allocated(func() {
				if form == "whole" {
					reply, err = c.Complete(t.Context(), hello())
				} else {
					reply, err = c.Stream(t.Context(), hello(), Deltas{})
				}
			})
			most := uint64(16*len(body) + 8<<20) // the host's own writing is counted, too
			check.That(t, bytes <= most, "%s, %s: %d bytes of a reply cost %d bytes of memory, want at most %d", name, form, len(body), bytes, most)
			switch {
			case err != nil && len(err.Error()) > 4096:
				t.Errorf("%s, %s: got an error of %d bytes", name, form, len(err.Error()))
			case err == nil && len(reply.ID)+len(reply.Model)+len(reply.Finish) > 3*maxWord:
				t.Errorf("%s, %s: got words of %d, %d and %d bytes", name, form, len(reply.ID), len(reply.Model), len(reply.Finish))
			}
		}
	}
}

// A reply that is decoded ends with its context.
func TestDecodingEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	check.Is(t, check.Err(decode(ctx, []byte(`{"choices":[{"message":{"content":"x"}}]}`)).reply()), context.Canceled)
	d := decode(ctx, []byte(response("completed", textItem, "")))
	d.response()
	check.Is(t, d.End(), context.Canceled, "a response")
}

// A field of an unexpected kind is empty, and the rest is kept.
func TestOddFields(t *testing.T) {
	const body = `{"id":7,"model":[1],"choices":[null,{"index":1,"message":{"content":"other"}},{"message":{"content":{"a":1},` +
		`"reasoning":[{"type":"thinking","text":"no"},{"text":"yes"},"!",{"text":["deep"]}],"tool_calls":[3,{"function":{"name":5,"arguments":{"a": 1}}}]},"finish_reason":null}]}`
	w, err := decode(t.Context(), []byte(body)).reply()
	check.Require(t, err == nil && w.choice != nil, "got %+v, %v", w, err)
	m := w.choice.message
	got := fmt.Sprintf("%s|%s|%s|%s|%s|%v", w.id, w.model, m.content, m.reasoning, w.choice.finish, m.calls)
	check.Equal(t, "", got, `7|||yes!||[{<nil>  5 {"a":1} []}]`)
}

// FuzzCost holds memory and work of the decoder to the bytes of a reply.
func FuzzCost(f *testing.F) {
	for _, body := range bombs() {
		f.Add([]byte(body[:min(len(body), 2000)]))
	}
	f.Add([]byte(`{"choices":[{"message":{"content":[{"text":"a"}],"tool_calls":[{"id":"1","function":{"name":"f","arguments":{"a":[1]}}}]}}],"usage":{"total_tokens":3}}`))
	f.Add([]byte("{}\x00"))
	f.Fuzz(func(t *testing.T, body []byte) {
		d := decode(t.Context(), body)
		cost := check.Allocated(func() { _, _ = d.reply() })
		most := uint64(64*len(body) + 64<<10)
		check.That(t, cost <= most, "%d bytes cost %d bytes of memory, want at most %d", len(body), cost, most)
		check.That(t, d.reread <= 2*len(body), "%d of %d bytes were read again, want each once or twice", d.reread, len(body))
		check.That(t, !bytes.Contains(body, []byte("\x00")) || d.Err() != nil, "a control character was taken")
	})
}

// A thought in tags at the beginning of the text is reasoning, however it comes; tags elsewhere are text.
func TestThoughtsInTags(t *testing.T) {
	for _, tt := range []struct{ url, content, finish, reasoning, text string }{
		{local, "<think>Hm <b>.</think>\n\n Hello <think>", "stop", "Hm <b>.", "Hello <think>"},
		{local, "<think></think>Hello", "stop", "", "Hello"},
		{local, "Hello <think>Hm.</think>", "stop", "", "Hello <think>Hm.</think>"},
		{local, "<thin", "stop", "", "<thin"},
		{local, "<think>Hm.</th", "length", "Hm.</th", ""},
		{local, "<think> is a tag.", "stop", "", "<think> is a tag."},
		{openAI, "<think>Hm.</think>Hello", "stop", "", "<think>Hm.</think>Hello"},
		{local, "Hm <b>.\n</think>\n\nHello </think>", "stop", "Hm <b>.\n", "Hello </think>"},
		{local, "Hm.</think>", "stop", "Hm.", ""},
		{local, "The tag `</think>` ends it.", "stop", "", "The tag `</think>` ends it."},
		{local, "The thought ends with </think>, and then comes the answer.", "stop", "", "The thought ends with </think>, and then comes the answer."},
		{local, "So:\n```\nHi\n</think>\n```\n", "stop", "", "So:\n```\nHi\n</think>\n```\n"},
		{local, `{"template":"Hm.</think>Hello"}`, "stop", "", `{"template":"Hm.</think>Hello"}`},
		{local, "Hm.\n```\n1\n```\n </think>\nHello", "stop", "Hm.\n```\n1\n```\n ", "Hello"},
		{openAI, "Hm.</think>Hello", "stop", "", "Hm.</think>Hello"},
	} {
		quoted := func(text string) string { return fmt.Sprintf(`{"content":%q}`, text) }
		forms := map[string][]string{"whole": {`{"choices":[{"message":` + quoted(tt.content) + `,"finish_reason":"` + tt.finish + `"}]}`}}
		for _, size := range []int{1, 3, 9} {
			form := fmt.Sprint("pieces of ", size)
			for rest := tt.content; rest != ""; rest = rest[min(size, len(rest)):] {
				forms[form] = append(forms[form], chunk(quoted(rest[:min(size, len(rest))]), ""))
			}
			forms[form] = append(forms[form], chunk("{}", tt.finish))
		}
		for form, lines := range forms {
			var text, reasoning strings.Builder
			add := func(b *strings.Builder) func(string) error {
				return func(piece string) error { b.WriteString(piece); return nil }
			}
			got := check.Value(newHost(t, streaming(lines...)).client(t, tt.url, nil).Stream(t.Context(), hello(), Deltas{Text: add(&text), Reasoning: add(&reasoning)}))(t)
			check.That(t, got.Text == tt.text && got.Reasoning == tt.reasoning, "%q, %s: got %q and the thought %q", tt.content, form, got.Text, got.Reasoning)
			isWrong := strings.HasPrefix(tt.content, "<think> is") || // it was shown as a thought
				strings.HasPrefix(tt.content, "Hm") && form != "whole" // or the thought as text
			check.That(t, isWrong || text.String() == tt.text && reasoning.String() == tt.reasoning, "%q, %s: shown %q and %q", tt.content, form, &text, &reasoning)
		}
	}
}

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
		readErrorBody(body)
	})
}
