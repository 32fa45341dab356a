package adapter

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/mcpchain/mcpchain/internal/doubttext"
	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// errActedFirst is the error of a tool that could not ask its question, and may have acted before it tried.
var errActedFirst = errors.New("the tool asked the user or the model in a way that its connection did not allow, and " +
	doubttext.MayHaveActed + " before it asked; the connection allows it now: call the tool again only if it does no harm twice")

// attempt runs the call on the tool's present connection. It also returns the tool as that
// connection has it, nil if the call was not sent.
func (s *pendingCall) attempt(ctx context.Context, r *Request) (*Tool, *mcp.CallToolResult, error) {
	t, release, err := s.tool.calls.hold(ctx, s.tool, r.Options)
	if err != nil {
		return nil, nil, err
	}
	defer release()
	res, err := s.ask(ctx, t, r.Options)
	return t, res, err
}

// askAgain repeats the call of a tool that could not ask, on a connection with the older
// revision in which it can. If that is not possible, it returns the outcome of the first call.
func (s *pendingCall) askAgain(
	ctx context.Context, r *Request, t *Tool, res *mcp.CallToolResult, err error,
) (*Tool, *mcp.CallToolResult, error) {
	failed := err
	if res != nil {
		failed = res.Err()
	}
	isNewCall := t.local == nil && s.round == nil && s.task == ""
	couldNotAsk := inquiry.Advice(failed) == inquiry.CannotAskAdvice
	if !isNewCall || !couldNotAsk || !s.tool.calls.reconnectOlder(ctx, t, failed) {
		return t, res, err
	}
	if !mayRunAgain(t, res) {
		s.sent, s.inDoubt = true, true
		return t, nil, errActedFirst
	}
	again, other, otherErr := s.attempt(ctx, r)
	if again == nil { // not sent: the tool has changed, or its server is gone
		return t, res, err
	}
	return again, other, otherErr
}

// mayRunAgain reports whether a tool whose question was refused may be called again, although what
// it did before the question is then done twice. The tool must declare that it changes nothing, or
// nothing more the second time, or the host must allow it; and its result must be that refusal.
func mayRunAgain(t *Tool, res *mcp.CallToolResult) bool {
	if !declaresReadOnly(t.def) && !isIdempotent(t.def) && !t.isHarmlessTwice() {
		return false
	}
	return res == nil || len(res.Content) <= 1 && len(res.StructuredContent) == 0
}

// reconnectOlder reconnects the server of a tool with the newest revision in which servers send
// requests, unless the host has chosen the revision. It reports whether the server now has that
// revision. Current calls keep their connection.
func (c *connector) reconnectOlder(ctx context.Context, tool *Tool, why error) bool {
	s := c.roster.find(tool.server)
	if s == nil || !c.mayChooseRevision(s) {
		return false
	}
	err := c.changeServer(ctx, s, func(ctx context.Context) (*Event, error) {
		tool.server.useOlder.Store(true)
		e, err := c.reconnect(ctx, s, RevisionChanged, c.open)
		if err != nil {
			tool.server.useOlder.Store(false)
			tool.server.refusesOlder.Store(isRefusal(err))
			return nil, err
		}
		now := c.roster.find(tool.server)
		if e == nil || now == nil { // it was removed from the toolset
			return nil, nil
		}
		c.rememberOlder(now)
		c.lender.stopUsers(tool.server)
		e.Err = why
		return e, nil
	})
	if err != nil {
		c.opts.Logger.Warn("a tool asks in a way of an older revision, in which its server cannot be reached",
			"server", s.state.label, "tool", shortName(tool.def), "error", err)
		return false
	}
	return tool.server.useOlder.Load()
}

// isRefusal reports whether connecting with another revision failed for good. Other errors may
// pass, as those of a server that starts slowly or is busy.
func isRefusal(err error) bool {
	if _, answered := errors.AsType[*mcp.RPCError](err); answered {
		return true
	}
	if status, ok := errors.AsType[*transport.HTTPError](err); ok {
		return slices.Contains([]int{http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed}, status.Status)
	}
	_, mismatch := errors.AsType[*mcpclient.RevisionError](err)
	return mismatch || errors.Is(err, transport.ErrDialedOnce)
}

// mayChooseRevision reports whether the toolset may choose the revision of the server.
func (c *connector) mayChooseRevision(s *server) bool {
	forced := s.state.recipe.Revision
	if given := c.hostOptions(s); given != nil && forced == "" {
		forced = given.Protocol.Revision
	}
	return forced == "" && !s.state.refusesOlder.Load()
}

// rememberOlder stores the older revision of a server in the host's cache, for its other clients.
func (c *connector) rememberOlder(s *server) {
	c.opts.Logger.Warn("a server's tools ask in a way of an older revision, which is spoken from now on",
		"server", s.state.label, "revision", s.client.Server().Revision)
	if given := c.hostOptions(s); given != nil {
		given.Protocol.EraCache.Remember(s.state.recipe.Transport, s.client.Server().Revision)
	}
}
