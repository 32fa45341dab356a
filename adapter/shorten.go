package adapter

import "github.com/mcpchain/mcpchain/internal/excerpt"

// minResult is the smallest bound of a result's text that leaves room for saying
// what was cut.
const minResult = 256

// shorten keeps the head and the tail of a text over limit bytes, three to one,
// and says in between how much is missing. The result is within limit.
func shorten(text string, limit int) string { return excerpt.Shorten(text, limit, nil) }

// cut limits text to n bytes, the mark of the cut included.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return text[:excerpt.Before(text, n-len("…"))] + "…"
}
