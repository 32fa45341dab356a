package mcp

// Progress is a progress notification of a call.
type Progress struct {
	Progress float64  `json:"progress"`
	Total    *float64 `json:"total,omitempty"` // nil when unknown
	Message  string   `json:"message,omitempty"`
}
