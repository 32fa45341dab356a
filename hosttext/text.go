// Package hosttext makes the texts of servers and models safe to show to a person at a terminal: names, questions,
// results, links. The texts can neither control the terminal nor hide a part of themselves. An invisible character,
// such as a control character, a direction mark or a zero-width joiner, becomes its Go escape, such as \u200b, except
// within an emoji; [Prose] also keeps joiners and variation selectors elsewhere.
//
// Use [Escape], [Line], [Quote] or [Block] for texts on which a person decides, and for names; [Prose] for texts that a
// person only reads; [JSONLine] and [EscapeJSON] for JSON; [ParseLink] for links. docs/sampling.md and SECURITY.md of
// the repository say where a program needs them. A character is a rune; bytes that are not UTF-8 become U+FFFD.
package hosttext

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	nonJoiner     = '\u200c'
	joiner        = '\u200d'
	textSelector  = '\ufe0e'
	emojiSelector = '\ufe0f'
)

// Escape returns the text with an escape for each invisible character. It keeps line breaks, without a carriage return
// before them, tabs, and the selectors and joiners within an emoji. A space of any width becomes a normal space.
// Use it for texts on which a person decides, and for names.
func Escape(s string) string {
	var b strings.Builder
	for _, piece := range pieces(s) {
		b.WriteString(piece)
	}
	return b.String()
}

// Prose is like [Escape], for texts that a person only reads, whole or in pieces. It keeps joiners and variation
// selectors everywhere, because some scripts and emoji need them, and drops carriage returns.
func Prose(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\r':
		case r == '\n', r == '\t', r == nonJoiner, r == joiner, r >= '\ufe00' && r <= '\ufe0f', !isHidden(r):
			b.WriteRune(r)
		default:
			b.WriteString(escape(r))
		}
	}
	return b.String()
}

// Line is like [Escape], on one line of at most n characters. A run of white space becomes one space, and "…",
// which counts as one of the n, replaces what is omitted. If n is less than 1, a text that is not blank becomes "…".
func Line(s string, n int) string {
	var b strings.Builder
	length, fits := 0, 0 // fits is the part of b that leaves room for "…"
	space := false
	for _, piece := range pieces(s) {
		if piece == "\n" || piece == "\t" || piece == " " || piece == "" {
			space = b.Len() > 0
			continue
		}
		if space {
			piece, space = " "+piece, false
		}
		if length += utf8.RuneCountInString(piece); length > n {
			return strings.TrimRight(b.String()[:fits], " ") + "…"
		}
		b.WriteString(piece)
		if length < n {
			fits = b.Len()
		}
	}
	return b.String()
}

// maxLines bounds the lines of a [Block], so that it cannot push earlier lines off the screen.
const maxLines = 100

// Block is like [Escape], for a text of several lines. It indents each line by two
// spaces, shows at most n characters and 100 lines, and says how much is omitted. A negative n counts as 0.
func Block(s string, n int) string {
	var b strings.Builder
	s = strings.Trim(s, " \n\t")
	length, lines, more := 0, 1, 0
	for r, piece := range pieces(s) {
		if r == '\n' {
			lines++
		}
		if length += utf8.RuneCountInString(piece); more > 0 || length > n || lines > maxLines {
			more++
			continue
		}
		b.WriteString(piece)
	}
	if more > 0 {
		fmt.Fprintf(&b, "…\n(%s not shown)", characters(more))
	}
	return Indent(b.String())
}

// Indent puts two spaces before each line that is not empty.
func Indent(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		if line != "\n" {
			b.WriteString("  ")
		}
		b.WriteString(line)
	}
	return b.String()
}

func characters(n int) string {
	if n == 1 {
		return "1 more character is"
	}
	return fmt.Sprintf("%d more characters are", n)
}

// Quote returns the text as a Go string literal, with an escape for each invisible character.
func Quote(s string) string {
	return Escape(strconv.Quote(s))
}

// pieces returns the characters of a text, each with its form by [Escape].
func pieces(s string) iter.Seq2[rune, string] {
	return func(yield func(rune, string) bool) {
		before := rune(0)
		for i := 0; i < len(s); {
			r, size := utf8.DecodeRuneInString(s[i:])
			after, _ := utf8.DecodeRuneInString(s[i+size:])
			piece := string(r)
			switch {
			case r == '\n', r == '\t', inEmoji(before, r, after):
			case r == '\r' && after == '\n':
				piece = ""
			case unicode.Is(unicode.Zs, r):
				piece = " "
			case !isVisible(r):
				piece = escape(r)
			}
			if !yield(r, piece) {
				return
			}
			before = r
			i += size
		}
	}
}

// isVisible reports whether a character is visible in this version of Unicode. Of all
// spaces, only the normal one counts as visible.
func isVisible(r rune) bool { return unicode.IsPrint(r) && !isHidden(r) }

// isHidden reports whether a character is known to be invisible, or for private use.
func isHidden(r rune) bool {
	switch r {
	case '\u2800', '\U00016fe4', '\U0001d159': // blank characters among symbols and marks
		return true
	}
	return unicode.In(r, unicode.C, unicode.Zl, unicode.Zp,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// inEmoji reports whether a character is a selector after a symbol, or a joiner
// between two symbols. So at most two invisible characters stand between symbols.
func inEmoji(before, r, after rune) bool {
	switch r {
	case textSelector, emojiSelector:
		return isSymbol(before)
	case joiner:
		return (isSymbol(before) || before == emojiSelector) && isSymbol(after)
	}
	return false
}

func isSymbol(r rune) bool {
	return r > 0xff && r != utf8.RuneError && unicode.IsSymbol(r) && !isHidden(r)
}

// escape returns Go's escape of an invisible character.
func escape(r rune) string {
	switch {
	case r < utf8.RuneSelf:
		return fmt.Sprintf(`\x%02x`, r)
	case r <= 0xffff:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}

// JSONLine writes JSON on one line, with the escapes of [EscapeJSON]. It quotes text that is not JSON.
func JSONLine(text string) string {
	var line bytes.Buffer
	if err := json.Compact(&line, []byte(text)); err != nil {
		return Quote(text)
	}
	return EscapeJSON(line.String())
}

// EscapeJSON returns the same JSON value with an escape for each invisible character, and for each
// space except the normal one. It keeps line breaks and tabs between tokens, and drops carriage returns there.
func EscapeJSON(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r == '\r' {
			continue // JSON has none within a string
		}
		if r == '\n' || r == '\t' || isVisible(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

// NewWriter returns a writer that writes [Prose] to w, for the output of an untrusted program on the terminal. It keeps
// an incomplete character until the next Write. It is for one goroutine at a time.
func NewWriter(w io.Writer) io.Writer { return &writer{w: w} }

type writer struct {
	w    io.Writer
	rest []byte // the first bytes of an incomplete character
}

// Write writes the complete characters, and keeps the beginning of an incomplete one for the next call.
func (w *writer) Write(p []byte) (int, error) {
	text := append(w.rest, p...)
	end := len(text)
	for i := 1; i < utf8.UTFMax && i <= len(text); i++ {
		if at := len(text) - i; utf8.RuneStart(text[at]) {
			if !utf8.FullRune(text[at:]) {
				end = at
			}
			break
		}
	}
	w.rest = append([]byte(nil), text[end:]...)
	if _, err := io.WriteString(w.w, Prose(string(text[:end]))); err != nil {
		return 0, err
	}
	return len(p), nil
}
