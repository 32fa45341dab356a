package mcpclient

import (
	"errors"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/inquiry"
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
	return slices.ContainsFunc(askRefusals, func(words string) bool { return strings.Contains(text, words) })
}

// addAdvice adds advice to the error of a call whose tool may not ask: use another revision.
func (p *peer) addAdvice(err error) error {
	if rpc, ok := errors.AsType[*mcp.RPCError](err); ok && p.cannotAsk(rpc.Message) {
		return &inquiry.AdvisedError{Err: err, Advice: inquiry.CannotAskAdvice}
	}
	return err
}
