package mcp

// Progress is one notice about a call that is under way.
type Progress struct {
	Progress float64  `json:"progress"`
	Total    *float64 `json:"total,omitempty"` // nil when unknown
	Message  string   `json:"message,omitempty"`
}
