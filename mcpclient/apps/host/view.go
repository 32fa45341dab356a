package host

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// view is what is known about the view, and what the view knows about the host.
type view struct {
	out *outbox

	mu      sync.Mutex                 // may be held while out is locked, never the reverse
	greeted bool                       // ui/initialize was answered
	ready   bool                       // ui/notifications/initialized was received
	modes   []string                   // the modes that the view declared; empty: all
	offered []string                   // the modes of the host
	mode    string                     // in which the view is shown
	known   map[string]json.RawMessage // the members of the host's context that the view knows
}

func newView(c HostContext, out *outbox) (*view, error) {
	known, err := c.encode()
	if err != nil {
		return nil, err
	}
	return &view{out: out, offered: slices.Clone(c.AvailableDisplayModes), mode: c.DisplayMode, known: known}, nil
}

// phase returns the progress of the handshake.
func (v *view) phase() (greeted, ready bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.greeted, v.ready
}

// greet records the modes that a view supports, and returns the host's context for it.
func (v *view) greet(modes []string) map[string]json.RawMessage {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.greeted, v.modes = true, modes
	return maps.Clone(v.known)
}

// setReady allows the host to send to the view. It reports whether the view may begin now.
func (v *view) setReady() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.greeted || v.ready {
		return false
	}
	v.ready = true
	v.out.allowNotifications()
	return true
}

// setContext implements [Session.SetContext].
func (v *view) setContext(c HostContext) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	c.DisplayMode = cmp.Or(c.DisplayMode, v.mode)
	now, err := c.encode()
	if err != nil {
		return err
	}
	if c.DisplayMode != v.mode && !v.supportsLocked(c.DisplayMode) {
		return fmt.Errorf("view cannot be shown in the mode %q", c.DisplayMode)
	}
	v.mode = c.DisplayMode
	if c.AvailableDisplayModes != nil {
		v.offered = slices.Clone(c.AvailableDisplayModes)
	}
	v.changeLocked(now)
	return nil
}

// changeLocked queues the members that the view does not know for it.
func (v *view) changeLocked(now map[string]json.RawMessage) {
	changed := map[string]json.RawMessage{}
	for name, value := range now {
		if !bytes.Equal(v.known[name], value) {
			v.known[name], changed[name] = value, value
		}
	}
	if v.greeted {
		v.out.contextChanged(changed)
	}
}

// setMode records the mode in which the view is shown now, if host and view support it.
func (v *view) setMode(mode string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.canShowLocked(mode) {
		v.mode = mode
		v.changeLocked(map[string]json.RawMessage{"displayMode": jsonrpc.AppendString(nil, mode)})
	}
}

// displayMode returns the mode in which the view is shown, and whether another one can replace it.
func (v *view) displayMode(other string) (mode string, canChange bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.mode, other != v.mode && v.canShowLocked(other)
}

// supportsLocked reports whether the view supports a mode.
func (v *view) supportsLocked(mode string) bool {
	return len(v.modes) == 0 || slices.Contains(v.modes, mode)
}

// canShowLocked reports whether both host and view support a mode.
func (v *view) canShowLocked(mode string) bool {
	return slices.Contains(v.offered, mode) && v.supportsLocked(mode)
}

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
	if c.DisplayMode == "" {
		c.DisplayMode = "inline"
	}
	raw, err := jsonrpc.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode the context of the host: %w", err)
	}
	members := map[string]json.RawMessage{}
	return members, json.Unmarshal(raw, &members)
}
