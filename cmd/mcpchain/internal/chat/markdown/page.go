package markdown

import (
	"html"
	"regexp"
	"strings"

	"charm.land/glamour/v2/ansi"
	term "github.com/charmbracelet/x/ansi"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/commonmark"
	"github.com/mcpchain/mcpchain/hosttext"
)

// page renders blocks of Markdown. It does not interpret HTML: a model that writes <name> means
// that text.
type page struct{ width int }

// maxExcess is the number of columns by which package glamour may make a line too long.
const maxExcess = 3

// render renders a block that has no code fences, without blank lines around it. If lines are too
// wide, it tries smaller widths, and returns the last try.
func (p page) render(source string) (drawn string) {
	if strings.TrimSpace(source) == "" {
		return ""
	}
	for narrower := range maxExcess + 1 {
		drawn = renderAt(p.width-narrower, source)
		if widestLine(drawn) <= p.width {
			break
		}
	}
	return drawn
}

// widestLine returns the width of the widest line.
func widestLine(drawn string) (widest int) {
	for line := range strings.SplitSeq(drawn, "\n") {
		widest = max(widest, term.StringWidth(line))
	}
	return widest
}

// renderAt renders a block with a width.
func renderAt(width int, source string) string {
	var b strings.Builder
	md := commonmark.New(extension.Table, extension.Strikethrough, extension.TaskList)
	options := ansi.Options{WordWrap: width, InlineTableLinks: true, Styles: style()}
	nodes := util.Prioritized(ansi.NewRenderer(options), 1000) // the only one, so any priority will do
	md.SetRenderer(renderer.NewRenderer(renderer.WithNodeRenderers(nodes)))
	raw := []byte(escapeEntities(source))
	if err := md.Renderer().Render(&b, raw, md.Parser().Parse(text.NewReader(raw))); err != nil {
		return hosttext.Prose(source)
	}
	return trimBlanks(keepColours(b.String()))
}

// entity matches an entity of HTML.
var entity = regexp.MustCompile(`&(#[0-9]+|#[xX][0-9a-fA-F]+|[A-Za-z0-9]+);`)

// escapeEntities escapes the entities of invisible characters, so that they are shown as written. It
// does so in code, too, where package glamour also decodes entities.
func escapeEntities(source string) string {
	return entity.ReplaceAllStringFunc(source, func(e string) string {
		if plain := html.UnescapeString(e); hosttext.Escape(plain) != plain || strings.ContainsAny(plain, "\n\t") {
			return "&amp;" + e[1:]
		}
		return e
	})
}

var (
	sgr = regexp.MustCompile(`\x1b\[[0-9;:]*m`)                 // colours and weights
	osc = regexp.MustCompile(`\x1b\][^\x07\x1b]*(\x07|\x1b\\)`) // links, for example
)

// keepColours removes all escape sequences except SGR, and control characters except line breaks.
func keepColours(drawn string) string {
	drawn = strings.ReplaceAll(osc.ReplaceAllString(drawn, ""), "\t", "    ")
	var b strings.Builder
	at := 0
	for _, m := range sgr.FindAllStringIndex(drawn, -1) {
		b.WriteString(hosttext.Prose(drawn[at:m[0]]) + drawn[m[0]:m[1]])
		at = m[1]
	}
	return b.String() + hosttext.Prose(drawn[at:])
}

// trimBlanks removes blank lines at both ends, and blanks at the ends of lines.
func trimBlanks(drawn string) string {
	lines := strings.Split(drawn, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
		if strings.TrimSpace(term.Strip(line)) == "" {
			lines[i] = ""
		}
	}
	for len(lines) > 0 && lines[0] == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return strings.Join(lines, "\n")
}

// style returns a style with the terminal's own colours, which fit light and dark terminals.
func style() ansi.StyleConfig {
	yes, blue, cyan, grey := true, "4", "6", "8"
	one, two := uint(1), uint(2)
	bar, column, row, cross := "│ ", "│", "─", "┼"
	return ansi.StyleConfig{
		BlockQuote:     ansi.StyleBlock{Indent: &one, IndentToken: &bar},
		List:           ansi.StyleList{LevelIndent: two},
		Heading:        ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Bold: &yes, Color: &blue}},
		H1:             ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Underline: &yes}},
		H3:             ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Prefix: "### "}},
		H4:             ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Prefix: "#### "}},
		H5:             ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Prefix: "##### "}},
		H6:             ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Prefix: "###### "}},
		Strikethrough:  ansi.StylePrimitive{CrossedOut: &yes},
		Emph:           ansi.StylePrimitive{Italic: &yes},
		Strong:         ansi.StylePrimitive{Bold: &yes},
		HorizontalRule: ansi.StylePrimitive{Color: &grey, Format: "\n" + strings.Repeat(row, 20) + "\n"},
		Item:           ansi.StylePrimitive{BlockPrefix: "• "},
		Enumeration:    ansi.StylePrimitive{BlockPrefix: ". "},
		Task:           ansi.StyleTask{Ticked: "[x] ", Unticked: "[ ] "},
		Link:           ansi.StylePrimitive{Color: &grey, Underline: &yes},
		LinkText:       ansi.StylePrimitive{Color: &cyan},
		ImageText:      ansi.StylePrimitive{Color: &cyan, Format: "image {{.text}}"},
		Code:           ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Color: &cyan}},
		CodeBlock:      ansi.StyleCodeBlock{StyleBlock: ansi.StyleBlock{Indent: &two}},
		Table:          ansi.StyleTable{CenterSeparator: &cross, ColumnSeparator: &column, RowSeparator: &row},
	}
}
