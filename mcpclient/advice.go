package mcpclient

import (
	"errors"
	"strings"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// askAdvice is for tools that ask by requests of the server.
const askAdvice = "the tool asks by a request of its server, which this revision of the protocol does not have: " +
	"connect with " + mcp.Revision20251125 + ", by Options.Protocol.Revision, adapter.Server.Revision or \"revision\" in mcp.json"

// refusedToAsk are words by which the SDKs of servers refuse to send a request in the
// modern era: mcp-go 1.2, go-sdk 1.8, and any that hands on how we refuse one.
var refusedToAsk = []string{
	"server-initiated request",
	"cannot be sent while serving a request on protocol version",
	"multi round-trip request",
	noRequests,
}

// noRequests is how a request of a modern server is refused.
const noRequests = "this revision has no requests of the server"

// failedToAsk reports whether a tool says that it failed because its server may not
// send requests.
func (c *Client) failedToAsk(text string) bool {
	if c.current().answers() {
		return false
	}
	for _, words := range refusedToAsk {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// advisedError is the error of a call with what its caller can do about it.
type advisedError struct {
	error
	advice string
}

func (e *advisedError) Error() string { return e.error.Error() + " (" + e.advice + ")" }
func (e *advisedError) Unwrap() error { return e.error }

// Advice is what a host can do about the error of a tool call, its result's
// [*mcp.ToolError] included; "" where nothing is known. The error's text has it, too.
func Advice(err error) string {
	if e, ok := errors.AsType[*advisedError](err); ok {
		return e.advice
	}
	if e, ok := errors.AsType[*mcp.ToolError](err); ok {
		return e.Advice
	}
	return ""
}

// advised adds to the error of a call what its caller can do about it: have the tool
// ask in another revision, or call it as a task. For that the server answers
// "MissingRequiredClientCapability" (code -32021) and names the extension, or in
// revision 2025-11-25 "Method not found", which it may say of other things.
func (c *Client) advised(r *request, o *callOptions, err error) error {
	rpc, ok := errors.AsType[*mcp.RPCError](err)
	if !ok {
		return err
	}
	tasks := c.server.Load().Capabilities.Tasks
	switch {
	case c.failedToAsk(rpc.Message):
		return &advisedError{err, askAdvice}
	case rpc.Code == mcp.CodeMethodNotFound && tasks != nil && tasks.Requests.Tools.Call != nil:
		return &advisedError{err, "if the tool has to be a task: " + c.taskAdvice(r, o.task)}
	case rpc.Code == mcp.CodeMissingCapability && jsonrpc.Lookup(rpc.Data, "requiredCapabilities", "extensions", tasksExtension) != nil:
		return &advisedError{err, "the server runs the tool as a task only: " + c.taskAdvice(r, o.task)}
	}
	return err
}

// taskAdvice says how to call a tool as a task, or why it cannot be one, also as the
// tool that WithTask was given.
func (c *Client) taskAdvice(r *request, given *mcp.Tool) string {
	tool := given
	if tool == nil {
		tool = &mcp.Tool{Name: r.target, Execution: []byte(`{"taskSupport":"required"}`)}
	}
	if why := c.taskable(tool); why != nil {
		return why.Error()
	}
	return "call it WithTask or by StartTask"
}
