// Package markdown draws a model's Markdown for a terminal, as it arrives.
//
// The text is untrusted. What is drawn has no control characters but line breaks,
// tabs in code, and sequences for colours (SGR).
package markdown

import (
	"regexp"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/hosttext"
)

const (
	// maxBlock bounds what is held back and drawn as one block, in bytes. A longer line is taken for two.
	maxBlock = 64 << 10

	// A rest of fewer bytes is drawn whenever it is asked for. A longer one is drawn again when it has grown by this
	// part of it: to draw it takes as long as it is long, and an answer has thousands of pieces.
	smallRest = 1 << 10
	redrawShare   = 32
)

// Stream draws a text in pieces: what is complete once, and the rest so far as often
// as it is wanted. It is for one goroutine at a time.
type Stream struct {
	page  page
	line  string // unfinished
	block string // complete lines that are not drawn
	fence string // that ends the code; "" outside of code
	list  bool   // the block is a list
	blank bool   // the last line was blank
	begun bool   // something was drawn

	rest  []string // as it was drawn last; nil if it is another block
	drawn int      // bytes of it
}

// New returns a stream for lines of at most so many columns. Code is not wrapped.
func New(width int) *Stream { return &Stream{page: page{width: max(width, 20)}} }

// Add takes a piece of the text. It returns what is complete, as whole lines without
// their line breaks.
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

// Rest draws what is not complete. The end of a long rest may be missing until more has come.
func (s *Stream) Rest() []string {
	if s.fence != "" {
		return []string{code(s.line)}
	}
	size := len(s.block) + len(s.line)
	if s.rest == nil || size < smallRest || size-s.drawn >= s.drawn/redrawShare {
		s.rest, s.drawn = s.separated(s.page.draw(s.block+s.line)), size
	}
	return slices.Clone(s.rest)
}

// End draws the rest, and ends the text.
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

// addLine takes a whole line, and returns the lines that it completes.
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

// flush draws the block.
func (s *Stream) flush() []string {
	block := s.block
	s.block, s.list, s.blank, s.rest = "", false, false, nil
	if strings.TrimSpace(block) == "" {
		return nil
	}
	out := s.separated(s.page.draw(block))
	s.begun = true
	return out
}

// separated puts a blank line before a block that is not the first.
func (s *Stream) separated(block string) []string {
	lines := strings.Split(block, "\n")
	if s.begun && block != "" {
		return append([]string{""}, lines...)
	}
	return lines
}

// code is a line of code: verbatim, with its tabs.
func code(line string) string { return hosttext.Prose(line) }

func faint(line string) string { return "\x1b[2m" + line + "\x1b[22m" }
