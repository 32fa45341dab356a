package hosttext

import (
	"io"
	"unicode/utf8"
)

// NewWriter returns a writer that writes [Prose] to w, for the output of an untrusted program on
// the terminal. It keeps an incomplete character until the next Write. It is for one goroutine at a
// time.
func NewWriter(w io.Writer) io.Writer { return &writer{w: w} }

type writer struct {
	w    io.Writer
	rest []byte // the first bytes of an incomplete character
}

// Write writes the complete characters, and keeps the beginning of an incomplete one for the next
// call.
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
