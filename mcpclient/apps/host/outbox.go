package host

import (
	"context"
	"encoding/json"
	"maps"
	"sync"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// maxWaiting bounds the messages that wait for a view. While so many wait, or twice Limits.Outgoing bytes, no message of the view
// is read.
const maxWaiting = 256

// outbox holds the messages to send: answers and requests in order, and then the latest of each
// notification, so that a view that does not read uses bounded memory.
type outbox struct {
	limit int           // Limits.Outgoing, in bytes
	wake  chan struct{} // there may be something to send
	room  chan struct{} // something was sent

	mu      sync.Mutex
	ended   bool // nothing more is sent
	queue   [][]byte
	waiting int // bytes in queue

	open    bool   // the view is ready and was not asked to end: the notifications below may be sent
	input   []byte // ui/notifications/tool-input
	outcome []byte // ui/notifications/tool-result or tool-cancelled
	tool    toolPhase
	changed map[string]json.RawMessage // members of ui/notifications/host-context-changed
}

func newOutbox(limit int) *outbox {
	return &outbox{limit: limit, wake: make(chan struct{}, 1), room: make(chan struct{}, 1), changed: map[string]json.RawMessage{}}
}

// send queues a message regardless of how many wait. After the end of the session it is dropped.
func (o *outbox) send(message []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sendLocked(message)
}

// sendWithin queues a message, unless more than the given bytes, or more than the given messages, would then wait.
func (o *outbox) sendWithin(message []byte, bytes, messages int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.waiting+len(message) > bytes || len(o.queue) >= messages {
		return false
	}
	o.sendLocked(message)
	return true
}

func (o *outbox) sendLocked(message []byte) {
	if o.ended {
		return
	}
	o.queue = append(o.queue, message)
	o.waiting += len(message)
	o.wakeUp()
}

// wakeUp makes the writer look for messages to send.
func (o *outbox) wakeUp() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// allowNotifications allows notifications to the view, from the writer's next wake-up.
func (o *outbox) allowNotifications() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open = true
}

// finish queues the waiting notifications and drops later ones. It reports whether notifications were allowed before.
func (o *outbox) finish() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	was := o.open
	for was {
		message := o.nextNotificationLocked()
		if message == nil {
			break
		}
		o.sendLocked(message)
	}
	o.open = false
	return was
}

// contextChanged adds members to the next ui/notifications/host-context-changed.
func (o *outbox) contextChanged(members map[string]json.RawMessage) {
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.Copy(o.changed, members)
	o.wakeUp()
}

// next returns the next message to send, nil if there is none.
func (o *outbox) next() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.queue) > 0 {
		message := o.queue[0]
		o.queue[0] = nil
		o.queue = o.queue[1:]
		o.waiting -= len(message)
		return message
	}
	if !o.open {
		return nil
	}
	return o.nextNotificationLocked()
}

// nextNotificationLocked returns the next notification. Input comes before its outcome.
func (o *outbox) nextNotificationLocked() (message []byte) {
	switch {
	case o.input != nil:
		message, o.input = o.input, nil
	case o.outcome != nil:
		message, o.outcome = o.outcome, nil
	case len(o.changed) > 0:
		params, err := jsonrpc.Marshal(o.changed)
		if err != nil {
			panic(err) // these members were encoded before
		}
		o.changed = map[string]json.RawMessage{}
		message = jsonrpc.AppendNotification(nil, "ui/notifications/host-context-changed", params)
	}
	return message
}

// write sends messages until ctx ends or one cannot be sent within sendTime.
func (o *outbox) write(ctx context.Context, conn transport.Conn) error {
	defer func() {
		o.mu.Lock()
		o.ended = true
		o.mu.Unlock()
	}()
	for {
		message := o.next()
		if message == nil {
			select {
			case <-o.wake:
				continue
			case <-ctx.Done():
				return nil
			}
		}
		sending, cancel := context.WithTimeout(ctx, sendTime)
		err := conn.Send(sending, message)
		cancel()
		if err != nil {
			return err
		}
		select {
		case o.room <- struct{}{}:
		default:
		}
	}
}

// awaitRoom waits until fewer than maxWaiting messages, and fewer than twice Limits.Outgoing bytes,
// wait for the view. It returns false when ctx ends.
func (o *outbox) awaitRoom(ctx context.Context) bool {
	for {
		o.mu.Lock()
		few := len(o.queue) < maxWaiting && o.waiting < 2*o.limit
		o.mu.Unlock()
		if few {
			return ctx.Err() == nil
		}
		select {
		case <-o.room:
		case <-ctx.Done():
			return false
		}
	}
}
