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

// toolPhase is how much of its call a view has been told.
type toolPhase int

const (
	toldNothing toolPhase = iota
	toldInput
	toldOutcome
)

// ToolInputPartial tells the view the arguments as far as the model has written them, a
// JSON object with what was open closed. A view that is slow gets the latest. It does nothing after
// ToolInput. The error says that the arguments are not a JSON object, or are over Limits.Outgoing.
func (s *Session) ToolInputPartial(arguments json.RawMessage) error {
	message, err := s.arguments("ui/notifications/tool-input-partial", arguments)
	if err != nil {
		return err
	}
	s.out.partialInput(message)
	return nil
}

// ToolInput tells the view the arguments of the call for which it is shown, once. None are {}. It
// does not wait for the view. It returns an error for a second call, and for arguments that are not a
// JSON object or are larger than Limits.Outgoing.
func (s *Session) ToolInput(arguments json.RawMessage) error {
	message, err := s.arguments("ui/notifications/tool-input", arguments)
	if err != nil {
		return err
	}
	return s.out.toolInput(message)
}

// ToolResult tells the view the result of the call, once and after ToolInput. It returns an error in another
// order, and for a result that is larger than Limits.Outgoing.
func (s *Session) ToolResult(result *mcp.CallToolResult) error {
	params, err := jsonrpc.Marshal(result)
	if err != nil {
		return fmt.Errorf("tell the view a result: %w", err)
	}
	message, err := s.notification("ui/notifications/tool-result", params)
	if err != nil {
		return err
	}
	return s.out.toolOutcome(message, false)
}

// ToolCancelled tells the view that the call was cancelled, once and instead of
// ToolResult, also before ToolInput. Errors: see ToolResult.
func (s *Session) ToolCancelled(reason string) error {
	params, err := jsonrpc.Marshal(map[string]string{"reason": reason})
	if err != nil {
		return err
	}
	message, err := s.notification("ui/notifications/tool-cancelled", params)
	if err != nil {
		return err
	}
	return s.out.toolOutcome(message, true)
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
		return nil, fmt.Errorf("%s: arguments are not an object", method)
	}
	return s.notification(method, jsonrpc.CloseObject(jsonrpc.AppendMember([]byte{'{'}, "arguments", compact)))
}

func (s *Session) notification(method string, params []byte) ([]byte, error) {
	if len(params) > s.opts.Limits.Outgoing {
		return nil, fmt.Errorf("%s: over %d bytes (Limits.Outgoing)", method, s.opts.Limits.Outgoing)
	}
	return jsonrpc.AppendNotification(nil, method, params), nil
}

func (o *outbox) partialInput(message []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.tool == toldNothing {
		o.partial = message
		o.wakeUp()
	}
}

func (o *outbox) toolInput(message []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.tool != toldNothing {
		return errOrder
	}
	o.tool, o.partial, o.input = toldInput, nil, message
	o.wakeUp()
	return nil
}

// toolOutcome sends the outcome of the call. Only a cancelled call may lack its input.
func (o *outbox) toolOutcome(message []byte, cancelled bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.tool != toldInput && !(cancelled && o.tool == toldNothing) {
		return errOrder
	}
	o.tool, o.partial, o.outcome = toldOutcome, nil, message
	o.wakeUp()
	return nil
}
