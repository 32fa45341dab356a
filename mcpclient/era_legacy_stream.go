package mcpclient

import (
	"context"
	"sync"
	"time"
)

// streamGrace bounds the wait for the server to open its standalone stream.
const streamGrace = 500 * time.Millisecond

// heeds reports whether somebody wants to know what the server says unasked: who
// installed something for it, subscribed, or asked for progress.
func (c *Client) heeds() bool {
	s := &c.session
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heeding = s.heeding || c.offers.sampling != nil || c.offers.elicitation != nil || c.offers.roots || c.opts.OnNotification != nil
	return s.heeding
}

// heed implements [era].
func (e *legacyEra) heed(ctx context.Context, c *Client) {
	s := &c.session
	s.mu.Lock()
	already := s.heeding
	s.heeding = true
	s.mu.Unlock()
	if !already {
		e.listen(ctx, c)
	}
}

// listen reads the server's standalone stream, if there is one, and returns once
// it is open: a server throws away what it has to say before that.
func (e *legacyEra) listen(ctx context.Context, c *Client) {
	l := c.link.Load()
	if l.exchange == nil {
		return
	}
	settled := make(chan struct{})
	heard, end := c.hear()
	started := c.life.start(func() {
		defer end()
		settle := sync.OnceFunc(func() { close(settled) })
		wasOpen := false
		open := func(resumed bool) {
			settle()
			if wasOpen && !resumed {
				c.subs.get().spread(Change{Kind: Stale})
			}
			wasOpen = true
		}
		m := &outgoing{header: e.header(nil, nil)}
		err := l.exchange.listen(heard, m, open, func(data []byte) { l.receive(c, data, source{session: m.session.Load()}) })
		settle()
		if err != nil && heard.Err() == nil {
			c.streamEnded(err)
		}
	})
	if !started {
		return
	}
	grace, cancel := context.WithTimeout(ctx, streamGrace)
	defer cancel()
	select {
	case <-settled:
	case <-grace.Done():
	}
}

// hear returns a context for reading the standalone stream of the session, and
// ends the reading of an earlier one.
func (c *Client) hear() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(c.life.ctx)
	s := &c.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unheard != nil {
		s.unheard()
	}
	s.unheard = cancel
	return ctx, cancel
}

// streamEnded is called when the standalone stream ended for good: its server may
// have forgotten the session while nothing was called.
func (c *Client) streamEnded(err error) {
	id, lost := lostSession(err)
	s := &c.session
	s.mu.Lock()
	soon := time.Since(s.begun) < renewPause
	s.mu.Unlock()
	if !lost || soon {
		c.log.Warn("the server's standalone stream ended", "error", err)
		return
	}
	if err := c.renew(c.life.ctx, id, c.beginAnew); err != nil && !c.life.isClosed() {
		c.log.Warn("the server has forgotten the session, and a new one could not be begun", "error", err)
	}
}

// repeatable reports whether a request does the same when it is sent twice.
// What a tool does is not known, nor what a request does that we do not know.
func repeatable(method string) bool {
	switch method {
	case "ping", "server/discover", "tools/list", "resources/list", "resources/templates/list", "resources/read",
		"resources/subscribe", "resources/unsubscribe", "prompts/list", "prompts/get", "completion/complete",
		"logging/setLevel", "tasks/get", "tasks/list", "tasks/result":
		return true
	}
	return false
}
