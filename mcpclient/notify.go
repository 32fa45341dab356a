package mcpclient

import (
	"encoding/json"
	"runtime/debug"
	"sync"
)

// Notification is a message of the server that awaits no answer.
type Notification struct {
	Method string
	Params json.RawMessage // nil when absent
}

// notifier hands notifications to the observer, in the order of arrival. It has
// a goroutine only while there is something to hand over.
type notifier struct {
	mu      sync.Mutex
	max     int
	queue   []*Notification
	running bool
	dropped int
}

// add queues a notification; beyond the bound the oldest is dropped.
func (n *notifier) add(c *Client, note *Notification) {
	if c.opts.OnNotification == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.queue) == n.max {
		n.queue = n.queue[1:]
		n.dropped++
	}
	n.queue = append(n.queue, note)
	if !n.running {
		n.running = c.start(&c.handlers, func() { n.run(c) })
	}
}

func (n *notifier) run(c *Client) {
	for {
		note, dropped := n.next(c)
		if dropped > 0 {
			c.log.Warn("dropped notifications: the observer is slower than the server", "count", dropped)
		}
		if note == nil {
			return
		}
		observe(c, note)
	}
}

// next takes the oldest notification, or nil when the goroutine is to end.
func (n *notifier) next(c *Client) (note *Notification, dropped int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	dropped, n.dropped = n.dropped, 0
	if len(n.queue) == 0 || c.ctx.Err() != nil {
		n.running = false
		n.queue = nil
		return nil, dropped
	}
	note = n.queue[0]
	n.queue = n.queue[1:]
	return note, dropped
}

func observe(c *Client, note *Notification) {
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("OnNotification panicked", "panic", p, "stack", string(debug.Stack()))
		}
	}()
	c.opts.OnNotification(note)
}
