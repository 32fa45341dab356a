package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/internal/backoff"
)

// shortestKeepAlive is the least Options.Timeouts.KeepAlive.
const shortestKeepAlive = time.Second

// errMute is the error of a connection whose server does not respond.
var errMute = errors.New("the server gave no sign of life")

// pinged is a connection that can be pinged.
type pinged interface {
	// idle reports whether the connection is in use and nothing is in progress on it.
	idle() bool

	// ping asks for any answer.
	ping(ctx context.Context) error

	// end ends the connection, whose server did not answer within that time.
	end(within time.Duration)
}

// keepAlive pings the current connection at intervals while it is idle, until ctx ends. The
// server has as long to answer.
func keepAlive(ctx context.Context, every time.Duration, inUse func() pinged) {
	for backoff.Sleep(ctx, every) == nil {
		if conn := inUse(); conn.idle() && mute(ctx, every, conn) {
			conn.end(every)
		}
	}
}

// mute reports whether the server of a connection does not respond, although nothing else is in
// progress.
func mute(ctx context.Context, within time.Duration, conn pinged) bool {
	ping, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err := conn.ping(ping)
	return err != nil && ping.Err() != nil && ctx.Err() == nil && conn.idle()
}

// pingedLink is the current connection of a client.
type pingedLink struct {
	client *connector
	link   *link
}

// idle is false during calls, which have limits of their own and may occupy the server, and
// during requests of the server, which waits for an answer.
func (p pingedLink) idle() bool {
	return !p.client.sessions.renewals.UnderWay() && p.link.dead() == nil && !p.link.busy()
}

// ping uses no middleware, which could delay it.
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
