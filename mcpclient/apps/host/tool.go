package host

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// errOrder is the error of a message about a tool call in the wrong order.
var errOrder = errors.New("the view was told the arguments already, or not yet")

// toolPhase is what a view has been told about its call.
type toolPhase int

const (
	toldNothing toolPhase = iota
	toldInput
	toldOutcome
)

// ToolInputPartial sends the view the arguments as far as the model has written them, a JSON object
// with open brackets closed. A slow view gets the latest. After ToolInput it does nothing. It
// returns an error if the arguments are not a JSON object, or exceed Limits.Outgoing.
func (s *Session) ToolInputPartial(arguments json.RawMessage) error {
	message, err := s.arguments("ui/notifications/tool-input-partial", arguments)
	if err != nil {
		return err
	}
	s.out.partialInput(message)
	return nil
}

// ToolInput sends the view the arguments of the call for which it is shown, once; empty
// arguments are {}. It does not wait for the view. It returns an error for a second call, and
// for arguments that are not a JSON object or exceed Limits.Outgoing.
func (s *Session) ToolInput(arguments json.RawMessage) error {
	message, err := s.arguments("ui/notifications/tool-input", arguments)
	if err != nil {
		return err
	}
	return s.out.toolInput(message)
}

// ToolResult sends the view the result of the call, once and after ToolInput. It returns an
// error in another order, and for a result that exceeds Limits.Outgoing.
func (s *Session) ToolResult(result *mcp.CallToolResult) error {
	params, err := jsonrpc.Marshal(result)
	if err != nil {
		return fmt.Errorf("tell the view a result: %w", err)
	}
	message, err := s.notification("ui/notifications/tool-result", params)
	if err != nil {
		return err
	}
	return s.out.toolResult(message)
}

// ToolCancelled tells the view that the call was cancelled, once and instead of ToolResult,
// possibly before ToolInput. Its errors are those of ToolResult.
func (s *Session) ToolCancelled(reason string) error {
	params, err := jsonrpc.Marshal(map[string]string{"reason": reason})
	if err != nil {
		return err
	}
	message, err := s.notification("ui/notifications/tool-cancelled", params)
	if err != nil {
		return err
	}
	return s.out.toolCancelled(message)
}

// arguments returns a notification with arguments, an object.
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
	o.tool = toldInput
	o.partial = nil
	o.input = message
	o.wakeUp()
	return nil
}

func (o *outbox) toolResult(message []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.tool != toldInput {
		return errOrder
	}
	o.outcomeLocked(message)
	return nil
}

// toolCancelled queues the end of a call, which may lack its input.
func (o *outbox) toolCancelled(message []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.tool == toldOutcome {
		return errOrder
	}
	o.outcomeLocked(message)
	return nil
}

func (o *outbox) outcomeLocked(message []byte) {
	o.tool = toldOutcome
	o.partial = nil
	o.outcome = message
	o.wakeUp()
}
