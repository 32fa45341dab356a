package adapter

import "github.com/mcpchain/mcpchain/internal/excerpt"

// minResult is the least bound of a result's text, in bytes. It leaves room to say what was cut.
const minResult = 256

// shorten cuts text to limit bytes, see [excerpt.Shorten].
func shorten(text string, limit int) string { return excerpt.Shorten(text, limit, nil) }
