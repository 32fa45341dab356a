package mcp

import (
	"strconv"

	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// Progress is one notice about a call that is under way.
type Progress struct {
	Progress float64  `json:"progress"`
	Total    *float64 `json:"total,omitempty"` // nil when unknown
	Message  string   `json:"message,omitempty"`
}

// String is how far the call is, for logs: `1 of 2: "reading"`. The message is cut
// to 1 KiB.
func (p Progress) String() string {
	s := decimal(p.Progress)
	if p.Total != nil {
		s += " of " + decimal(*p.Total)
	}
	if p.Message != "" {
		s += ": " + strconv.Quote(excerpt.Cut(p.Message))
	}
	return s
}

func decimal(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
