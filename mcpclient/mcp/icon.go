package mcp

import (
	"encoding/json"
	"strings"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// Icon is an image for a user interface.
type Icon struct {
	Src      string   `json:"src"`
	MIMEType string   `json:"mimeType,omitempty"`
	Sizes    []string `json:"sizes,omitempty"` // "48x48", or "any"; from one string the first 64
	Theme    string   `json:"theme,omitempty"`
}

// maxSizes bounds the sizes that are read from one string.
const maxSizes = 64

// UnmarshalJSON implements [json.Unmarshaler]. Sizes may be one string with blanks between them, as
// in drafts of revision 2025-11-25; in any other form they are left out.
func (i *Icon) UnmarshalJSON(data []byte) error {
	type members Icon
	*i = Icon{}
	read := struct {
		*members
		Sizes json.RawMessage `json:"sizes"`
	}{members: (*members)(i)}
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	text, ok := jsonrpc.String(read.Sizes)
	if !ok {
		i.Sizes = stringsOf(read.Sizes)
	}
	for size := range strings.FieldsSeq(text) {
		if len(i.Sizes) == maxSizes {
			break
		}
		i.Sizes = append(i.Sizes, size)
	}
	return nil
}
