package mcp

import "encoding/json"

// Root is a place that the server may work in. Roots are advice: they restrict
// nothing. Revision 2026-07-28 deprecates them; they work in both eras.
type Root struct {
	URI  string          `json:"uri"` // starts with file://
	Name string          `json:"name,omitempty"`
	Meta json.RawMessage `json:"_meta,omitempty"`
}
