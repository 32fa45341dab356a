// Package markdown renders the Markdown of a model for a terminal while it arrives.
//
// The text is not trusted: the rendered lines have no control characters except tabs in code and
// SGR sequences, which set colours.
package markdown

import (
	"regexp"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/hosttext"
)

const (
	// maxBlock bounds what is held back and rendered as one block, in bytes. A longer line is rendered as several.
	maxBlock = 64 << 10

	// A rest of fewer than smallRest bytes is rendered whenever it is asked for. A longer one is
	// rendered again when it has grown by 1/redrawShare: the time is proportional to its length,
	// and an answer arrives in thousands of pieces.
	smallRest   = 1 << 10
	redrawShare = 32
)

// Stream renders a text that arrives in pieces: each complete block once, and the unfinished one on
// demand. It must not be used concurrently.
type Stream struct {
	page  page
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

// New returns a stream for lines of at most width columns, but at least minWidth. Lines of code may
// be longer.
func New(width int) *Stream { return &Stream{page: page{width: max(width, minWidth)}} }

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
		s.rest, s.drawn = s.separated(s.page.render(s.block+s.line)), size
	}
	return slices.Clone(s.rest)
}

// End returns the lines of the last block, and resets the stream.
func (s *Stream) End() (out []string) {
	if s.line != "" {
		out = s.addLine(s.line)
	}
	out = append(out, s.flush()...)
	*s = Stream{page: s.page}
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
	out := s.separated(s.page.render(block))
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
