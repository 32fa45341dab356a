package adapter

import (
	"errors"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/backoff"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// keepConnected reconnects a server of the toolset once its connection ends by itself, or now if it could not be opened.
// The new connection has a keepConnected of its own. No person is asked to sign in.
func (c *connector) keepConnected(s *server) {
	if c.opts.retryWait < 0 || s.dormant {
		return
	}
	c.roster.start(func() {
		if !c.awaitLoss(s) {
			return
		}
		waits := backoff.Policy{Max: c.opts.retryWait}
		life := backoff.Unattended(c.roster.life)
		for n := 0; ; n++ {
			if backoff.Sleep(life, waits.Delay(n)) != nil {
				return
			}
			err := c.refresh(life, s)
			if err == nil || c.roster.life.Err() != nil || errors.Is(err, transport.ErrDialedOnce) {
				return // it was replaced or removed, or cannot be reconnected
			}
			c.opts.Logger.Debug("a server is not there yet", "server", s.label, "attempt", n+1, "error", err)
		}
	})
}

// awaitLoss waits for the end of the server's connection, and reports it to the host. It returns
// whether the connection ended by itself, which is true for a server that could not be opened.
func (c *connector) awaitLoss(s *server) bool {
	if s.err != nil {
		return true
	}
	ended := make(chan struct{})
	if s.client.AfterEnd(func(error) { close(ended) }) {
		select {
		case <-ended:
		case <-s.life.Done():
		}
	}
	err := s.client.Err()
	if s.life.Err() != nil || err == mcpclient.ErrClosed { // closed here; the error of a lost connection only wraps ErrClosed
		return false
	}
	c.opts.Logger.Warn("a server is lost, and is reached again", "server", s.label, "error", err)
	c.notifyHost(Event{Server: s.label, Kind: ServerLost, Err: fmt.Errorf("server %q: %w", s.label, err)})
	return true
}
