package host

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// maxWaiting is how many messages may wait for a view that does not read, before its own
// are not read either. The same holds for twice Limits.Outgoing bytes.
const maxWaiting = 256

// outbox is what waits to be sent: answers and requests in their order, and the latest of
// each notification. So what a view does not read takes a bounded place. The mutex of the
// session guards it.
type outbox struct {
	queue   [][]byte
	waiting int // bytes in queue

	// For a view that has begun.
	partial   []byte                     // ui/notifications/tool-input-partial
	input     []byte                     // ui/notifications/tool-input
	outcome   []byte                     // ui/notifications/tool-result or tool-cancelled
	tool      int                        // how much of its call the view has been told
	changed   map[string]json.RawMessage // members of ui/notifications/host-context-changed
	tools     bool                       // notifications/tools/list_changed
	resources bool                       // notifications/resources/list_changed
}

// sendLocked queues a message.
func (s *Session) sendLocked(message []byte) {
	if s.life.Err() != nil {
		return
	}
	s.queue = append(s.queue, message)
	s.waiting += len(message)
	s.wakeLocked()
}

func (s *Session) send(message []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sendLocked(message)
}

// wakeLocked has the writer look for what there is to send.
func (s *Session) wakeLocked() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// next takes the next message to send, nil if there is none.
func (s *Session) next() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) > 0 {
		message := s.queue[0]
		s.queue[0] = nil
		s.queue = s.queue[1:]
		s.waiting -= len(message)
		return message
	}
	if !s.begun || s.closing {
		return nil
	}
	return s.takeLocked()
}

// takeLocked takes the next notification: input comes before its outcome.
func (o *outbox) takeLocked() (message []byte) {
	switch {
	case o.partial != nil:
		message, o.partial = o.partial, nil
	case o.input != nil:
		message, o.input = o.input, nil
	case o.outcome != nil:
		message, o.outcome = o.outcome, nil
	case len(o.changed) > 0:
		params, err := jsonrpc.Marshal(o.changed)
		if err != nil {
			panic(err) // members that were encoded before
		}
		message, o.changed = jsonrpc.AppendNotification(nil, "ui/notifications/host-context-changed", params), map[string]json.RawMessage{}
	case o.tools:
		message, o.tools = jsonrpc.AppendNotification(nil, "notifications/tools/list_changed", nil), false
	case o.resources:
		message, o.resources = jsonrpc.AppendNotification(nil, "notifications/resources/list_changed", nil), false
	}
	return message
}

// write sends what there is until the session ends.
func (s *Session) write() {
	for {
		message := s.next()
		if message == nil {
			select {
			case <-s.wake:
				continue
			case <-s.life.Done():
				return
			}
		}
		ctx, cancel := context.WithTimeout(s.life, s.opts.Limits.Send)
		err := s.conn.Send(ctx, message)
		cancel()
		if err != nil {
			s.end(fmt.Errorf("send to the view: %w", err))
			return
		}
		select {
		case s.room <- struct{}{}:
		default:
		}
	}
}

// awaitRoom waits until few messages wait for the view. It reports whether the session goes on.
func (s *Session) awaitRoom() bool {
	for {
		s.mu.Lock()
		few := len(s.queue) < maxWaiting && s.waiting < 2*s.opts.Limits.Outgoing
		s.mu.Unlock()
		if few {
			return s.life.Err() == nil
		}
		select {
		case <-s.room:
		case <-s.life.Done():
			return false
		}
	}
}
