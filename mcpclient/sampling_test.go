package mcpclient_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mcpchain/mcpchain/mcpclient"
)

func TestCheckMessages(t *testing.T) {
	text := &mcpclient.TextContent{Text: "t"}
	use := func(id string) mcpclient.Content { return &mcpclient.ToolUseContent{ID: id, Name: "n"} }
	result := func(id string) mcpclient.Content { return &mcpclient.ToolResultContent{ToolUseID: id} }
	user := func(c ...mcpclient.Content) mcpclient.SamplingMessage {
		return mcpclient.SamplingMessage{Role: "user", Content: c}
	}
	model := func(c ...mcpclient.Content) mcpclient.SamplingMessage {
		return mcpclient.SamplingMessage{Role: "assistant", Content: c}
	}
	for _, test := range []struct {
		name     string
		messages []mcpclient.SamplingMessage
		want     string // "" when the messages are in order
	}{
		{"none", nil, ""},
		{"text", []mcpclient.SamplingMessage{user(text), model(text, text), user(text)}, ""},
		{"a use and its result", []mcpclient.SamplingMessage{user(text), model(text, use("a")), user(result("a"))}, ""},
		{"two uses", []mcpclient.SamplingMessage{model(use("a"), use("b")), user(result("b"), result("a")), model(text)}, ""},
		{"the same id later", []mcpclient.SamplingMessage{model(use("a")), user(result("a")), model(use("a")), user(result("a"))}, ""},
		{"unknown role", []mcpclient.SamplingMessage{{Role: "system"}}, `message 0: role "system"`},
		{"result for nothing", []mcpclient.SamplingMessage{user(result("a"))}, `message 0: tool result for "a"`},
		{"result twice", []mcpclient.SamplingMessage{model(use("a")), user(result("a"), result("a"))}, `message 1: tool result for "a"`},
		{"result of the model", []mcpclient.SamplingMessage{model(use("a")), model(result("a"))}, "message 1: tool result in an assistant message"},
		{"use of the user", []mcpclient.SamplingMessage{user(use("a"))}, "message 0: tool use in a user message"},
		{"use twice", []mcpclient.SamplingMessage{model(use("a"), use("a"))}, `message 0: tool use id "a" twice`},
		{"mixed", []mcpclient.SamplingMessage{model(use("a")), user(result("a"), text)}, "message 1: tool results are mixed"},
		{"result missing", []mcpclient.SamplingMessage{model(use("a"), use("b")), user(result("a"))}, "message 1: 1 tool uses before it have no result"},
		{"text between", []mcpclient.SamplingMessage{model(use("a")), user(text), user(result("a"))}, "message 1: 1 tool uses before it have no result"},
		{"no result at the end", []mcpclient.SamplingMessage{model(use("a"))}, "1 tool uses have no result"},
	} {
		err := (&mcpclient.CreateMessageParams{Messages: test.messages}).CheckMessages()
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.HasPrefix(err.Error(), test.want)) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
}

// What is written can be read again, and has one block alone where there is one.
func TestMessagesRoundTrip(t *testing.T) {
	one, two := 1.0, &mcpclient.TextContent{Text: "<b>"}
	for _, test := range []struct {
		value, into any
		want        string
	}{
		{&mcpclient.SamplingMessage{Role: "user", Content: []mcpclient.Content{two}}, new(mcpclient.SamplingMessage), `{"role":"user","content":{"type":"text","text":"<b>"}}`},
		{&mcpclient.SamplingMessage{Role: "user", Content: []mcpclient.Content{two, two}, Meta: json.RawMessage(`{"m":1}`)}, new(mcpclient.SamplingMessage),
			`{"role":"user","content":[{"type":"text","text":"<b>"},{"type":"text","text":"<b>"}],"_meta":{"m":1}}`},
		{&mcpclient.PromptMessage{Role: "user", Content: two}, new(mcpclient.PromptMessage), `{"role":"user","content":{"type":"text","text":"<b>"}}`},
		{&mcpclient.CallToolResult{Content: []mcpclient.Content{}}, new(mcpclient.CallToolResult), `{"content":[]}`},
		{&mcpclient.CallToolResult{Content: []mcpclient.Content{two}, IsError: true, StructuredContent: json.RawMessage(`{"a":9007199254740993}`), Meta: json.RawMessage(`{}`)},
			new(mcpclient.CallToolResult), `{"content":[{"type":"text","text":"<b>"}],"structuredContent":{"a":9007199254740993},"isError":true,"_meta":{}}`},
		{&mcpclient.ModelPreferences{Hints: []mcpclient.ModelHint{{Name: "h"}}, CostPriority: &one}, new(mcpclient.ModelPreferences), `{"hints":[{"name":"h"}],"costPriority":1}`},
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
		if diff := cmp.Diff(test.value, test.into, cmpopts.IgnoreUnexported(mcpclient.CallToolResult{})); diff != "" {
			t.Errorf("%s: got +, want -:\n%s", test.want, diff)
		}
	}
}

// A server gets what its revision can read; what it cannot is no answer.
func TestAnswersOfRevisions(t *testing.T) {
	text, other := &mcpclient.TextContent{Text: "a"}, &mcpclient.TextContent{Text: "b"}
	image, audio := &mcpclient.ImageContent{MIMEType: "image/png"}, &mcpclient.AudioContent{MIMEType: "audio/wav"}
	use := &mcpclient.ToolUseContent{ID: "1", Name: "n"}
	const (
		one, two   = `"content":{"type":"text","text":"a"}`, `"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]`
		joined     = `"content":{"type":"text","text":"a\nb"}`
		asImage    = `"content":{"type":"image","data":"","mimeType":"image/png"}`
		asAudio    = `"content":{"type":"audio","data":"","mimeType":"audio/wav"}`
		asUse      = `"content":{"type":"tool_use","id":"1","name":"n","input":{}}`
		unreadable = ""
	)
	for _, test := range []struct {
		content []mcpclient.Content
		want    [4]string // for the legacy revisions, the oldest first
	}{
		{nil, [4]string{`"content":{"type":"text","text":""}`, `"content":{"type":"text","text":""}`, `"content":{"type":"text","text":""}`, `"content":{"type":"text","text":""}`}},
		{[]mcpclient.Content{text}, [4]string{one, one, one, one}},
		{[]mcpclient.Content{text, other}, [4]string{joined, joined, joined, two}},
		{[]mcpclient.Content{text, image}, [4]string{unreadable, unreadable, unreadable, `"content":[{"type":"text","text":"a"},{"type":"image","data":"","mimeType":"image/png"}]`}},
		{[]mcpclient.Content{image}, [4]string{asImage, asImage, asImage, asImage}},
		{[]mcpclient.Content{audio}, [4]string{unreadable, asAudio, asAudio, asAudio}},
		{[]mcpclient.Content{use}, [4]string{unreadable, unreadable, unreadable, asUse}},
	} {
		for i, revision := range []string{mcpclient.Revision20241105, mcpclient.Revision20250326, mcpclient.Revision20250618, mcpclient.Revision20251125} {
			synctest.Test(t, func(t *testing.T) {
				transport := newFrail(t)
				transport.greet = func(p *peer) {
					p.send("%s", strings.Replace(handshakeAnswer(p.next()), mcpclient.Revision20251125, revision, 1))
					p.next()
				}
				o := samples(mcpclient.Options{Protocol: mcpclient.Protocol{Revision: revision}}, func(context.Context, *mcpclient.CreateMessageParams) (*mcpclient.CreateMessageResult, error) {
					return &mcpclient.CreateMessageResult{Content: test.content}, nil
				})
				c, err := mcpclient.Connect(t.Context(), transport, &o)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = c.Close() }()
				p := <-transport.peers
				p.ask("1")
				m := p.next()
				want := ""
				if test.want[i] != unreadable {
					want = `{"role":"assistant",` + test.want[i] + `,"model":""}`
				}
				if string(m.Result) != want || (want == "") != (m.Error != nil && m.Error.Code == mcpclient.CodeInternalError) {
					t.Errorf("%s: got %s, %v, want %s", revision, m.Result, m.Error, want)
				}
			})
		}
	}
}
