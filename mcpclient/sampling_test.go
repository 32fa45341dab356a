package mcpclient_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func TestCheckMessages(t *testing.T) {
	text := &mcp.TextContent{Text: "t"}
	use := func(id string) mcp.Content { return &mcp.ToolUseContent{ID: id, Name: "n"} }
	result := func(id string) mcp.Content { return &mcp.ToolResultContent{ToolUseID: id} }
	user := func(c ...mcp.Content) mcp.SamplingMessage {
		return mcp.SamplingMessage{Role: "user", Content: c}
	}
	model := func(c ...mcp.Content) mcp.SamplingMessage {
		return mcp.SamplingMessage{Role: "assistant", Content: c}
	}
	for _, test := range []struct {
		name     string
		messages []mcp.SamplingMessage
		want     string // "" when the messages are in order
	}{
		{"none", nil, ""},
		{"text", []mcp.SamplingMessage{user(text), model(text, text), user(text)}, ""},
		{"a use and its result", []mcp.SamplingMessage{user(text), model(text, use("a")), user(result("a"))}, ""},
		{"two uses", []mcp.SamplingMessage{model(use("a"), use("b")), user(result("b"), result("a")), model(text)}, ""},
		{"the same id later", []mcp.SamplingMessage{model(use("a")), user(result("a")), model(use("a")), user(result("a"))}, ""},
		{"unknown role", []mcp.SamplingMessage{{Role: "system"}}, `message 0: role "system"`},
		{"result for nothing", []mcp.SamplingMessage{user(result("a"))}, `message 0: tool result for "a"`},
		{"result twice", []mcp.SamplingMessage{model(use("a")), user(result("a"), result("a"))}, `message 1: tool result for "a"`},
		{"result of the model", []mcp.SamplingMessage{model(use("a")), model(result("a"))}, "message 1: tool result in an assistant message"},
		{"use of the user", []mcp.SamplingMessage{user(use("a"))}, "message 0: tool use in a user message"},
		{"use twice", []mcp.SamplingMessage{model(use("a"), use("a"))}, `message 0: tool use id "a" twice`},
		{"mixed", []mcp.SamplingMessage{model(use("a")), user(result("a"), text)}, "message 1: tool results are mixed"},
		{"result missing", []mcp.SamplingMessage{model(use("a"), use("b")), user(result("a"))}, "message 1: 1 tool uses before it have no result"},
		{"text between", []mcp.SamplingMessage{model(use("a")), user(text), user(result("a"))}, "message 1: 1 tool uses before it have no result"},
		{"no result at the end", []mcp.SamplingMessage{model(use("a"))}, "1 tool uses have no result"},
	} {
		err := inquiry.CheckMessages(test.messages)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.HasPrefix(err.Error(), test.want)) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
}

// An encoded message can be decoded again, and a single block is not in an array.
func TestMessagesRoundTrip(t *testing.T) {
	one, two := 1.0, &mcp.TextContent{Text: "<b>"}
	for _, test := range []struct {
		value, into any
		want        string
	}{
		{&mcp.SamplingMessage{Role: "user", Content: []mcp.Content{two}}, new(mcp.SamplingMessage), `{"role":"user","content":{"type":"text","text":"<b>"}}`},
		{&mcp.SamplingMessage{Role: "user", Content: []mcp.Content{two, two}, Meta: json.RawMessage(`{"m":1}`)}, new(mcp.SamplingMessage),
			`{"role":"user","content":[{"type":"text","text":"<b>"},{"type":"text","text":"<b>"}],"_meta":{"m":1}}`},
		{&mcp.PromptMessage{Role: "user", Content: two}, new(mcp.PromptMessage), `{"role":"user","content":{"type":"text","text":"<b>"}}`},
		{&mcp.CallToolResult{Content: []mcp.Content{}}, new(mcp.CallToolResult), `{"content":[]}`},
		{&mcp.CallToolResult{Content: []mcp.Content{two}, IsError: true, StructuredContent: json.RawMessage(`{"a":9007199254740993}`), Meta: json.RawMessage(`{}`)},
			new(mcp.CallToolResult), `{"content":[{"type":"text","text":"<b>"}],"structuredContent":{"a":9007199254740993},"isError":true,"_meta":{}}`},
		{&mcp.ModelPreferences{Hints: []mcp.ModelHint{{Name: "h"}}, CostPriority: &one}, new(mcp.ModelPreferences), `{"hints":[{"name":"h"}],"costPriority":1}`},
	} {
		var raw strings.Builder
		e := json.NewEncoder(&raw)
		e.SetEscapeHTML(false)
		if err := e.Encode(test.value); err != nil || strings.TrimSpace(raw.String()) != test.want {
			t.Errorf("got %s, %v, want %s", raw.String(), err, test.want)
		}
		if err := json.Unmarshal([]byte(test.want), test.into); err != nil {
			t.Errorf("%s: %v", test.want, err)
		}
		same(t, test.want, test.into, test.value, cmpopts.IgnoreUnexported(mcp.CallToolResult{}))
	}
}

// The server gets content that its revision allows; other content is an error.
func TestAnswersOfRevisions(t *testing.T) {
	text, other := &mcp.TextContent{Text: "a"}, &mcp.TextContent{Text: "b"}
	image, audio := &mcp.ImageContent{MIMEType: "image/png"}, &mcp.AudioContent{MIMEType: "audio/wav"}
	use := &mcp.ToolUseContent{ID: "1", Name: "n"}
	const (
		one, two   = `"content":{"type":"text","text":"a"}`, `"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]`
		joined     = `"content":{"type":"text","text":"a\nb"}`
		asImage    = `"content":{"type":"image","data":"","mimeType":"image/png"}`
		asAudio    = `"content":{"type":"audio","data":"","mimeType":"audio/wav"}`
		asUse      = `"content":{"type":"tool_use","id":"1","name":"n","input":{}}`
		unreadable = ""
	)
	for _, test := range []struct {
		content []mcp.Content
		want    [4]string // for the legacy revisions, oldest first
	}{
		{nil, [4]string{`"content":{"type":"text","text":""}`, `"content":{"type":"text","text":""}`, `"content":{"type":"text","text":""}`, `"content":{"type":"text","text":""}`}},
		{[]mcp.Content{text}, [4]string{one, one, one, one}},
		{[]mcp.Content{text, other}, [4]string{joined, joined, joined, two}},
		{[]mcp.Content{text, image}, [4]string{unreadable, unreadable, unreadable, `"content":[{"type":"text","text":"a"},{"type":"image","data":"","mimeType":"image/png"}]`}},
		{[]mcp.Content{image}, [4]string{asImage, asImage, asImage, asImage}},
		{[]mcp.Content{audio}, [4]string{unreadable, asAudio, asAudio, asAudio}},
		{[]mcp.Content{use}, [4]string{unreadable, unreadable, unreadable, asUse}},
	} {
		for i, revision := range []string{mcp.Revision20241105, mcp.Revision20250326, mcp.Revision20250618, mcp.Revision20251125} {
			synctest.Test(t, func(t *testing.T) {
				transport := newPeerTransport(t)
				transport.greet = func(p *peer) {
					p.send("%s", strings.Replace(handshakeAnswer(p.next()), mcp.Revision20251125, revision, 1))
					p.next()
				}
				o := samples(mcpclient.Options{Protocol: mcpclient.Protocol{Revision: revision}}, func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
					return &mcp.CreateMessageResult{Content: test.content}, nil
				})
				connected(t, transport, o)
				p := <-transport.peers
				p.ask("1")
				m := p.next()
				want := ""
				if test.want[i] != unreadable {
					want = `{"role":"assistant",` + test.want[i] + `,"model":""}`
				}
				if string(m.Result) != want || (want == "") != (m.Error != nil && m.Error.Code == mcp.CodeInternalError) {
					t.Errorf("%s: got %s, %v, want %s", revision, m.Result, m.Error, want)
				}
			})
		}
	}
}
