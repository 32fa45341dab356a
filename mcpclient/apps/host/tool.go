package host

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// errOrder says that the host told a view of its tool call in a wrong order.
var errOrder = errors.New("the view was told the arguments already, or not yet")

// ToolInputPartial tells the view the arguments as far as the model has written them, a
// JSON object with what was open closed. A view that is slow gets the latest. It does nothing after
// ToolInput. The error says that the arguments are no JSON object, or are over Limits.Outgoing.
func (s *Session) ToolInputPartial(arguments json.RawMessage) error {
	message, err := s.arguments("ui/notifications/tool-input-partial", arguments)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tool == 0 {
		s.partial = message
		s.wakeLocked()
	}
	return nil
}

// ToolInput tells the view the arguments of the call for which it is shown, once. None are {}. It
// does not wait for the view. The error is for a second call, and for arguments that are no
// JSON object or larger than Limits.Outgoing.
func (s *Session) ToolInput(arguments json.RawMessage) error {
	message, err := s.arguments("ui/notifications/tool-input", arguments)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tool != 0 {
		return errOrder
	}
	s.tool, s.partial, s.input = toldInput, nil, message
	s.wakeLocked()
	return nil
}

// ToolResult tells the view what the call came to, once and after ToolInput. The error is for another
// order, and for a result that is larger than Limits.Outgoing.
func (s *Session) ToolResult(result *mcp.CallToolResult) error {
	params, err := jsonrpc.Marshal(result)
	if err != nil {
		return fmt.Errorf("tell the view a result: %w", err)
	}
	return s.outcomeIs("ui/notifications/tool-result", params)
}

// ToolCancelled tells the view that the call came to nothing, once and in the place of
// ToolResult, also before ToolInput. Errors: see ToolResult.
func (s *Session) ToolCancelled(reason string) error {
	params, err := jsonrpc.Marshal(map[string]string{"reason": reason})
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.partial = nil
	if s.tool == 0 { // cancelled before the arguments were complete
		s.tool = toldInput
	}
	s.mu.Unlock()
	return s.outcomeIs("ui/notifications/tool-cancelled", params)
}

// How much of its call a view has been told.
const (
	toldInput = iota + 1
	toldOutcome
)

func (s *Session) outcomeIs(method string, params []byte) error {
	if len(params) > s.opts.Limits.Outgoing {
		return fmt.Errorf("%s: over %d bytes (Limits.Outgoing)", method, s.opts.Limits.Outgoing)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tool != toldInput {
		return errOrder
	}
	s.tool, s.outcome = toldOutcome, jsonrpc.AppendNotification(nil, method, params)
	s.wakeLocked()
	return nil
}

// arguments makes a notification about arguments, an object.
func (s *Session) arguments(method string, arguments json.RawMessage) ([]byte, error) {
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	compact, err := jsonrpc.Compact(arguments)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", method, err)
	case !jsonrpc.IsObject(compact):
		return nil, fmt.Errorf("%s: the arguments are no object", method)
	case len(compact) > s.opts.Limits.Outgoing:
		return nil, fmt.Errorf("%s: over %d bytes (Limits.Outgoing)", method, s.opts.Limits.Outgoing)
	}
	params := jsonrpc.CloseObject(jsonrpc.AppendMember([]byte{'{'}, "arguments", compact))
	return jsonrpc.AppendNotification(nil, method, params), nil
}

// ServerToolsChanged and ServerResourcesChanged tell the view that its server has other
// tools or resources.
func (s *Session) ServerToolsChanged() { s.listChanged(&s.tools) }

// ServerResourcesChanged is explained at [Session.ServerToolsChanged].
func (s *Session) ServerResourcesChanged() { s.listChanged(&s.resources) }

func (s *Session) listChanged(flag *bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*flag = s.greeted // a view that begins later asks later
	s.wakeLocked()
}
