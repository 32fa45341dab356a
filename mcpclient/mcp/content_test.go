package mcp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

var contents = []struct {
	name, wire string
	want       Content
	encoded    string // when it is not wire
}{
	{"text", `{"type":"text","text":"hi"}`, &TextContent{Text: "hi"}, ``},
	{"empty text", `{"type":"text","text":""}`, &TextContent{}, ``},
	{"text with everything", `{"type":"text","text":"<a> & \"b\"","annotations":{"audience":["user"],"priority":0,"lastModified":"2025-01-01T00:00:00Z"},"_meta":{"k":[1]}}`,
		&TextContent{Text: `<a> & "b"`, Meta: json.RawMessage(`{"k":[1]}`),
			Annotations: &Annotations{Audience: []string{"user"}, Priority: new(0.0), LastModified: "2025-01-01T00:00:00Z"}}, ``},
	{"unknown fields go", `{"type":"text","text":"hi","color":"red"}`, &TextContent{Text: "hi"}, `{"type":"text","text":"hi"}`},
	{"image", `{"type":"image","data":"AP8=","mimeType":"image/png"}`, &ImageContent{Data: []byte{0, 255}, MIMEType: "image/png"}, ``},
	{"empty image", `{"type":"image","data":"","mimeType":"image/png"}`, &ImageContent{Data: []byte{}, MIMEType: "image/png"}, ``},
	{"image without a type", `{"type":"image","data":"AP8="}`, &ImageContent{Data: []byte{0, 255}}, ``},
	{"audio", `{"type":"audio","data":"AP8=","mimeType":"audio/wav","_meta":{}}`,
		&AudioContent{Data: []byte{0, 255}, MIMEType: "audio/wav", Meta: json.RawMessage(`{}`)}, ``},
	{"resource link", `{"type":"resource_link","uri":"file:///a","name":"a","title":"A","description":"D","mimeType":"text/plain","size":0,"icons":[{"src":"data:,"}],"annotations":{"priority":1},"_meta":{"k":1}}`,
		&ResourceLink{Resource{URI: "file:///a", Name: "a", Title: "A", Description: "D", MIMEType: "text/plain", Size: new(int64(0)),
			Icons: []Icon{{Src: "data:,"}}, Annotations: &Annotations{Priority: new(1.0)}, Meta: json.RawMessage(`{"k":1}`)}}, ``},
	{"resource link in other forms", `{"type":"resource_link","uri":"file:///a","name":"a","size":"12","annotations":{"audience":"user","priority":"0.5"}}`,
		&ResourceLink{Resource{URI: "file:///a", Name: "a", Size: new(int64(12)), Annotations: &Annotations{Audience: []string{"user"}, Priority: new(0.5)}}},
		`{"type":"resource_link","uri":"file:///a","name":"a","size":12,"annotations":{"audience":["user"],"priority":0.5}}`},
	{"resource link with wrong hints", `{"type":"resource_link","uri":"file:///a","name":"a","size":"big","icons":[{"src":"i","sizes":[48]}],"annotations":{"priority":"high","lastModified":1700000000}}`,
		&ResourceLink{Resource{URI: "file:///a", Name: "a", Icons: []Icon{{Src: "i"}}, Annotations: new(Annotations)}},
		`{"type":"resource_link","uri":"file:///a","name":"a","icons":[{"src":"i"}],"annotations":{}}`},
	{"resource in other forms", `{"type":"resource","resource":{"uri":"file:///a","text":""},"annotations":{"audience":"assistant","priority":[]}}`,
		&EmbeddedResource{Resource: ResourceContents{URI: "file:///a"}, Annotations: &Annotations{Audience: []string{"assistant"}}},
		`{"type":"resource","resource":{"uri":"file:///a","text":""},"annotations":{"audience":["assistant"]}}`},
	{"text resource", `{"type":"resource","resource":{"uri":"file:///a","mimeType":"text/plain","text":"hi","_meta":{"k":1}},"annotations":{"audience":["assistant"]}}`,
		&EmbeddedResource{Annotations: &Annotations{Audience: []string{"assistant"}},
			Resource: ResourceContents{URI: "file:///a", MIMEType: "text/plain", Text: "hi", Meta: json.RawMessage(`{"k":1}`)}}, ``},
	{"empty text resource", `{"type":"resource","resource":{"uri":"file:///a","text":""}}`, &EmbeddedResource{Resource: ResourceContents{URI: "file:///a"}}, ``},
	{"blob resource", `{"type":"resource","resource":{"uri":"file:///a","blob":"AP8="}}`, &EmbeddedResource{Resource: ResourceContents{URI: "file:///a", Blob: []byte{0, 255}}}, ``},
	{"empty blob resource", `{"type":"resource","resource":{"uri":"file:///a","blob":""}}`, &EmbeddedResource{Resource: ResourceContents{URI: "file:///a", Blob: []byte{}}}, ``},
	{"tool use", `{"type":"tool_use","id":"1","name":"sum","input":{"a":1.0},"_meta":{"k":1}}`,
		&ToolUseContent{ID: "1", Name: "sum", Input: json.RawMessage(`{"a":1.0}`), Meta: json.RawMessage(`{"k":1}`)}, ``},
	{"tool use without input", `{"type":"tool_use","id":"1","name":"now"}`, &ToolUseContent{ID: "1", Name: "now"},
		`{"type":"tool_use","id":"1","name":"now","input":{}}`},
	{"tool result", `{"type":"tool_result","toolUseId":"1","content":[{"type":"text","text":"2"},{"type":"new"}],"structuredContent":{"sum":2},"isError":true,"_meta":{"k":1}}`,
		&ToolResultContent{ToolUseID: "1", Content: []Content{&TextContent{Text: "2"}, &UnknownContent{Type: "new", Raw: json.RawMessage(`{"type":"new"}`)}},
			StructuredContent: json.RawMessage(`{"sum":2}`), IsError: true, Meta: json.RawMessage(`{"k":1}`)}, ``},
	{"empty tool result", `{"type":"tool_result","toolUseId":"1","content":[]}`, &ToolResultContent{ToolUseID: "1", Content: []Content{}}, ``},
	{"tool result without content", `{"type":"tool_result","toolUseId":"1"}`, &ToolResultContent{ToolUseID: "1"},
		`{"type":"tool_result","toolUseId":"1","content":[]}`},
	{"tool result of one block", `{"type":"tool_result","toolUseId":"1","content":{"type":"text","text":"2"}}`,
		&ToolResultContent{ToolUseID: "1", Content: []Content{&TextContent{Text: "2"}}},
		`{"type":"tool_result","toolUseId":"1","content":[{"type":"text","text":"2"}]}`},
}

func TestContent(t *testing.T) {
	for _, tt := range contents {
		t.Run(tt.name, func(t *testing.T) {
			check.Same(t, "decoded", check.Value(readBlock(json.RawMessage(tt.wire)))(t), tt.want)
			check.Equal(t, "encoded", string(check.Value(jsonrpc.Marshal(tt.want))(t)), cmp.Or(tt.encoded, tt.wire))
		})
	}
}

// What does not fit is kept as it came, for the host to decide about.
func TestUnknownContent(t *testing.T) {
	for _, tt := range []struct{ name, wire, typ string }{
		{"new type", `{"type":"video","data":"AP8=","n":1.0}`, "video"},
		{"no type", `{"text":"hi"}`, ""},
		{"type of another type", `{"type":5,"text":"hi"}`, ""},
		{"empty object", `{}`, ""},
		{"text missing", `{"type":"text"}`, "text"},
		{"text null", `{"type":"text","text":null}`, "text"},
		{"text a number", `{"type":"text","text":5}`, "text"},
		{"annotations a list", `{"type":"text","text":"hi","annotations":[1]}`, "text"},
		{"image without data", `{"type":"image","mimeType":"image/png"}`, "image"},
		{"image not base64", `{"type":"image","data":"?","mimeType":"image/png"}`, "image"},
		{"image without padding", `{"type":"image","data":"AP8","mimeType":"image/png"}`, "image"},
		{"audio not base64", `{"type":"audio","data":"?","mimeType":"audio/wav"}`, "audio"},
		{"audio in base64url", `{"type":"audio","data":"_-8=","mimeType":"audio/wav"}`, "audio"},
		{"resource missing", `{"type":"resource"}`, "resource"},
		{"resource null", `{"type":"resource","resource":null}`, "resource"},
		{"resource without URI", `{"type":"resource","resource":{"text":"hi"}}`, "resource"},
		{"resource not base64", `{"type":"resource","resource":{"uri":"file:///a","blob":"?"}}`, "resource"},
		{"link without URI", `{"type":"resource_link","name":"a"}`, "resource_link"},
		{"link with a number for its name", `{"type":"resource_link","uri":"file:///a","name":5}`, "resource_link"},
		{"tool use without id", `{"type":"tool_use","name":"sum","input":{}}`, "tool_use"},
		{"tool use without name", `{"type":"tool_use","id":"1","input":{}}`, "tool_use"},
		{"tool use with a list", `{"type":"tool_use","id":"1","name":"sum","input":[1]}`, "tool_use"},
		{"tool use with null", `{"type":"tool_use","id":"1","name":"sum","input":null}`, "tool_use"},
		{"tool result without id", `{"type":"tool_result","content":[]}`, "tool_result"},
		{"tool result of text", `{"type":"tool_result","toolUseId":"1","content":"2"}`, "tool_result"},
		{"tool result of numbers", `{"type":"tool_result","toolUseId":"1","content":[2]}`, "tool_result"},
		{"tool result with a wrong flag", `{"type":"tool_result","toolUseId":"1","content":[],"isError":"no"}`, "tool_result"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			raw := []byte(tt.wire)
			got := check.Value(readBlock(raw))(t)
			raw[0] = 'X' // a block does not share memory with what it was read from
			check.Same(t, "", got, Content(&UnknownContent{Type: tt.typ, Raw: json.RawMessage(tt.wire)}))
			check.Equal(t, "encoded", string(check.Value(jsonrpc.Marshal(got))(t)), tt.wire)
		})
	}
}

func TestDecodeContentSkipsSpace(t *testing.T) {
	for in, want := range map[string]Content{
		" \t\r\n{\"type\":\"text\",\"text\":\"hi\"} ": &TextContent{Text: "hi"},
		" {\"type\":5}": &UnknownContent{Raw: json.RawMessage(`{"type":5}`)},
	} {
		got, err := readBlock(json.RawMessage(in))
		check.NoError(t, err, in)
		check.Same(t, in, got, want)
	}
}

func TestDecodeContentRefuses(t *testing.T) {
	for _, in := range []string{``, `{`, `[]`, `"text"`, `5`, `true`, `null`, `{"type":"text","text":"hi"} 5`} {
		check.Fails(t, check.Err(readBlock(json.RawMessage(in))), in)
	}
}

func TestContentIsNotEscapedForHTML(t *testing.T) {
	const text = "<b>&\u2028"
	for _, c := range []Content{
		&TextContent{Text: text},
		&EmbeddedResource{Resource: ResourceContents{URI: "a:b", Text: text}},
		&ResourceLink{Resource{URI: "a:b?c&d<e>", Name: text}},
		&ToolUseContent{ID: "1", Name: "n", Input: json.RawMessage(`{"a":"<b>&"}`)},
		&ToolResultContent{ToolUseID: "1", Content: []Content{&ToolResultContent{ToolUseID: "2", Content: []Content{&TextContent{Text: text}}}}},
		&UnknownContent{Raw: json.RawMessage(`{"a":"<b>&"}`)},
	} {
		got := check.Value(jsonrpc.Marshal(c))(t)
		check.That(t, !strings.Contains(string(got), `\u003c`) && !strings.Contains(string(got), `\u0026`) && strings.Contains(string(got), "<"),
			"%T: got %s, want < and & as they are", c, got)
	}
}

// nestedResults is a text within n tool results.
func nestedResults(n int) string {
	return strings.Repeat(`{"type":"tool_result","toolUseId":"1","content":[`, n) + `{"type":"text","text":"x"}` + strings.Repeat(`]}`, n)
}

func TestContentDepth(t *testing.T) {
	for _, n := range []int{0, 1, maxContentDepth, maxContentDepth + 1, 400} {
		c := check.Value(readBlock(json.RawMessage(nestedResults(n))))(t)
		check.Equal(t, "encoded", string(check.Value(jsonrpc.Marshal(c))(t)), nestedResults(n))
		depth := 0
		for r, ok := c.(*ToolResultContent); ok; r, ok = c.(*ToolResultContent) {
			depth++
			c = r.Content[0]
		}
		check.Equal(t, "levels that were read", depth, min(n, maxContentDepth))
		_, cut := c.(*UnknownContent)
		check.Equal(t, fmt.Sprint("cut ", n), cut, n > maxContentDepth)
	}
}

func TestSamplingMessageContent(t *testing.T) {
	text := func(s string) Content { return &TextContent{Text: s} }
	for _, tt := range []struct {
		name, wire string
		want       []Content
		encoded    string
	}{
		{"one block", `{"role":"user","content":{"type":"text","text":"hi"}}`, []Content{text("hi")}, ``},
		{"a list of one", `{"role":"user","content":[{"type":"text","text":"hi"}]}`, []Content{text("hi")}, `{"role":"user","content":{"type":"text","text":"hi"}}`},
		{"a list", `{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"_meta":{"k":1}}`, []Content{text("a"), text("b")}, ``},
		{"an empty list", `{"role":"user","content":[]}`, []Content{}, `{"role":"user","content":{"type":"text","text":""}}`},
		{"null", `{"role":"user","content":null}`, nil, `{"role":"user","content":{"type":"text","text":""}}`},
		{"nothing", `{"role":"user"}`, nil, `{"role":"user","content":{"type":"text","text":""}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var m SamplingMessage
			check.Must(t, json.Unmarshal([]byte(tt.wire), &m))
			check.Same(t, "", m.Content, tt.want)
			check.Equal(t, "encoded", string(check.Value(m.MarshalJSON())(t)), cmp.Or(tt.encoded, tt.wire))
		})
	}
	for _, wire := range []string{`{"role":"user","content":"hi"}`, `{"role":"user","content":[5]}`, `{"role":"user","content":5}`, `{"role":5}`} {
		check.Fails(t, json.Unmarshal([]byte(wire), new(SamplingMessage)), wire)
	}
}

func FuzzDecodeContent(f *testing.F) {
	for _, c := range contents {
		f.Add([]byte(c.wire))
	}
	f.Add([]byte(nestedResults(maxContentDepth + 1)))
	f.Add([]byte(`{"type":5}`))
	f.Add([]byte(" {\"type\":\"x\",\n\"a\":\"\xff<\" }"))
	f.Fuzz(func(t *testing.T, in []byte) {
		first, err := readBlock(in)
		if err != nil {
			return
		}
		once := check.Value(jsonrpc.Marshal(first))(t)
		second := check.Value(readBlock(once))(t)
		twice := check.Value(jsonrpc.Marshal(second))(t)
		check.Equal(t, "the second time", string(twice), string(once))
		check.Same(t, "", check.Value(readBlock(twice))(t), second)
	})
}

// What a server lists, says or asks has a bound on its parts: an empty block takes three bytes of a message, hundreds in memory.
func TestContentIsBoundedInParts(t *testing.T) {
	many := func(part string) string { return "[" + strings.Repeat(part+",", jsonrpc.MaxElements) + part + "]" }
	for name, decode := range map[string]func() error{
		"result": func() error {
			return jsonrpc.DecodeResult(json.RawMessage(`{"content":`+many("{}")+`}`), new(CallToolResult))
		},
		"plain list": func() error {
			members := map[string]json.RawMessage{}
			return jsonrpc.DecodeResult(json.RawMessage(`{"tools":`+many("{}")+`}`), &members)
		},
		"prompt": func() error {
			return jsonrpc.DecodeResult(json.RawMessage(`{"messages":`+many(`{"content":{}}`)+`}`), new(GetPromptResult))
		},
		"message": func() error {
			return new(SamplingMessage).UnmarshalJSON([]byte(`{"role":"user","content":` + many("{}") + `}`))
		},
	} {
		check.Text(t, decode(), "more than 10000 elements", name)
	}
	structured := `{"content":[],"structuredContent":` + many("1") + `}`
	check.NoError(t, jsonrpc.DecodeResult(json.RawMessage(structured), new(CallToolResult)), "structured content stays raw and has no such bound")
}

// All lists of a message together have a bound too, wherever they are.
func TestContentIsBoundedInAll(t *testing.T) {
	many := func(part string, n int) string { return "[" + strings.Repeat(part+",", n-1) + part + "]" }
	nested := `{"type":"tool_result","toolUseId":"a","content":` + many("{}", jsonrpc.MaxElements/2) + `}`
	type completion struct{ Completion struct{ Values []string } }
	for name, test := range map[string]struct {
		before, part, after string
		into                func() any
		parts               int // elements of each part
	}{
		"audience":     {`{"content":[{"type":"text","text":"","annotations":{"audience":`, `""`, `}}]}`, func() any { return new(CallToolResult) }, 1},
		"links":        {`{"content":[{"type":"resource_link","uri":"a","icons":`, `{}`, `}]}`, func() any { return new(CallToolResult) }, 1},
		"tool results": {`{"content":`, nested, `}`, func() any { return new(CallToolResult) }, jsonrpc.MaxElements / 2},
		"completion":   {`{"completion":{"values":`, `""`, `}}`, func() any { return new(completion) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			fits := (10*jsonrpc.MaxElements - 100) / test.parts
			check.NoError(t, jsonrpc.DecodeResult(json.RawMessage(test.before+many(test.part, fits)+test.after), test.into()), "below the bound")
			err := jsonrpc.DecodeResult(json.RawMessage(test.before+many(test.part, fits+101)+test.after), test.into())
			check.Text(t, err, "more than 100000 elements in all", "over the bound")
		})
	}
}

func TestSizesOfIconsAreBounded(t *testing.T) {
	var icon Icon
	check.Must(t, json.Unmarshal([]byte(`{"src":"a","sizes":"`+strings.Repeat("1x1 ", 1000)+`"}`), &icon))
	check.Equal(t, "sizes of 1,000", len(icon.Sizes), maxSizes)
}

func readBlock(raw json.RawMessage) (Content, error) {
	d := jsonrpc.NewDecoder(raw, jsonrpc.MaxElements)
	return decodeContent(&d, maxContentDepth), d.End()
}
