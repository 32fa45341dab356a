package host

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// errOutOfOrder is the error of a message about a tool call in the wrong order.
var errOutOfOrder = errors.New("view was told the arguments already, or not yet")

// toolPhase records which messages about the call were queued for the view.
type toolPhase int

const (
	nothingSent toolPhase = iota
	inputSent
	outcomeSent
)

// callMessage is a message about the call for which a view is shown.
type callMessage string

const (
	fullInput  callMessage = "ui/notifications/tool-input"
	callResult callMessage = "ui/notifications/tool-result"
	cancelled  callMessage = "ui/notifications/tool-cancelled"
)

// ToolInput sends the view the arguments of the call for which it is shown, once; empty
// arguments are {}. It does not wait for the view. It returns an error for a second call, and
// for arguments that are not a JSON object or exceed Limits.Outgoing.
func (s *Session) ToolInput(arguments json.RawMessage) error {
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	compact, err := jsonrpc.OneLine(arguments)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", fullInput, err)
	case !jsonrpc.IsObject(compact):
		return fmt.Errorf("%s: arguments are not an object", fullInput)
	}
	return s.sendAboutCall(fullInput, jsonrpc.CloseObject(jsonrpc.AppendMember([]byte{'{'}, "arguments", compact)))
}

// ToolResult sends the view the result of the call, once and after ToolInput. It returns an
// error in another order, and for a result that exceeds Limits.Outgoing.
func (s *Session) ToolResult(result *mcp.CallToolResult) error {
	params, err := jsonrpc.Marshal(result)
	if err != nil {
		return fmt.Errorf("tell the view a result: %w", err)
	}
	return s.sendAboutCall(callResult, params)
}

// ToolCancelled notifies the view that the call was cancelled, once and instead of ToolResult,
// possibly before ToolInput. Its errors are like ToolResult's.
func (s *Session) ToolCancelled(reason string) error {
	params, err := jsonrpc.Marshal(map[string]string{"reason": reason})
	if err != nil {
		return err
	}
	return s.sendAboutCall(cancelled, params)
}

// sendAboutCall sends a message about the call, if it is within Limits.Outgoing.
func (s *Session) sendAboutCall(kind callMessage, params []byte) error {
	if len(params) > s.opts.Limits.Outgoing {
		return fmt.Errorf("%s: over %d bytes (Limits.Outgoing)", kind, s.opts.Limits.Outgoing)
	}
	return s.out.queueAboutCall(kind, jsonrpc.AppendNotification(nil, string(kind), params))
}

// queueAboutCall queues a message about the call. It returns errOutOfOrder for one out of order.
func (o *outbox) queueAboutCall(kind callMessage, message []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case kind == fullInput && o.tool == nothingSent:
		o.tool, o.input = inputSent, message
	case kind == callResult && o.tool == inputSent, kind == cancelled && o.tool != outcomeSent: // which may lack its input
		o.tool, o.outcome = outcomeSent, message
	default:
		return errOutOfOrder
	}
	o.wakeUp()
	return nil
}
