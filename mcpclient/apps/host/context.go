package host

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// HostContext describes the host to its views. Fields that are not set are left out. A display mode is "inline",
// "fullscreen" or "pip" (picture in picture).
type HostContext struct {
	ToolInfo              *ToolInfo   `json:"toolInfo,omitempty"`
	Theme                 string      `json:"theme,omitempty"`       // "light" or "dark"
	DisplayMode           string      `json:"displayMode,omitempty"` // default inline
	AvailableDisplayModes []string    `json:"availableDisplayModes,omitempty"`
	ContainerDimensions   *Dimensions `json:"containerDimensions,omitempty"`
	Locale                string      `json:"locale,omitempty"`   // BCP 47, as "en-US"
	TimeZone              string      `json:"timeZone,omitempty"` // IANA, as "Europe/Rome"
	Platform              string      `json:"platform,omitempty"` // "web", "desktop" or "mobile"
}

// ToolInfo is the tool call for which the view is shown.
type ToolInfo struct {
	ID   json.RawMessage `json:"id,omitempty"` // of the request tools/call to the server, a number or a string
	Tool *mcp.Tool       `json:"tool"`
}

// Dimensions are the size of the frame in pixels: fixed, up to a maximum, or chosen by the view.
type Dimensions struct {
	Height    *float64 `json:"height,omitempty"`
	MaxHeight *float64 `json:"maxHeight,omitempty"`
	Width     *float64 `json:"width,omitempty"`
	MaxWidth  *float64 `json:"maxWidth,omitempty"`
}

// encode returns the context by member, and sets DisplayMode if it is empty.
func (c *HostContext) encode() (map[string]json.RawMessage, error) {
	c.DisplayMode = cmp.Or(c.DisplayMode, "inline")
	raw, err := jsonrpc.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode the context of the host: %w", err)
	}
	members := map[string]json.RawMessage{}
	return members, json.Unmarshal(raw, &members)
}
