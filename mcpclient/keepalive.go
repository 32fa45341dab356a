package mcpclient

import (
	"context"
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/internal/backoff"
)

// shortestKeepAlive is the least Options.Timeouts.KeepAlive.
const shortestKeepAlive = time.Second

// keepAlive pings the current connection at intervals while it is idle, until ctx ends. If the
// server does not answer within one interval, the connection ends.
func (c *connector) keepAlive(ctx context.Context, every time.Duration) {
	for backoff.Sleep(ctx, every) == nil {
		l := c.link.Load()
		if !c.isIdle(l) || c.isResponding(ctx, l, every) {
			continue
		}
		l.kill() // a process that does not answer is not asked to end
		l.onEnd(fmt.Errorf("server does not respond: no answer to %s within %v (Options.Timeouts.KeepAlive)", c.current().pingMethod(), every))
	}
}

// isIdle returns false during calls, which have limits of their own and may occupy the server, and
// during requests of the server, which waits for an answer.
func (c *connector) isIdle(l *link) bool {
	return !c.sessions.renewals.UnderWay() && l.endErr() == nil && !l.isBusy()
}

// isResponding pings the server, and returns false if it gives no answer in time although nothing
// else is in progress. It uses no middleware, which could delay the ping.
func (c *connector) isResponding(ctx context.Context, l *link, within time.Duration) bool {
	ping, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	r := &request{method: c.current().pingMethod()}
	_, err := c.wire.roundTrip(ping, r, &callOptions{noCancelNotice: true})
	return err == nil || ping.Err() == nil || ctx.Err() != nil || !c.isIdle(l)
}
