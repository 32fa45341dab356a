package talk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/feed"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/prose"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// Event is a server-sent event for a window. Without an ID it is transient: the next one of its type replaces it.
type Event struct {
	Type string
	ID   string // the position, see [agent.ParsePosition]
	Data []byte // JSON
}

// topic is a conversation that this process works on or a window shows.
type topic struct {
	key  run.Key
	refs int // guarded by Service.mu

	mu      sync.Mutex // guards the fields below
	changed signal
	at      agent.Position // of the last entry

	window     *filled   // in the last model call of this process, or nil
	spent      run.Spent // by the conversation, with sub-agents and sampling
	generation int       // of the draft
	draft      prose.Draft
	progress   map[string]json.RawMessage // by call
	windows    int

	working bool // a goroutine drives the run
	again   bool // and has to look once more
	barred  int  // number of callers that keep it from being driven
	cancel  context.CancelCauseFunc
	idle    chan struct{} // closed when it is no longer driven

	given map[string]run.Reply // the answers of the user that have arrived, by question; nil unless the run is driven
	asked map[string]bool      // questions whose answers the run waits for
}

// acquire returns the topic of a conversation. The caller releases it.
func (s *Service) acquire(ctx context.Context, key run.Key) (*topic, error) {
	s.mu.Lock()
	if t := s.topics[key]; t != nil {
		t.refs++
		s.mu.Unlock()
		return t, nil
	}
	s.mu.Unlock()
	log, err := record.LoadCurrent(ctx, s.o.Store, key)
	if err != nil {
		return nil, goneError(err)
	}
	if log.Head.Agent != s.agentOf(key).Name() {
		return nil, ErrGone
	}
	state, err := ledger.StateOf(log.Records)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.topics[key]
	if t == nil {
		at := agent.Position{Seq: log.Head.Seq}
		t = &topic{key: key, at: at, spent: state.Spent, idle: closed()}
		s.topics[key] = t
	}
	t.refs++
	return t, nil
}

func closed() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func (s *Service) release(t *topic) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.refs--; t.refs == 0 {
		delete(s.topics, t.key)
		s.feed.Leave(t.key) // another process may continue it
	}
}

// append adds an entry, unless the topic has it, and sends it to the windows. It reports whether it was added.
func (s *Service) append(t *topic, e entry) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.at.Before(e.at) {
		return false
	}
	t.at = e.at
	s.feed.Put(t.key, e.item())
	t.changed.fire()
	return true
}

// item converts an entry for the feed: its kind, and its view on the next line.
func (e entry) item() feed.Item {
	if e.kind == "" {
		return feed.Item{At: e.at}
	}
	return feed.Item{At: e.at, Data: append([]byte(e.kind+"\n"), encode(e.view)...)}
}

// eventOf converts an event of the feed: it reverses [entry.item].
func eventOf(e feed.Event) Event {
	kind, data, _ := bytes.Cut(e.Data, []byte("\n"))
	return Event{Type: string(kind), ID: e.ID, Data: data}
}

var (
	errStopped = errors.New("the user stopped the turn")
	errEnded   = errors.New("the turn has ended")
)

// settled waits until this process has released a run that has ended.
func (s *Service) settled(ctx context.Context, key run.Key) error {
	s.mu.Lock()
	t := s.topics[key]
	s.mu.Unlock()
	if t == nil {
		return nil
	}
	return t.wait(ctx)
}

// wait waits until nothing drives the conversation.
func (t *topic) wait(ctx context.Context) error {
	t.mu.Lock()
	idle := t.idle
	t.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// interrupt ends the work on the conversation, and prevents more until resume.
func (t *topic) interrupt(ctx context.Context) error {
	t.mu.Lock()
	t.barred++
	if t.cancel != nil {
		t.cancel(errStopped)
	}
	t.mu.Unlock()
	err := t.wait(ctx)
	if err != nil {
		t.resume()
	}
	return err
}

func (t *topic) resume() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.barred--
}

// signal tells any number of waiters that something has changed. The zero value is ready.
type signal struct {
	mu sync.Mutex // guards the following field
	c  chan struct{}
}

// next returns a channel that is closed by the next fire.
func (s *signal) next() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c == nil {
		s.c = make(chan struct{})
	}
	return s.c
}

func (s *signal) fire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c != nil {
		close(s.c)
		s.c = nil
	}
}
