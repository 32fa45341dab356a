package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/internal/backoff"
)

// shortestKeepAlive bounds Options.Timeouts.KeepAlive from below: a sign of life is to be
// asked for at a moderate rate.
const shortestKeepAlive = time.Second

// errMute ends a connection whose server gives no sign of life.
var errMute = errors.New("the server gave no sign of life")

// keepAlive asks the server for signs of life until the client ends.
func (c *Client) keepAlive() {
	for backoff.Sleep(c.life.ctx, c.opts.Timeouts.KeepAlive) == nil {
		l := c.link.Load()
		if c.session.renewal.Load() == nil && l.dead() == nil && !l.busy() {
			c.sound(l)
		}
	}
}

// busy reports whether calls are under way, which have limits of their own and may
// be all that the server looks at, or the server waits for an answer.
func (l *link) busy() bool {
	for _, call := range l.calls.Pending() {
		if call.Value.(*inFlight).listening == nil {
			return true
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.serving) > 0
}

// sound asks for a sign of life, which any answer is, and ends the connection
// when there is none. Middleware, which could hold it up, does not see it.
func (c *Client) sound(l *link) {
	within := c.opts.Timeouts.KeepAlive
	ctx, cancel := context.WithTimeout(c.life.ctx, within)
	defer cancel()
	r := &request{method: c.current().pingMethod()}
	_, err := c.roundTrip(ctx, r, &callOptions{quiet: true})
	if err == nil || ctx.Err() == nil || c.life.isClosed() || l.busy() {
		return
	}
	c.log.Warn("the server gave no sign of life: the connection counts as ended", "asked", r.method, "within", within)
	l.kill() // a process that does not answer is not asked to end
	l.died(fmt.Errorf("%w: no answer to %s within %v (Options.Timeouts.KeepAlive)", errMute, r.method, within))
}
