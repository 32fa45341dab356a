package adapter

import "github.com/mcpchain/mcpchain/internal/excerpt"

// minResult is the smallest Policy.MaxResult. It leaves room for the note about the gap.
const minResult = 256

// shorten keeps the first three quarters and the last quarter of limit bytes of a longer text,
// with a note of the gap's size between them. The result is within limit.
func shorten(text string, limit int) string { return excerpt.Shorten(text, limit, nil) }

// cut shortens text to n bytes, including the mark of the cut.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return text[:excerpt.Before(text, n-len("…"))] + "…"
}
