package mcpclient

import (
	"encoding/json"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// Progress is one notice about a call that is under way.
type Progress struct {
	Progress float64  `json:"progress"`
	Total    *float64 `json:"total,omitempty"` // nil when unknown
	Message  string   `json:"message,omitempty"`
}

// progressed brings a progress notice to its call. The token of a call is its
// id; notices for other tokens are ignored, as the call may have ended.
func (l *link) progressed(params json.RawMessage) {
	var p struct {
		Token json.RawMessage `json:"progressToken"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	m := jsonrpc.Message{ID: p.Token}
	if id, _, ok := m.IntID(); ok {
		if call, ok := l.calls.Find(id); ok {
			call.Note(params)
		}
	}
}

// tellProgress decodes a notice for a caller who asked for them.
func tellProgress(fn func(Progress), params json.RawMessage) {
	var p Progress
	if fn != nil && json.Unmarshal(params, &p) == nil {
		fn(p)
	}
}
