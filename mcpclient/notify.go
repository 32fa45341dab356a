package mcpclient

import (
	"bytes"
	"runtime/debug"
	"sync"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// maxNoticeBytes bounds the memory of the notifications that wait. One is kept
// whatever its size.
const maxNoticeBytes = transport.DefaultMaxMessage

// notifier hands notifications to the observer, in the order of arrival. It has
// a goroutine only while there is something to hand over.
type notifier struct {
	mu      sync.Mutex
	queue   []notice
	bytes   int
	running bool
	dropped dropped
}

// dropped counts what was dropped. It is told at the first and when nothing
// waits any more, so that a peer cannot fill the log.
type dropped struct {
	count int
	told  bool
}

// take returns what is to be told now. idle says that nothing waits.
func (d *dropped) take(idle bool) (count int) {
	if !d.told || idle {
		count, d.count = d.count, 0
	}
	d.told = !idle && (d.told || count > 0)
	return count
}

type notice struct {
	tell func() // runs the observer
	size int
}

// add queues a notification; beyond the bounds the oldest is dropped.
func (n *notifier) add(c *Client, m jsonrpc.Message) {
	if c.opts.OnNotification == nil {
		return
	}
	note := &mcp.Notification{Method: m.Method, Params: bytes.Clone(m.Params)} // without the rest of the line or batch
	n.queued(c, notice{func() { c.opts.OnNotification(note) }, len(note.Method) + len(note.Params)})
}

// queued has an observer run in its turn.
func (n *notifier) queued(c *Client, next notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.queue = append(n.queue, next)
	n.bytes += next.size
	for len(n.queue) > c.opts.Limits.Notifications || n.bytes > maxNoticeBytes && len(n.queue) > 1 {
		n.takeLocked()
		n.dropped.count++
	}
	if !n.running {
		n.running = c.life.startHost(func() { n.run(c) })
	}
}

func (n *notifier) takeLocked() (tell func()) {
	first := n.queue[0]
	n.queue[0] = notice{} // the array behind the queue lives on
	n.queue = n.queue[1:]
	n.bytes -= first.size
	return first.tell
}

func (n *notifier) run(c *Client) {
	for {
		tell, dropped := n.next(c)
		if dropped > 0 {
			c.log.Warn("dropped notifications: the observer is slower than the server", "count", dropped)
		}
		if tell == nil {
			return
		}
		observe(c, tell)
	}
}

// next takes the oldest observer, or nil when the goroutine is to end.
func (n *notifier) next(c *Client) (tell func(), dropped int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	idle := len(n.queue) == 0 || c.life.isClosed()
	dropped = n.dropped.take(idle)
	if idle {
		n.running = false
		n.queue, n.bytes = nil, 0
		return nil, dropped
	}
	return n.takeLocked(), dropped
}

func observe(c *Client, tell func()) {
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("a callback panicked", "panic", p, "stack", string(debug.Stack()))
		}
	}()
	tell()
}
