package chat

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

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
			if most := uint64(16*len(body) + 8<<20); bytes > most { // the host's own writing is counted, too
				t.Errorf("%s, %s: %d bytes of a reply cost %d bytes of memory, want at most %d", name, form, len(body), bytes, most)
			}
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
