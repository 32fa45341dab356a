package host

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// DisplayMode is how a view is shown.
type DisplayMode string

// The display modes. Inline is the mode of views that say nothing.
const (
	Inline     DisplayMode = "inline"
	Fullscreen DisplayMode = "fullscreen"
	PIP        DisplayMode = "pip" // picture in picture
)

// Context is what a view is told of the host. What is not set is left out.
type Context struct {
	ToolInfo              *ToolInfo     `json:"toolInfo,omitempty"`
	Theme                 string        `json:"theme,omitempty"` // "light" or "dark"
	Styles                *Styles       `json:"styles,omitempty"`
	DisplayMode           DisplayMode   `json:"displayMode,omitempty"` // default Inline
	AvailableDisplayModes []DisplayMode `json:"availableDisplayModes,omitempty"`
	ContainerDimensions   *Dimensions   `json:"containerDimensions,omitempty"`
	Locale                string        `json:"locale,omitempty"`   // BCP 47, as "en-US"
	TimeZone              string        `json:"timeZone,omitempty"` // IANA, as "Europe/Rome"
	UserAgent             string        `json:"userAgent,omitempty"`
	Platform              string        `json:"platform,omitempty"` // "web", "desktop" or "mobile"
	DeviceCapabilities    *Device       `json:"deviceCapabilities,omitempty"`
	SafeAreaInsets        *Insets       `json:"safeAreaInsets,omitempty"`
}

// ToolInfo is the call of a tool for which the view is shown.
type ToolInfo struct {
	ID   json.RawMessage `json:"id,omitempty"` // of the request, a number or a string
	Tool *mcp.Tool       `json:"tool"`
}

// Styles are the look of the host.
type Styles struct {
	Variables map[string]string `json:"variables,omitempty"` // of CSS, as "--color-text-primary"
	CSS       *StyleSheets      `json:"css,omitempty"`
}

// StyleSheets are blocks of CSS for views.
type StyleSheets struct {
	Fonts string `json:"fonts,omitempty"`
}

// Dimensions are the size of the frame, in pixels: fixed, or up to a maximum at the view's
// choice, or at its choice alone.
type Dimensions struct {
	Height    *float64 `json:"height,omitempty"`
	MaxHeight *float64 `json:"maxHeight,omitempty"`
	Width     *float64 `json:"width,omitempty"`
	MaxWidth  *float64 `json:"maxWidth,omitempty"`
}

// Device is what the person's device can do.
type Device struct {
	Touch bool `json:"touch,omitempty"`
	Hover bool `json:"hover,omitempty"`
}

// Insets are the edges of the screen that are not safe, in pixels.
type Insets struct {
	Top    float64 `json:"top"`
	Right  float64 `json:"right"`
	Bottom float64 `json:"bottom"`
	Left   float64 `json:"left"`
}

// encode returns the context by its members.
func (c *Context) encode() (map[string]json.RawMessage, error) {
	if c.DisplayMode == "" {
		c.DisplayMode = Inline
	}
	raw, err := jsonrpc.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode the context of the host: %w", err)
	}
	members := map[string]json.RawMessage{}
	return members, json.Unmarshal(raw, &members)
}

// SetContext tells the view what has changed in the context of the host. A view that has
// begun is told the members that differ. A member that is not set stays as the view knows it;
// so do the display mode and the modes that are available. The error says that the view
// cannot be shown in the mode.
func (s *Session) SetContext(c Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.DisplayMode = cmp.Or(c.DisplayMode, s.context.DisplayMode)
	if c.AvailableDisplayModes == nil {
		c.AvailableDisplayModes = s.context.AvailableDisplayModes
	}
	now, err := c.encode()
	if err != nil {
		return err
	}
	if c.DisplayMode != s.context.DisplayMode && !s.app.shows(c.DisplayMode) {
		return fmt.Errorf("the view cannot be shown in the mode %q", c.DisplayMode)
	}
	s.changeLocked(c, now)
	return nil
}

// changeLocked takes a new context and has the view told.
func (s *Session) changeLocked(c Context, now map[string]json.RawMessage) {
	s.context = c
	for name, value := range now {
		if bytes.Equal(s.told[name], value) {
			continue
		}
		s.told[name] = value
		if s.greeted {
			s.changed[name] = value
		}
	}
	s.wakeLocked()
}

// DisplayMode is the mode in which the view is shown.
func (s *Session) DisplayMode() DisplayMode {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.context.DisplayMode
}

// shows reports whether the view can be shown in a mode.
func (a *App) shows(mode DisplayMode) bool {
	return len(a.DisplayModes) == 0 || slices.Contains(a.DisplayModes, mode)
}

// offersLocked reports whether host and view have a mode.
func (s *Session) offersLocked(mode DisplayMode) bool {
	return slices.Contains(s.context.AvailableDisplayModes, mode) && s.app.shows(mode)
}
