package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/internal/backoff"
	"github.com/mcpchain/mcpchain/mcpclient/internal/results"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// eraPause is the shortest time between two probes of a server over HTTP.
const eraPause = 5 * time.Second

// errEraBound is the error of a request that has no meaning outside the era in which it began.
var errEraBound = errors.New("request continues what began in the previous era: begin again")

// resendInOtherEra is called for a request that failed with err. If it failed as it would in another
// era, it probes a server over HTTP again: its operator may have updated it, or rolled it back. It
// reports whether to send the request again, and otherwise returns the error of the call. "Clients
// SHOULD cache the result …, re-probing if the cached assumption later fails" (2026-07-28 versioning).
func (s *sessions) resendInOtherEra(ctx context.Context, r *request, err error) (again bool, _ error) {
	if r.movedEra || s.protocol.Revision != "" || s.link.Load().exchange == nil {
		return false, err
	}
	if r.sentEra == s.era.Load() {
		if s.renewals.Within(ctx) || !suggestsOtherEra(r, err) {
			return false, err
		}
		needed, hasChanged := func() bool { return s.beginProbe(r.sentEra) }, func() bool { return s.era.Load() != r.sentEra }
		if probeErr := s.renew(ctx, needed, hasChanged, s.renegotiate); probeErr != nil {
			return false, fmt.Errorf("%w (and the server could not be greeted again: %w)", err, &renewalError{probeErr})
		}
	}
	if !s.hasChangedEra(r) {
		return false, err
	}
	return s.moveToEra(r, err)
}

// hasChangedEra reports whether the server now speaks another era than the one in which r was sent. It is false for a request
// that has moved once.
func (s *sessions) hasChangedEra(r *request) bool {
	return !r.movedEra && r.sentEra.has(listenStreams) != s.current().has(listenStreams)
}

// beginProbe reports whether to probe a server that was addressed in an era: not if the era has
// changed since, nor within eraPause of the last probe. The probe then counts as begun.
func (s *sessions) beginProbe(sentEra *eraBox) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.era.Load() != sentEra || time.Since(s.probed) < eraPause {
		return false
	}
	s.probed = time.Now()
	return true
}

// suggestsOtherEra reports whether err, of a request that failed, may come from a server of
// another era than the request's.
func suggestsOtherEra(r *request, err error) bool {
	status, failed := errors.AsType[*transport.HTTPError](err)
	if failed && !concernsRevision(status) {
		return false
	}
	rpc, answered := errors.AsType[*mcp.RPCError](err)
	answerStatus := answerStatusOf(err)
	if !r.sentEra.has(listenStreams) {
		return answered && results.OnlyModern(rpc) || answerStatus == http.StatusBadRequest
	}
	if !answered {
		return failed
	}
	switch rpc.Code {
	case mcp.CodeUnsupportedRevision:
		return true
	case mcp.CodeMethodNotFound:
		return answerStatus != http.StatusNotFound // which modern servers return
	case mcp.CodeInvalidRequest, -32000, 0: // -32000: of servers that want a session; 0: not an error of JSON-RPC
		return true
	}
	return answerStatus == http.StatusBadRequest && !results.OnlyModern(rpc)
}

// isSpuriousRefusal reports whether err refuses the current revision but lists it, as one of several instances may do
// during an update: "The client SHOULD select a mutually supported version from the supported list and retry the request" (2026-07-28).
func (p *peer) isSpuriousRefusal(err error) bool {
	named, refused := namedRevisions(err)
	revision := p.current().name()
	return refused && isModern(revision) && slices.Contains(named, revision)
}

// failedAnswer is an error of the server in a response whose HTTP status is a failure.
type failedAnswer struct {
	error
	status int
}

func (e *failedAnswer) Unwrap() error { return e.error }

// answerStatusOf returns the HTTP status that came with an error of the server, 0 if it says nothing.
func answerStatusOf(err error) int {
	if answer, ok := errors.AsType[*failedAnswer](err); ok {
		return answer.status
	}
	return 0
}

// moveToEra prepares a request that failed with err for the era that the server now speaks, and
// reports whether to send it again. If not, it returns the error of the call.
func (s *sessions) moveToEra(r *request, err error) (again bool, _ error) {
	now := s.current()
	switch {
	case r.method == "subscriptions/listen", r.method == "resources/subscribe":
		return false, errOtherEra
	case r.isEraBound():
		return false, fmt.Errorf("%w (the server speaks %s now: %w)", err, now.name(), errEraBound)
	case !repeatable(r.method) && !r.hadNoEffect(err):
		return false, fmt.Errorf("%w (the server speaks %s now; the request was not sent again, as it may have run)", err, now.name())
	case r.method == "ping" || r.method == "server/discover":
		r.method = now.pingMethod()
	}
	r.movedEra = true
	return true, nil
}

// isEraBound reports whether a request continues what began in its era, or exists only there.
func (r *request) isEraBound() bool {
	return r.session != nil || r.answers != nil || r.task || r.method == "logging/setLevel"
}

// hadNoEffect reports whether err proves that the server did not act on the request.
func (r *request) hadNoEffect(err error) bool {
	if broken, ok := errors.AsType[*transport.BrokenError](err); ok && broken.ResponseBegun {
		return false
	}
	if rpc, ok := errors.AsType[*mcp.RPCError](err); ok {
		switch rpc.Code {
		case mcp.CodeUnsupportedRevision, mcp.CodeMethodNotFound, mcp.CodeInvalidRequest:
			return true
		}
	}
	status, ok := errors.AsType[*transport.HTTPError](err)
	return answerStatusOf(err) != 0 || ok && status.Method == http.MethodPost && !backoff.IsTransient(status.Status)
}

func (c *connector) renegotiate(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, renewTimeout)
	defer cancel()
	before := c.era.Load()
	if err := c.negotiator.renegotiate(ctx); err != nil {
		return err
	}
	return c.adaptToEra(ctx, before)
}

func (c *connector) adaptToEra(ctx context.Context, before *eraBox) error {
	if c.era.Load() == before {
		return nil
	}
	c.log.Info("the server speaks another revision now", "revision", c.current().name(), "before", before.name())
	streams := c.current().has(listenStreams)
	if streams {
		c.standalone.stopReading()
		c.link.Load().loseSession()
	}
	c.subscriptions.endOtherEra(streams)
	if err := c.finishHandshake(ctx); err != nil {
		return err
	}
	defer c.announceAllChanged()
	return c.restore(ctx)
}

// announceAllChanged reports to OnNotification that the server's lists may have changed, because
// the client did not see the changes.
func (c *connector) announceAllChanged() {
	for _, list := range []string{"tools", "prompts", "resources"} {
		c.onNotification(&mcp.Notification{Method: "notifications/" + list + "/list_changed"})
	}
}
