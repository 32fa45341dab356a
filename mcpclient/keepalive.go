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

// pinged is a connection whose server is asked for signs of life.
type pinged interface {
	// idle reports whether the connection is in use and nothing is under way on it.
	idle() bool

	// ping asks for a sign of life, which any answer is.
	ping(ctx context.Context) error

	// end ends the connection, whose server did not answer within that time.
	end(within time.Duration)
}

// keepAlive pings the connection in use every so often while it is idle, until ctx ends.
// A server has as long to answer.
func keepAlive(ctx context.Context, every time.Duration, inUse func() pinged) {
	for backoff.Sleep(ctx, every) == nil {
		if conn := inUse(); conn.idle() && mute(ctx, every, conn) {
			conn.end(every)
		}
	}
}

// mute reports whether the server of a connection gives no sign of life, although
// nothing else is under way.
func mute(ctx context.Context, within time.Duration, conn pinged) bool {
	ping, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err := conn.ping(ping)
	return err != nil && ping.Err() != nil && ctx.Err() == nil && conn.idle()
}

// pingedLink is the connection of a client at the time.
type pingedLink struct {
	client *connector
	link   *link
}

// idle counts calls, which have limits of their own and may be all that the server looks
// at, and requests of the server, which waits for an answer.
func (p pingedLink) idle() bool {
	return !p.client.sessions.renewals.UnderWay() && p.link.dead() == nil && !p.link.busy()
}

// ping sends by no middleware, which could hold it up.
func (p pingedLink) ping(ctx context.Context) error {
	r := &request{method: p.client.current().pingMethod()}
	_, err := p.client.wire.roundTrip(ctx, r, &callOptions{quiet: true})
	return err
}

func (p pingedLink) end(within time.Duration) {
	asked := p.client.current().pingMethod()
	p.link.kill() // a process that does not answer is not asked to end
	p.link.died(fmt.Errorf("%w: no answer to %s within %v (Options.Timeouts.KeepAlive)", errMute, asked, within))
}

// busy reports whether calls are under way but subscriptions, or requests of the server.
func (l *link) busy() bool {
	for _, call := range l.calls.Pending() {
		if call.Value.(*inFlight).listening == nil {
			return true
		}
	}
	return l.dispatcher.busy()
}
