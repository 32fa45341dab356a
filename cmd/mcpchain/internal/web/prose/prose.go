// Package prose converts a model's Markdown to a tree that a page can show directly.
//
// The text is untrusted. The tree has only elements of a short list, no HTML of the text, and
// only links to the web and to mail. A picture becomes a link, because loading it would reveal
// the reader to its host. The page creates elements from the tree and never parses HTML.
package prose

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/commonmark"
	"github.com/mcpchain/mcpchain/hosttext"
)

const (
	// MaxText bounds text that is parsed as Markdown, in bytes. Longer text is shown unparsed, up to MaxPlain.
	MaxText  = 256 << 10
	MaxPlain = 1 << 20

	maxNodes = 20_000
	maxDepth = 40   // of nested nodes; deeper ones become …
	maxMarks = 200  // markers of quotes and lists at the start of a line, and brackets in a row
	maxStars = 1000 // markers of emphasis in a block
)

var markdown = commonmark.New(extension.Table, extension.Strikethrough, extension.Linkify, extension.TaskList)

// Tree returns the elements of a text. A text that would take too long to parse, or would have more
// than maxNodes nodes, is returned unparsed.
func Tree(markdownText string) []Node {
	shown := hosttext.Prose(strings.ToValidUTF8(markdownText, "\ufffd"))
	if len(shown) > MaxText || isDeep(shown) || isStarred(shown) {
		return []Node{element("pre", plain(shown))}
	}
	source := []byte(shown)
	b := builder{source: source, remaining: maxNodes}
	tree := b.children(markdown.Parser().Parse(text.NewReader(source)), 0)
	if b.remaining < 0 {
		return []Node{element("pre", plain(shown))}
	}
	return tree
}

// isDeep reports whether a line begins with an implausible number of markers of quotes and lists, or has as many
// opening brackets in a row: the parser's time grows with their square.
func isDeep(s string) bool {
	for line := range strings.Lines(s) {
		if len(line)-len(strings.TrimLeft(line, "> \t-*+")) > maxMarks {
			return true
		}
	}
	return strings.Contains(s, strings.Repeat("[", maxMarks))
}

// isStarred reports whether a block has an implausible number of markers of emphasis: the
// parser's time grows with their square. Markers within a word, as in a_name, do not count.
func isStarred(s string) bool {
	n := 0
	for line := range strings.Lines(s) {
		if strings.TrimSpace(line) == "" {
			n = 0
		}
		before, run := ' ', false
		for _, c := range line {
			mark := c == '*' || c == '~' || c == '_' && !isWord(before)
			if before == '_' && !isWord(c) {
				mark = true // it may end an emphasis
			}
			if mark && !run {
				n++
			}
			before, run = c, mark
		}
		if n > maxStars {
			return true
		}
	}
	return false
}

// isWord reports whether a character belongs to words.
func isWord(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }

// plain returns a text unparsed, cut to MaxPlain bytes with a note of how many are missing.
func plain(s string) Node {
	if len(s) > MaxPlain {
		s = strings.ToValidUTF8(s[:MaxPlain], "") + "\n… (" + strconv.Itoa(len(s)-MaxPlain) + " bytes more)"
	}
	return Node{Text: s}
}

// builder converts the parser's nodes to elements.
type builder struct {
	source    []byte
	remaining int // number of nodes that may follow
}

// children converts the children of a node, and joins texts that follow each other.
func (b *builder) children(parent ast.Node, depth int) (out []Node) {
	for n := parent.FirstChild(); n != nil && b.remaining >= 0; n = n.NextSibling() {
		b.remaining--
		if depth > maxDepth {
			out = append(out, Node{Text: "…"})
			return out
		}
		for _, node := range b.node(n, depth+1) {
			if last := len(out) - 1; last >= 0 && node.Tag == "" && out[last].Tag == "" {
				out[last].Text += node.Text
				continue
			}
			out = append(out, node)
		}
	}
	return out
}

// node converts a node, to several nodes if it has no element of its own.
func (b *builder) node(n ast.Node, depth int) []Node {
	if tag, ok := tags[n.Kind()]; ok {
		return []Node{element(tag, b.children(n, depth)...)}
	}
	switch n := n.(type) {
	case *ast.Text:
		return b.text(n)
	case *ast.String:
		return []Node{{Text: string(n.Value)}}
	case *ast.Heading: // the page uses the first two levels
		return []Node{element("h"+strconv.Itoa(min(n.Level+2, 6)), b.children(n, depth)...)}
	case *ast.List:
		return []Node{b.list(n, depth)}
	case *ast.Emphasis:
		if n.Level == 1 {
			return []Node{element("em", b.children(n, depth)...)}
		}
		return []Node{element("strong", b.children(n, depth)...)}
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		return []Node{element("pre", element("code", Node{Text: string(n.Lines().Value(b.source))}))}
	case *ast.ThematicBreak:
		return []Node{element("hr")}
	case *ast.Link:
		return b.link(string(n.Destination), b.children(n, depth))
	case *ast.Image:
		return b.link(string(n.Destination), append([]Node{{Text: "🖼 "}}, b.children(n, depth)...))
	case *ast.AutoLink:
		return b.link(autoURL(n, b.source), []Node{{Text: string(n.Label(b.source))}})
	case *east.TableCell:
		return []Node{b.cell(n, depth)}
	case *east.TaskCheckBox:
		if n.IsChecked {
			return []Node{{Text: "☑ "}}
		}
		return []Node{{Text: "☐ "}}
	}
	return b.children(n, depth) // a node without an element of its own
}

// tags are the elements of nodes that only have children.
var tags = map[ast.NodeKind]string{
	ast.KindParagraph: "p", ast.KindBlockquote: "blockquote", ast.KindListItem: "li", ast.KindCodeSpan: "code",
	east.KindStrikethrough: "del", east.KindTable: "table", east.KindTableHeader: "tr", east.KindTableRow: "tr",
}

// text converts a text, and the line break after it. Raw text, such as code, has no escapes and entities.
func (b *builder) text(n *ast.Text) []Node {
	out := []Node{{Text: string(n.Segment.Value(b.source))}}
	if !n.IsRaw() {
		out[0].Text = string(util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations([]byte(out[0].Text)))))
		out[0].Text = hosttext.Prose(out[0].Text) // entities may stand for invisible characters
	}
	switch {
	case n.HardLineBreak():
		out = append(out, element("br"))
	case n.SoftLineBreak():
		out = append(out, Node{Text: "\n"})
	}
	return out
}

// list converts a list, with its first number.
func (b *builder) list(n *ast.List, depth int) Node {
	list := element("ul", b.children(n, depth)...)
	if n.IsOrdered() {
		list.Tag = "ol"
		if n.Start != 1 {
			list.Attrs = map[string]string{"start": strconv.Itoa(n.Start)}
		}
	}
	return list
}

// cell converts a cell of a table.
func (b *builder) cell(n *east.TableCell, depth int) Node {
	cell := element("td", b.children(n, depth)...)
	if n.Parent().Kind() == east.KindTableHeader {
		cell.Tag = "th"
	}
	return cell
}

// link returns a link if the address is on the web or for mail, and otherwise its children with the address as text.
func (b *builder) link(address string, children []Node) []Node {
	u, err := url.Parse(address)
	switch {
	case err != nil:
	case (u.Scheme == "https" || u.Scheme == "http") && u.Host != "", u.Scheme == "mailto":
		a := element("a", children...)
		a.Attrs = map[string]string{"href": u.String()}
		return []Node{a}
	}
	return append(children, Node{Text: " (" + hosttext.Line(address, 200) + ")"})
}

// autoURL returns the address of a link that is its own text.
func autoURL(n *ast.AutoLink, source []byte) string {
	address := string(n.URL(source))
	if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(address), "mailto:") {
		return "mailto:" + address
	}
	return address
}

// Node is an element, or text if Tag is empty.
type Node struct {
	Tag      string
	Attrs    map[string]string // href, start
	Children []Node
	Text     string
}

func element(tag string, children ...Node) Node { return Node{Tag: tag, Children: children} }

// MarshalJSON writes text as a string, and an element as an array of its tag, attributes and children.
func (n Node) MarshalJSON() ([]byte, error) {
	if n.Tag == "" {
		return json.Marshal(n.Text)
	}
	attrs := n.Attrs
	if attrs == nil {
		attrs = map[string]string{}
	}
	parts := make([]any, 0, 2+len(n.Children))
	parts = append(parts, n.Tag, attrs)
	for _, child := range n.Children {
		parts = append(parts, child)
	}
	return json.Marshal(parts)
}
