package prose_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/prose"
	"github.com/mcpchain/mcpchain/internal/check"
)

func encode(t *testing.T, nodes []prose.Node) string {
	t.Helper()
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(check.Value(json.Marshal(nodes))(t)))
}

func TestTree(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"paragraphs": {"one *two*\n\n**three**", `[["p",{},"one ",["em",{},"two"]],["p",{},["strong",{},"three"]]]`},
		"heading":    {"# Top", `[["h3",{},"Top"]]`},
		"list":       {"3. a\n4. b", `[["ol",{"start":"3"},["li",{},"a"],["li",{},"b"]]]`},
		"code":       {"```go\na<b\n```", `[["pre",{},["code",{},"a<b\n"]]]`},
		"table":      {"|a|b|\n|-|-|\n|1|2|", `[["table",{},["tr",{},["th",{},"a"],["th",{},"b"]],["tr",{},["td",{},"1"],["td",{},"2"]]]]`},
		"link":       {"[x](https://a.example/y)", `[["p",{},["a",{"href":"https://a.example/y"},"x"]]]`},
		"address":    {"see https://a.example.", `[["p",{},"see ",["a",{"href":"https://a.example"},"https://a.example"],"."]]`},

		"script":         {`a <script>alert(1)</script>`, `[["p",{},"a <script>alert(1)</script>"]]`},
		"block of HTML":  {`<img src=x onerror=alert(1)>`, `[["p",{},"<img src=x onerror=alert(1)>"]]`},
		"entities":       {`&lt;b&gt;`, `[["p",{},"<b>"]]`},
		"hidden entity":  {`a&#x202e;b`, `[["p",{},"a\\u202eb"]]`},
		"javascript":     {`[x](javascript:alert(1))`, `[["p",{},"x (javascript:alert(1))"]]`},
		"data":           {`[x](data:text/html,hi)`, `[["p",{},"x (data:text/html,hi)"]]`},
		"of the page":    {`[x](/api/sign-out)`, `[["p",{},"x (/api/sign-out)"]]`},
		"other protocol": {`<vbscript:x>`, `[["p",{},"vbscript:x (vbscript:x)"]]`},
		"picture":        {`![x](https://a.example/spy.png)`, `[["p",{},["a",{"href":"https://a.example/spy.png"},"🖼 ","x"]]]`},
		"terminal":       {"a\x1b[31mb", `[["p",{},"a\\x1b[31mb"]]`},
		"direction":      {"a\u202eb", `[["p",{},"a\\u202eb"]]`},
		"no UTF-8":       {"a\xffb", `[["p",{},"a` + "\ufffd" + `b"]]`},
	} {
		t.Run(name, func(t *testing.T) { check.Equal(t, "", encode(t, prose.Tree(tt.text)), tt.want) })
	}
}

// TestTreeIsBounded has texts that take much to read shown as they are.
func TestTreeIsBounded(t *testing.T) {
	for name, text := range map[string]string{
		"long": strings.Repeat("word ", 1<<18), "quotes": strings.Repeat(">", 200_000) + "x",
		"lists": strings.Repeat("- ", 100_000) + "x", "links": strings.Repeat("[", 100_000) + "x",
		"nodes": strings.Repeat("*a* ", 30_000), "stars": strings.Repeat("*a ", 43_000) + strings.Repeat("a_ ", 43_000),
		"cells": "|a|\n|-|\n" + strings.Repeat("|x|\n", 30_000),
	} {
		t.Run(name, func(t *testing.T) {
			tree := prose.Tree(text)
			check.That(t, len(tree) == 1 && tree[0].Tag == "pre" && len(encode(t, tree)) <= prose.MaxPlain+100,
				"got %d nodes of %d bytes, want the text alone", len(tree), len(encode(t, tree)))
		})
	}
	check.Contains(t, "emphasis", encode(t, prose.Tree(strings.Repeat("a_long_name *a* \n", 400))), `["em",{},"a"]`)
	check.Contains(t, "the depth cut", encode(t, prose.Tree(strings.Repeat("> ", 90)+"x")), "…")
}

func TestDraft(t *testing.T) {
	var d prose.Draft
	var closed []int
	for _, piece := range []string{"# T", "op\n", "\n```\nco", "de\n\nmore\n", "```\n\nen", "d"} {
		d.Add(piece)
		closed = append(closed, len(d.Blocks))
	}
	want := []int{0, 0, 1, 1, 2, 2}
	check.That(t, slices.Equal(closed, want), "complete blocks: got %v, want %v", closed, want)
	check.Equal(t, "", encode(t, d.Blocks[1]), `[["pre",{},["code",{},"code\n\nmore\n"]]]`)
	check.Equal(t, "", encode(t, d.Open()), `[["p",{},"end"]]`)
}

// TestLongBlocks shows all of a block that is too long to be parsed again with each piece, and code as code.
func TestLongBlocks(t *testing.T) {
	for name, tt := range map[string]struct{ begin, piece, end, tag string }{
		"a line": {"", "word ", "", "p"}, "code": {"```go\n", "a line of *code*\n", "```\n", "pre"},
	} {
		var d prose.Draft
		d.Add(tt.begin)
		for range 1000 {
			d.Add(strings.Repeat(tt.piece, 20))
			open := len(encode(t, d.Open()))
			check.That(t, open <= 20<<10, "%s: the open block has %d bytes", name, open)
		}
		d.Add(tt.end)
		var shown strings.Builder
		for _, block := range append(d.Blocks, d.Open()) {
			for _, node := range block {
				check.Equal(t, name, node.Tag, tt.tag)
				for len(node.Children) > 0 {
					node = node.Children[0]
				}
				shown.WriteString(node.Text)
			}
		}
		got := strings.Count(shown.String(), strings.TrimSpace(tt.piece))
		check.That(t, got >= min(20_000, prose.MaxText/len(tt.piece)), "%s: got %d pieces", name, got)
	}
}
