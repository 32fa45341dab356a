package viewing

import (
	"crypto/rand"
	"encoding/json"
	"sync"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/talk"
)

// queue has the messages for a window. They are numbered and the window acknowledges them, so that none is lost with a
// stream, and the window can drop one that it gets twice.
type queue struct {
	life    string      // identifies the queue: numbers restart with another one
	changed talk.Signal // fires when there may be more to send, or room for more

	mu      sync.Mutex // guards the following fields; locked after Service.mu
	last    uint64     // last number assigned
	sent    uint64     // last number sent to the latest stream
	waiting []numbered // sent and not acknowledged, or not sent
	bytes   int        // the size of the waiting messages
	stream  int        // number of the latest stream
	closed  bool       // nothing waits for the window any more
}

// numbered is a message for a window, with its number.
type numbered struct {
	talk.Event
	n uint64
}

func newQueue() *queue { return &queue{life: rand.Text()} }

// addLocked adds a message.
func (q *queue) addLocked(e talk.Event) {
	q.last++
	q.waiting = append(q.waiting, numbered{e, q.last})
	q.bytes += len(e.Data)
	q.changed.Fire()
}

// offer adds a message unless the queue is half full or closed: nobody waits for the message.
func (q *queue) offer(e talk.Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || len(q.waiting) >= maxWaiting/2 || q.bytes >= maxOutgoing {
		return
	}
	q.addLocked(e)
}

// put adds a message of a session. It waits for room unless the session has ended. It returns false if the queue was
// closed.
func (q *queue) put(e talk.Event, ended <-chan struct{}) bool {
	for hasEnded := false; ; {
		q.mu.Lock()
		switch {
		case q.closed:
			q.mu.Unlock()
			return false
		case hasEnded || len(q.waiting) < maxWaiting && q.bytes < 2*maxOutgoing:
			q.addLocked(e)
			q.mu.Unlock()
			return true
		}
		changed := q.changed.Next()
		q.mu.Unlock()
		select {
		case <-changed:
		case <-ended:
			hasEnded = true
		}
	}
}

// begin begins a stream, and returns its number. The stream gets all that the window has not acknowledged.
func (q *queue) begin() (stream int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stream++
	q.sent = 0
	q.changed.Fire() // an earlier stream ends
	return q.stream
}

// unsent returns the messages that were not sent on a stream, if it is the latest one. They then count as sent.
func (q *queue) unsent(stream int) (out []talk.Event, isLatest bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if stream != q.stream {
		return nil, false
	}
	for _, m := range q.waiting {
		if m.n <= q.sent {
			continue
		}
		out = append(out, talk.NewEvent(m.Type, struct {
			N    uint64          `json:"n"`
			Data json.RawMessage `json:"data"`
		}{m.n, m.Data}))
		q.sent = m.n
	}
	return out, true
}

// acknowledge removes the messages up to number n.
func (q *queue) acknowledge(n uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) > 0 && q.waiting[0].n <= n {
		q.bytes -= len(q.waiting[0].Data)
		q.waiting[0] = numbered{}
		q.waiting = q.waiting[1:]
	}
	q.changed.Fire()
}

// close ends the waits for room.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Fire()
}
