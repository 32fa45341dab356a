package adapter

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func TestRender(t *testing.T) {
	text := func(s string) mcp.Content { return &mcp.TextContent{Text: s} }
	with := func(content ...mcp.Content) mcp.CallToolResult { return mcp.CallToolResult{Content: content} }
	structured := func(isError bool, value string, content ...mcp.Content) mcp.CallToolResult {
		return mcp.CallToolResult{IsError: isError, StructuredContent: append(json.RawMessage(nil), value...), Content: content}
	}
	resource := func(r mcp.ResourceContents) mcp.CallToolResult { return with(&mcp.EmbeddedResource{Resource: r}) }
	binary := func(kind string, data []byte) []llms.ContentPart {
		return []llms.ContentPart{llms.BinaryContent{MIMEType: kind, Data: data}}
	}
	size, png, wav := int64(2048), []byte("\x89PNG\r\n\x1a\n"), make([]byte, 1536)
	link := mcp.Resource{URI: "file:///a", Name: "a", Title: "The A", MIMEType: "text/plain", Size: &size, Description: "what it is"}
	for _, tt := range []struct {
		name  string
		res   mcp.CallToolResult
		want  string
		media []llms.ContentPart
	}{
		{"text", with(text("a"), text("b")), "a\nb", nil},
		{"empty", with(), "(the tool returned no content)", nil},
		{"blank", with(text(" \n")), "(the tool returned no content)", nil},
		{"failure", structured(true, "", text("no such file")), "Error: no such file", nil},
		{"failure that says so", structured(true, "", text("error: disk full")), "error: disk full", nil},
		{"failure beside structured content", structured(true, `{"code":7}`, text("quota used up")), "Error: quota used up", nil},
		{"failure with structured content only", structured(true, `{"code":7}`), `Error: {"code":7}`, nil},
		{"failure without a reason", structured(true, ""), "Error: (the tool failed without giving a reason)", nil},
		{"structured only", structured(false, `{"n":1.50}`), `{"n":1.50}`, nil},
		{"structured null", structured(false, `null`), `null`, nil},
		{"structured beside text", structured(false, `{}`, text("x")), "x", nil},
		{"structured beside an image", structured(false, `{"w":1}`, &mcp.ImageContent{Data: png, MIMEType: "image/png"}),
			"[image: image/png, 8 bytes]\n{\"w\":1}", binary("image/png", png)},
		{"image without a type", with(&mcp.ImageContent{Data: png}), "[image: image/png, 8 bytes]", binary("image/png", png)},
		{"empty image", with(&mcp.ImageContent{MIMEType: "image/png"}), "[image: empty]", nil},
		{"audio", with(&mcp.AudioContent{Data: wav, MIMEType: "audio/wav"}), "[audio: audio/wav, 1.5 KiB]", binary("audio/wav", wav)},
		{"link", with(&mcp.ResourceLink{Resource: link}), "[resource link: file:///a, The A, text/plain, 2.0 KiB: what it is]", nil},
		{"embedded text", resource(mcp.ResourceContents{URI: "file:///a", MIMEType: "text/plain", Text: "body"}), "[resource file:///a (text/plain)]\nbody", nil},
		{"embedded blob", resource(mcp.ResourceContents{URI: "file:///a", Blob: []byte{1, 2}}), "[resource file:///a: 2 bytes of binary data]", nil},
		{"embedded image", resource(mcp.ResourceContents{URI: "file:///a", MIMEType: "image/gif", Blob: []byte{1, 2}}),
			"[resource file:///a (image/gif): 2 bytes of binary data]", binary("image/gif", []byte{1, 2})},
		{"unknown", with(&mcp.UnknownContent{Type: "video", Raw: json.RawMessage(`{"type":"video","x":1}`)}),
			`[content of type "video": {"type":"video","x":1}]`, nil},
		{"tool use", with(&mcp.ToolUseContent{ID: "1", Name: "n"}), `[content of type "tool_use": {"type":"tool_use","id":"1","name":"n","input":{}}]`, nil},
		{"no block", with(nil), "(the tool returned no content)", nil},
	} {
		got, media := render(&tt.res, 1<<20)
		check.Equal(t, tt.name, got, tt.want)
		check.Same(t, tt.name+": media", media, tt.media)
	}
}

func TestShorten(t *testing.T) {
	check.Equal(t, "short", shorten("short", minResult), "short")
	for _, unit := range []string{"x", "é", "日", "🙂"} {
		text := strings.Repeat(unit, 4000)
		for limit := minResult; limit < minResult+20; limit++ {
			got := shorten(text, limit)
			check.Require(t, len(got) <= limit && len(got) >= limit-2*len(unit)-4, "%s: got %d bytes, want nearly %d", unit, len(got), limit)
			check.Require(t, utf8.ValidString(got) && strings.HasPrefix(got, unit) && strings.HasSuffix(got, unit),
				"got %q, want whole runes of both ends", got)
		}
	}
	got := shorten(strings.Repeat("a", 300)+strings.Repeat("z", 300), 256)
	check.Contains(t, "", got, "\n[… 386 of 600 bytes were cut here …]\n")
}

func TestMediaIsBounded(t *testing.T) {
	image := func(n int) mcp.Content { return &mcp.ImageContent{Data: make([]byte, n), MIMEType: "image/png"} }
	text, media := render(&mcp.CallToolResult{Content: []mcp.Content{image(60), image(50), image(40),
		&mcp.EmbeddedResource{Resource: mcp.ResourceContents{URI: "u", MIMEType: "image/png", Blob: []byte("x")}},
	}}, 100)
	want := "[image: image/png, 60 bytes]\n[image: image/png, 50 bytes, left out because it is too large]\n[image: image/png, 40 bytes]\n" +
		"[resource u (image/png): 1 bytes of binary data, left out because it is too large]"
	check.That(t, text == want && len(media) == 2, "got %d parts and %q, want 2 and %q", len(media), text, want)
}

func FuzzRender(f *testing.F) {
	f.Add(`{"content":[{"type":"text","text":"x"},{"type":"image","data":"AAAA"},{"type":"?"}],"isError":true}`)
	f.Add(`{"content":[],"structuredContent":[1]}`)
	f.Add(`{"content":[{"type":"resource","resource":{"uri":"u","blob":""}},{"type":"resource_link","uri":"u"}]}`)
	f.Fuzz(func(t *testing.T, raw string) {
		var res mcp.CallToolResult
		if json.Unmarshal([]byte(raw), &res) != nil {
			return
		}
		text, media := render(&res, 1<<20)
		text = shorten(text, minResult)
		check.That(t, strings.TrimSpace(text) != "" && len(text) <= minResult && utf8.ValidString(text),
			"got %q, want text of at most %d bytes", text, minResult)
		for _, part := range media {
			b, ok := part.(llms.BinaryContent)
			check.That(t, ok && b.MIMEType != "" && len(b.Data) != 0, "got %#v, want data with a type", part)
		}
	})
}

var cutNotice = regexp.MustCompile(`\[… \d+ of \d+ bytes were cut here; call (\S+) with (\{"handle":"(\w+)","offset":\d+\}) to read them(?:; the whole is [^…]+)? …\]`)

func TestSpill(t *testing.T) {
	var all strings.Builder
	for i := range 500 {
		fmt.Fprintf(&all, "line %d é\n", i)
	}
	p := newPeer().tool("long", object, answer(all.String())).tool("short", object, answer("ok"))
	ts := p.open(t, &Options{Policy: Policy{MaxResult: 1000}, KeepResults: 1 << 20})
	wantTools(t, ts, "long", "short", "read_result")
	check.Equal(t, "a short result as it is", callTool(t, ts, "short", "").Text, "ok")
	r := callTool(t, ts, "long", "")
	found := cutNotice.FindStringSubmatch(r.Text)
	check.Require(t, found != nil && len(r.Text) <= 1000, "got %q, want at most 1000 bytes with a handle", r.Text)
	head, _, _ := strings.Cut(r.Text, "\n[…")
	got, args := head, found[2]
	for range 20 {
		page := callTool(t, ts, found[1], args)
		check.Require(t, !page.IsError && len(page.Text) <= 1000, "got %q, want a page", page.Text)
		notice, text, _ := strings.Cut(page.Text, "\n")
		got += text
		var from, to, size, next int
		if n, _ := fmt.Sscanf(notice, "[bytes %d to %d of %d; continue with offset %d]", &from, &to, &size, &next); n < 4 {
			check.Require(t, strings.HasSuffix(notice, "; the text ends here]"), "got the notice %q, want the end", notice)
			break
		}
		args = fmt.Sprintf(`{"handle":%q,"offset":"%d"}`, found[3], next)
	}
	check.Same(t, "the whole result page by page", got, all.String())
	page := callTool(t, ts, found[1], fmt.Sprintf(`{"handle":%q,"pattern":"^line 250 "}`, found[3]))
	check.That(t, strings.HasPrefix(page.Text, "[1 matches]\n[match 1 at byte "), "got %q, want a match", page.Text)
	for args, want := range map[string]string{
		fmt.Sprintf(`{"handle":%q,"offset":1e9}`, found[3]): "beyond the text",
		`{"handle":"guess"}`: "no result with that handle",
		`{}`:                 "missing required property",
	} {
		r := callTool(t, ts, "read_result", args)
		check.That(t, r.IsError && strings.Contains(r.Text, want) && r.Fatal() == nil, "%s: got %q, want %q", args, r.Text, want)
	}
	tool, _ := ts.Catalog(profile.Plain).Lookup("read_result")
	check.That(t, tool.Server() == "" && tool.Client() == nil && declaresReadOnly(tool.Definition()),
		"got a tool of some server, want the toolset's own")
}

func TestSpillIsBounded(t *testing.T) {
	p := &spill{limit: 100, texts: map[string]string{}}
	first := p.store(strings.Repeat("a", 40))
	second := p.store(strings.Repeat("b", 40))
	third := p.store(strings.Repeat("c", 40))
	check.That(t, p.texts[first] == "" && p.texts[second] != "" && p.texts[third] != "" && p.used == 80, "got %d bytes, want the oldest gone", p.used)
	h := p.store(strings.Repeat("d", 101))
	check.That(t, h == "" && p.used == 80, "got a text kept that is too long, or the others gone for it")
}

func TestSpillKeepsItsName(t *testing.T) {
	p := newPeer().tool("read_result", object, answer("mine")).tool("long", object, answer(strings.Repeat("x", 1000)))
	ts := p.open(t, &Options{Policy: Policy{MaxResult: 400}, KeepResults: 1 << 20})
	wantTools(t, ts, "long", "p__read_result", "toolset__read_result")
	found := cutNotice.FindStringSubmatch(callTool(t, ts, "long", "").Text)
	check.That(t, found != nil && found[1] == "toolset__read_result", "got %v, want the name that the tool has here", found)
	check.Equal(t, "the toolset's own tool without servers", len(toolNamesOf(open(t, &Options{KeepResults: 1}))), 1)
}
