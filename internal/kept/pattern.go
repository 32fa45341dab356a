package kept

import (
	"context"
	"errors"
	"io"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// maxSteps bounds the work of a search: the characters that are read, times the instructions of the
// pattern. A model may write a pattern that reads the rest of a text for each match.
const maxSteps = 200_000_000

// pattern is a regular expression as a model wrote it, with (?m).
type pattern struct {
	first *regexp.Regexp // finds the first match
	next  *regexp.Regexp // finds a match after the first character, which is there for ^ and \b
	size  int            // instructions of its program
}

// compile compiles a pattern. The error is written for the model.
func compile(expr string) (*pattern, error) {
	const multiline = "(?m)"
	tree, err := syntax.Parse(multiline+expr, syntax.Perl)
	if err != nil {
		return nil, errors.New(strings.Replace(err.Error(), multiline, "", 1))
	}
	first, err := regexp.Compile(tree.String())
	if err != nil {
		return nil, err
	}
	next, err := regexp.Compile(`\A(?s:.)(?s:.*?)(` + tree.String() + `)`)
	if err != nil {
		return nil, err
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, err
	}
	return &pattern{first, next, len(program.Inst)}, nil
}

// findAll returns the first maxMatches matches from an offset on as FindAllStringIndex does, and the offset up to which the
// text was searched. It ends early with the context or after so many steps. Then searched is the end of the last match, or
// without one the end of what was read.
func (p *pattern) findAll(ctx context.Context, text string, from, steps int) (found [][]int, searched int) {
	if literal, whole := p.first.LiteralPrefix(); whole && literal != "" {
		return findLiteral(text, from, literal)
	}
	left := steps / p.size // characters to read
	last := -1             // end of the last match
	for pos := from; pos <= len(text); {
		if len(found) == maxMatches {
			return found, pos
		}
		r := &runeReader{ctx: ctx, text: text, left: left}
		m := p.match(r, pos)
		left = r.left
		switch {
		case r.stopped && len(found) == 0:
			return nil, r.at
		case r.stopped:
			return found, pos
		case m == nil:
			return found, len(text)
		}
		isAdjacent := m[0] == m[1] && m[0] == last
		last = m[1]
		if m[1] == pos { // an empty match: the next one begins later
			_, width := utf8.DecodeRuneInString(text[pos:])
			pos += max(width, 1)
		} else {
			pos = m[1]
		}
		if !isAdjacent {
			found = append(found, m)
		}
	}
	return found, len(text)
}

// findLiteral is findAll for a pattern without operators, whose work needs no bound.
func findLiteral(text string, from int, literal string) (found [][]int, searched int) {
	for len(found) < maxMatches {
		i := strings.Index(text[from:], literal)
		if i < 0 {
			return found, len(text)
		}
		found = append(found, []int{from + i, from + i + len(literal)})
		from += i + len(literal)
	}
	return found, from
}

// match returns the first match from pos on, nil if there is none.
func (p *pattern) match(r *runeReader, pos int) []int {
	if pos == 0 {
		return p.first.FindReaderIndex(r)
	}
	_, width := utf8.DecodeLastRuneInString(r.text[:pos])
	from := pos - width
	r.at = from
	m := p.next.FindReaderSubmatchIndex(r)
	if m == nil {
		return nil
	}
	return []int{from + m[2], from + m[3]}
}

// runeReader reads a text for a regular expression, until the context ends or no more may be read.
type runeReader struct {
	ctx     context.Context
	text    string
	at      int
	left    int // number of characters that may be read
	stopped bool
}

// checkEvery is after how many characters the context is checked.
const checkEvery = 1 << 12

func (r *runeReader) ReadRune() (c rune, size int, err error) {
	switch {
	case r.at >= len(r.text):
		return 0, 0, io.EOF
	case r.left <= 0, r.left%checkEvery == 0 && r.ctx.Err() != nil:
		r.stopped = true
		return 0, 0, io.EOF
	}
	r.left--
	c, size = utf8.DecodeRuneInString(r.text[r.at:])
	r.at += size
	return c, size, nil
}
