package host

import (
	"encoding/json"
	"math"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// notification takes a notification of the view.
func (s *Session) notification(m jsonrpc.Message) {
	s.mu.Lock()
	begun := s.begun
	within, _ := s.notifications.take(s.opts.Limits.Notifications)
	s.mu.Unlock()
	if !within {
		s.warn("more notifications than Limits.Notifications in a minute")
		return
	}
	if m.Method == "ui/notifications/initialized" {
		s.begin()
		return
	}
	if !begun {
		s.warn("a notification before the view is initialized", "method", excerpt.Cut(m.Method))
		return
	}
	switch m.Method {
	case "ui/notifications/size-changed":
		s.resized(m.Params)
	case "ui/notifications/request-teardown":
		s.tell(m.Method, true, s.opts.OnCloseRequest)
	case "notifications/message":
		note := mcp.Notification{Method: m.Method, Params: m.Params}
		if said, ok := note.LogMessage(); ok && said.Level.Known() && s.opts.OnLog != nil {
			s.tell(m.Method, false, func() { s.opts.OnLog(&said) })
		}
	case "notifications/cancelled":
		s.cancelled(m.Params)
	case "notifications/tools/list_changed":
		s.tell(m.Method, true, s.opts.OnToolsChanged)
	default:
		s.opts.Logger.Debug("a notification of the view that means nothing here", "method", excerpt.Cut(m.Method))
	}
}

// begin makes the view one that may be talked to.
func (s *Session) begin() {
	s.mu.Lock()
	first := s.greeted && !s.begun
	s.begun = s.begun || first
	s.mu.Unlock()
	if !first {
		s.warn("ui/notifications/initialized out of order")
		return
	}
	close(s.ready)
	s.mu.Lock()
	s.wakeLocked()
	s.mu.Unlock()
	s.tell("ui/notifications/initialized", true, s.opts.OnReady)
}

// maxPixels bounds a size that a view tells.
const maxPixels = 100_000

func (s *Session) resized(params json.RawMessage) {
	var size struct{ Width, Height *float64 }
	if json.Unmarshal(params, &size) != nil {
		s.warn("a size that cannot be read")
		return
	}
	for _, n := range []*float64{size.Width, size.Height} {
		if n != nil && !(*n >= 0 && *n <= maxPixels) || n != nil && math.IsNaN(*n) {
			s.warn("a size out of bounds", "pixels", *n)
			return
		}
	}
	if s.opts.OnSize != nil {
		s.tell("ui/notifications/size-changed", true, func() { s.opts.OnSize(size.Width, size.Height) })
	}
}

// cancelled ends a request that the view has given up.
func (s *Session) cancelled(params json.RawMessage) {
	id := jsonrpc.Lookup(params, "requestId")
	s.mu.Lock()
	cancel := s.serving[string(id)]
	s.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}
