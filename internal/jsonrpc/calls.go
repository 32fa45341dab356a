package jsonrpc

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"
)

// Calls is the table of requests that await their responses. The zero value is ready; all methods may be called concurrently.
type Calls struct {
	mu      sync.Mutex
	last    int64
	waiting []*Call // by ID, ascending; a map would add 4 % to an idle connection over HTTP
	err     error   // set once the table is closed
}

// Call is one request that awaits its response. Only one goroutine at a time may call Wait; the other
// methods may be called concurrently.
type Call struct {
	ID int64

	// Value belongs to the owner; this package does not use it.
	Value any

	mu       sync.Mutex
	wake     chan struct{} // holds a token if there is news; nil before Wait
	notes    []json.RawMessage
	maxNotes int
	done     bool
	response Response
	err      error
}

// Response is the answer to a request: a result or an error.
type Response struct {
	Result json.RawMessage
	Error  json.RawMessage
}

// Start adds a call to the table and gives it an id, unique in this table. maxNotes bounds the waiting notes of the
// call: beyond it the oldest is dropped, with 0 none is kept. After Close it returns Close's error.
func (t *Calls) Start(c *Call, maxNotes int) error {
	c.maxNotes = maxNotes
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return t.err
	}
	t.last++
	c.ID = t.last
	t.waiting = append(t.waiting, c)
	return nil
}

// Find returns the call with this id, if it still waits.
func (t *Calls) Find(id int64) (*Call, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i, ok := t.searchLocked(id); ok {
		return t.waiting[i], true
	}
	return nil, false
}

func (t *Calls) searchLocked(id int64) (index int, found bool) {
	return slices.BinarySearchFunc(t.waiting, id, func(c *Call, id int64) int { return cmp.Compare(c.ID, id) })
}

// Started reports whether a call got this id, even if it no longer waits.
func (t *Calls) Started(id int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return 0 < id && id <= t.last
}

// Pending returns all waiting calls, the oldest first.
func (t *Calls) Pending() []*Call {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.waiting)
}

// Resolve gives a call its response. It returns false if the call does not wait any more.
func (t *Calls) Resolve(id int64, r Response) bool {
	c, ok := t.remove(id)
	if ok {
		c.finish(r, nil)
	}
	return ok
}

// Fail ends a call with an error. It returns false if the call does not wait any more.
func (t *Calls) Fail(id int64, err error) bool {
	c, ok := t.remove(id)
	if ok {
		c.finish(Response{}, err)
	}
	return ok
}

// Forget removes a call: a later response finds nothing.
func (t *Calls) Forget(c *Call) {
	if !c.isDone() { // otherwise it was removed when it ended
		t.remove(c.ID)
	}
}

func (t *Calls) remove(id int64) (*Call, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i, ok := t.searchLocked(id)
	if !ok {
		return nil, false
	}
	c := t.waiting[i]
	t.waiting = slices.Delete(t.waiting, i, i+1)
	return c, true
}

// Close fails all waiting calls, and every later Start, with err. After the first Close another one changes nothing.
func (t *Calls) Close(err error) {
	t.mu.Lock()
	t.err = cmp.Or(t.err, err)
	pending := t.waiting
	t.waiting = nil
	t.mu.Unlock()
	for _, c := range pending {
		c.finish(Response{}, err)
	}
}

func (c *Call) finish(r Response, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done, c.response, c.err = true, r, err
	c.signalLocked()
}

func (c *Call) isDone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.done
}

// AddNote queues a note, such as a progress notification, for [Call.Wait].
func (c *Call) AddNote(note json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.maxNotes == 0 {
		return
	}
	if len(c.notes) == c.maxNotes {
		c.notes = c.notes[1:]
	}
	c.notes = append(c.notes, note)
	c.signalLocked()
}

func (c *Call) signalLocked() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *Call) waker() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wake == nil {
		c.wake = make(chan struct{}, 1)
	}
	return c.wake
}

// Wait waits for the response and returns it, or the error of Fail, of Close or of the context. It
// calls note with each note before that, on this goroutine; note may be nil if the call keeps none.
func (c *Call) Wait(ctx context.Context, note func(json.RawMessage)) (Response, error) {
	wake := c.waker()
	for {
		c.takeNotes(note)
		if r, ok, err := c.Response(); ok {
			return r, err
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return Response{}, ctx.Err()
		}
	}
}

func (c *Call) takeNotes(note func(json.RawMessage)) {
	c.mu.Lock()
	notes := c.notes
	c.notes = nil
	c.mu.Unlock()
	for _, n := range notes {
		note(n)
	}
}

// Response returns the response, or the error of Fail or Close, without waiting. ok is false before that has come, and
// while notes wait to be taken before it.
func (c *Call) Response() (r Response, ok bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.response, c.done && len(c.notes) == 0, c.err
}
