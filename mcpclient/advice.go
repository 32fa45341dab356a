package mcpclient

import (
	"errors"
	"strings"

	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/internal/metakey"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// askRefusals are texts of servers that may not send requests in the modern era: of mcp-go
// 1.2, of go-sdk 1.8, and the client's own refusal, which other servers pass on.
var askRefusals = []string{
	"server-initiated request",
	"cannot be sent while serving a request on protocol version",
	"multi round-trip request",
	noRequests,
}

// noRequests is the refusal of a modern server's request.
const noRequests = "this revision has no requests of the server"

// cannotAsk reports whether a tool failed because its server may not send requests.
func (p *peer) cannotAsk(text string) bool {
	if p.current().has(serverRequests) {
		return false
	}
	for _, words := range askRefusals {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// addAdvice adds advice to the error of a call: use another revision, so that the tool can ask,
// or call it as a task. A server that requires a task answers "MissingRequiredClientCapability"
// (code -32021) and names the extension, or in revision 2025-11-25 "Method not found", which
// may have other reasons.
func (p *peer) addAdvice(r *request, o *callOptions, err error) error {
	rpc, ok := errors.AsType[*mcp.RPCError](err)
	if !ok {
		return err
	}
	tasks := p.server.Load().Capabilities.Tasks
	switch {
	case p.cannotAsk(rpc.Message):
		return &inquiry.AdvisedError{Err: err, Advice: inquiry.CannotAskAdvice}
	case rpc.Code == mcp.CodeMethodNotFound && tasks != nil && tasks.Requests.Tools.Call != nil:
		return &inquiry.AdvisedError{Err: err, Advice: "if the tool has to be a task: " + p.taskAdvice(r, o.task)}
	case rpc.Code == mcp.CodeMissingCapability && jsonrpc.Lookup(rpc.Data, "requiredCapabilities", "extensions", metakey.Tasks) != nil:
		return &inquiry.AdvisedError{Err: err, Advice: "the server runs the tool as a task only: " + p.taskAdvice(r, o.task)}
	}
	return err
}

// taskAdvice returns how to call a tool as a task, or why it cannot be one. given is the tool of
// WithTask, or nil.
func (p *peer) taskAdvice(r *request, given *mcp.Tool) string {
	tool := given
	if tool == nil {
		tool = &mcp.Tool{Name: r.target, Execution: []byte(`{"taskSupport":"required"}`)}
	}
	if why := p.checkTask(tool); why != nil {
		return why.Error()
	}
	return "call it WithTask or by StartTask"
}
