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
