package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient/internal/renewal"
	"github.com/mcpchain/mcpchain/mcpclient/internal/results"
	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// eraPause is how long after a server over HTTP was asked what it speaks it is not asked again.
const eraPause = 5 * time.Second

// errCrossed marks a request that means nothing in another era.
var errCrossed = errors.New("the request continues what began in the era before: begin again")

// eras ask a server over HTTP again what it speaks when a request fails as if in another era:
// its operator may have updated it, or rolled it back. "Clients SHOULD cache the result …,
// re-probing if the cached assumption later fails" (2026-07-28 versioning).
type eras struct {
	*peer
	renewals *renewal.Group
	forced   bool // Options.Protocol.Revision decides
	client   sessionClient

	mu    sync.Mutex
	asked time.Time
}

// resend is called for a request that failed with err. If the server speaks another era than
// that of the request, it reports whether to send the request again.
func (e *eras) resend(ctx context.Context, r *request, err error) (again bool, _ error) {
	if r.spoken == nil { // a subscription, which ends with its era
		r.spoken = e.era.Load()
	}
	if r.crossed || e.forced || e.link.Load().exchange == nil {
		return false, err
	}
	if r.spoken == e.era.Load() {
		if e.renewals.Within(ctx) || !e.doubts(r, err) {
			return false, err
		}
		if asked := e.renewals.Renew(ctx, func() bool { return e.due(r.spoken) }, e.client.askAgain); asked != nil {
			return false, fmt.Errorf("%w (and the server did not say what it speaks: %w)", err, asked)
		}
	}
	if now := e.era.Load(); r.spoken == now || r.spoken.has(listenStreams) == now.has(listenStreams) {
		return false, err
	}
	return e.cross(r, err)
}

// due reports whether to ask a server that was spoken to in an era.
func (e *eras) due(spoken *eraBox) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.era.Load() != spoken || time.Since(e.asked) < eraPause {
		return false
	}
	e.asked = time.Now()
	return true
}

// doubts reports whether err may be the answer of a server of another era than that in use.
func (e *eras) doubts(r *request, err error) bool {
	status, failed := errors.AsType[*transport.HTTPError](err)
	if failed && !disproves(status) {
		return false
	}
	rpc, answered := errors.AsType[*mcp.RPCError](err)
	if !e.current().has(listenStreams) {
		return answered && results.OnlyModern(rpc) || r.refusal == http.StatusBadRequest
	}
	if !answered {
		return failed
	}
	switch rpc.Code {
	case mcp.CodeUnsupportedRevision:
		return true
	case mcp.CodeMethodNotFound:
		return r.refusal != http.StatusNotFound // which modern servers answer
	case mcp.CodeInvalidRequest, -32000, 0:
		return true
	}
	return r.refusal == http.StatusBadRequest && !results.OnlyModern(rpc)
}

// cross decides on a request that failed with err, as the server speaks another era than when it
// was sent.
func (e *eras) cross(r *request, err error) (again bool, _ error) {
	now := e.current()
	switch {
	case r.session != nil || r.answers != nil || r.task || r.method == "subscriptions/listen":
		return false, fmt.Errorf("%w (the server speaks %s now: %w)", err, now.name(), errCrossed)
	case !repeatable(r.method) && !r.declined(err):
		return false, fmt.Errorf("%w (the server speaks %s now; the request was not sent again, as it may have run)", err, now.name())
	case r.method == "ping" || r.method == "server/discover":
		r.method = now.pingMethod()
	}
	r.crossed, r.words = true, [2]string{}
	return true, nil
}

// declined reports whether err shows that the server did not even begin to act on the request.
func (r *request) declined(err error) bool {
	if broken, ok := errors.AsType[*transport.BrokenError](err); ok && broken.Begun {
		return false
	}
	if rpc, ok := errors.AsType[*mcp.RPCError](err); ok {
		switch rpc.Code {
		case mcp.CodeUnsupportedRevision, mcp.CodeMethodNotFound, mcp.CodeInvalidRequest:
			return true
		}
	}
	status, ok := errors.AsType[*transport.HTTPError](err)
	return r.refusal != 0 || ok && status.Method == http.MethodPost && !wire.Transient(status.Status)
}

// askAgain finds out what the server speaks now, and has the client speak that.
func (c *connector) askAgain(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, renewTimeout)
	defer cancel()
	before := c.era.Load()
	if err := c.negotiator.again(ctx); err != nil {
		return err
	}
	return c.adjust(ctx, before)
}

// adjust fits the client to the era of the server, which was another one before.
func (c *connector) adjust(ctx context.Context, before *eraBox) error {
	if c.era.Load() == before {
		return nil
	}
	c.log.Info("the server speaks another revision now", "revision", c.current().name(), "before", before.name())
	streams := c.current().has(listenStreams)
	if streams {
		c.standalone.end()
		c.link.Load().loseSession()
	}
	if err := c.begin(ctx); err != nil {
		return err
	}
	c.subscriptions.endOthers(streams, errOtherEra)
	defer c.tellAllChanged()
	return c.restore(ctx)
}

// tellAllChanged tells the observer of notifications that the lists of the server may be others:
// it did not see the server change them.
func (c *connector) tellAllChanged() {
	for _, list := range []string{"tools", "prompts", "resources"} {
		c.noticed(&mcp.Notification{Method: "notifications/" + list + "/list_changed"})
	}
}
