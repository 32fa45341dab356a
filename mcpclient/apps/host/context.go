package host

import (
	"encoding/json"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// DisplayMode is how a view is shown.
type DisplayMode string

// The display modes. Inline is the mode of views that say nothing.
const (
	DisplayInline     DisplayMode = "inline"
	DisplayFullscreen DisplayMode = "fullscreen"
	DisplayPIP        DisplayMode = "pip" // picture in picture
)

// Context is what a view is told of the host. What is not set is left out.
type Context struct {
	ToolInfo              *ToolInfo     `json:"toolInfo,omitempty"`
	Theme                 string        `json:"theme,omitempty"`       // "light" or "dark"
	DisplayMode           DisplayMode   `json:"displayMode,omitempty"` // default Inline
	AvailableDisplayModes []DisplayMode `json:"availableDisplayModes,omitempty"`
	ContainerDimensions   *Dimensions   `json:"containerDimensions,omitempty"`
	Locale                string        `json:"locale,omitempty"`   // BCP 47, as "en-US"
	TimeZone              string        `json:"timeZone,omitempty"` // IANA, as "Europe/Rome"
	Platform              string        `json:"platform,omitempty"` // "web", "desktop" or "mobile"
}

// ToolInfo is the call of a tool for which the view is shown.
type ToolInfo struct {
	ID   json.RawMessage `json:"id,omitempty"` // of the request, a number or a string
	Tool *mcp.Tool       `json:"tool"`
}

// Dimensions are the size of the frame, in pixels: fixed, or up to a maximum at the view's
// choice, or at its choice alone.
type Dimensions struct {
	Height    *float64 `json:"height,omitempty"`
	MaxHeight *float64 `json:"maxHeight,omitempty"`
	Width     *float64 `json:"width,omitempty"`
	MaxWidth  *float64 `json:"maxWidth,omitempty"`
}

// encode returns the context by its members.
func (c *Context) encode() (map[string]json.RawMessage, error) {
	if c.DisplayMode == "" {
		c.DisplayMode = DisplayInline
	}
	raw, err := jsonrpc.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode the context of the host: %w", err)
	}
	members := map[string]json.RawMessage{}
	return members, json.Unmarshal(raw, &members)
}
