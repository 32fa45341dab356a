// Package markdown renders the Markdown of a model for a terminal while it arrives.
//
// The text is not trusted: the rendered lines have no control characters except tabs in code and
// SGR sequences, which set colours.
package markdown

import (
	"html"
	"regexp"
	"slices"
	"strings"

	"charm.land/glamour/v2/ansi"
	term "github.com/charmbracelet/x/ansi"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/commonmark"
	"github.com/mcpchain/mcpchain/hosttext"
)

const (
	// maxBlock bounds what is held back and rendered as one block, in bytes. A longer line is rendered as several.
	maxBlock = 64 << 10

	// A rest of fewer than smallRest bytes is rendered whenever it is asked for. A longer one is rendered again when it
	// has grown by 1/redrawShare: the time is proportional to its length, and an answer arrives in thousands of pieces.
	smallRest   = 1 << 10
	redrawShare = 32
)

// Stream renders a text that arrives in pieces: each complete block once, and the unfinished one on
// demand. It must not be used concurrently.
type Stream struct {
	width int    // of lines, in columns
	line  string // unfinished
	block string // complete lines that are not rendered yet
	fence string // marks the end of the code; "" outside of code
	list  bool   // the block is a list
	blank bool   // the last line was blank
	begun bool   // something was rendered

	rest  []string // the unfinished block as it was rendered last, or nil
	drawn int      // size of the source of rest in bytes
}

// minWidth is the minimum width of rendered lines, in columns.
const minWidth = 20

// New returns a stream for lines of at most width columns, but at least minWidth. Lines of code may be longer.
func New(width int) *Stream { return &Stream{width: max(width, minWidth)} }

// Resize sets the width of the blocks that are not complete.
func (s *Stream) Resize(width int) {
	if width = max(width, minWidth); width != s.width {
		s.width, s.rest = width, nil
	}
}

// Add adds a piece of the text, and returns the lines of the blocks that it completes.
func (s *Stream) Add(text string) (out []string) {
	s.line += hosttext.Prose(text)
	for {
		line, rest, found := strings.Cut(s.line, "\n")
		if !found && len(s.line) <= maxBlock {
			return out
		}
		s.line = rest
		out = append(out, s.addLine(line)...)
	}
}

// Rest returns the lines of the unfinished block so far. The end of a long block may be missing
// until more text has arrived.
func (s *Stream) Rest() []string {
	if s.fence != "" {
		return []string{code(s.line)}
	}
	size := len(s.block) + len(s.line)
	if s.rest == nil || size < smallRest || size-s.drawn >= s.drawn/redrawShare {
		s.rest, s.drawn = s.separated(render(s.width, s.block+s.line)), size
	}
	return slices.Clone(s.rest)
}

// End returns the lines of the last block, and resets the stream.
func (s *Stream) End() (out []string) {
	if s.line != "" {
		out = s.addLine(s.line)
	}
	out = append(out, s.flush()...)
	*s = Stream{width: s.width}
	return out
}

var (
	fenceLine = regexp.MustCompile("^ {0,8}(```+|~~~+)[^`]*$")
	listLine  = regexp.MustCompile(`^ {0,3}([-*+]|\d{1,9}[.)])(\s|$)`)
	heading   = regexp.MustCompile(`^ {0,3}#{1,6}(\s|$)`)
)

// addLine adds a line of source, and returns the rendered lines of the blocks that it completes.
func (s *Stream) addLine(line string) (out []string) {
	if s.fence != "" {
		if mark := strings.TrimSpace(line); strings.HasPrefix(mark, s.fence) && strings.Trim(mark, s.fence[:1]) == "" {
			s.fence, s.blank = "", true
			return []string{faint(code(line))}
		}
		return []string{code(line)}
	}
	if m := fenceLine.FindStringSubmatch(line); m != nil {
		out = s.flush()
		out = append(out, s.separated(faint(code(line)))...)
		s.fence, s.begun = m[1], true
		return out
	}
	if strings.TrimSpace(line) == "" {
		s.blank = true
		s.block += "\n"
		return nil
	}
	continued := s.list && (listLine.MatchString(line) || strings.HasPrefix(line, " "))
	if s.blank && !continued || heading.MatchString(line) || len(s.block) > maxBlock {
		out = s.flush()
	}
	if strings.TrimSpace(s.block) == "" {
		s.list = listLine.MatchString(line)
	}
	s.blank = false
	s.block += line + "\n"
	if heading.MatchString(line) {
		out = append(out, s.flush()...)
	}
	return out
}

// flush renders the block.
func (s *Stream) flush() []string {
	block := s.block
	s.block, s.list, s.blank, s.rest = "", false, false, nil
	if strings.TrimSpace(block) == "" {
		return nil
	}
	out := s.separated(render(s.width, block))
	s.begun = true
	return out
}

// separated splits a rendered block into lines, with a blank line before every block but the first.
func (s *Stream) separated(block string) []string {
	lines := strings.Split(block, "\n")
	if s.begun && block != "" {
		return append([]string{""}, lines...)
	}
	return lines
}

// code renders a line of code, which keeps its tabs.
func code(line string) string { return hosttext.Prose(line) }

// faint renders a line in faint letters.
func faint(line string) string { return "\x1b[2m" + line + "\x1b[22m" }

// maxExcess is the number of columns by which package glamour may make a line too long.
const maxExcess = 3

// render renders a block of Markdown that has no code fences, without blank lines around it. If lines are
// too wide, it tries smaller widths, and returns the last try. It does not interpret HTML: a model that
// writes <name> means that text.
func render(width int, source string) (drawn string) {
	if strings.TrimSpace(source) == "" {
		return ""
	}
	for narrower := range maxExcess + 1 {
		drawn = renderAt(width-narrower, source)
		if widestLine(drawn) <= width {
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
	if hasManyMarks(source) {
		return unrendered(width, source)
	}
	doc := md.Parser().Parse(text.NewReader(raw))
	if depth(doc) > width/4 || md.Renderer().Render(&b, raw, doc) != nil {
		return unrendered(width, source)
	}
	return trimBlanks(keepColours(b.String()))
}

// maxMarks bounds the marks of quotes and lists at the beginning of a line, as the parser's time grows with their square.
const maxMarks = 1000

// hasManyMarks reports whether a line begins with more than maxMarks marks, spaces and digits.
func hasManyMarks(source string) bool {
	for line := range strings.Lines(source) {
		if len(line)-len(strings.TrimLeft(line, "> \t-*+.)0123456789")) > maxMarks {
			return true
		}
	}
	return false
}

// depth returns how many quotes and lists are within each other. Each takes two columns. When no columns are left for the
// text, a further quote doubles the time of package glamour.
func depth(n ast.Node) (deepest int) {
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		deepest = max(deepest, depth(child))
	}
	if k := n.Kind(); k == ast.KindBlockquote || k == ast.KindListItem {
		deepest++
	}
	return deepest
}

// unrendered returns a block as it was written, in lines of a width.
func unrendered(width int, source string) string {
	return term.Hardwrap(strings.ReplaceAll(strings.TrimRight(hosttext.Prose(source), "\n"), "\t", "    "), width, true)
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
	return strings.Trim(strings.Join(lines, "\n"), "\n")
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
