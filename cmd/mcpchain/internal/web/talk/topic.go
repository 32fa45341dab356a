package talk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/prose"
	"github.com/mcpchain/mcpchain/internal/eventfeed"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// Event is a server-sent event for a window. Without an ID it is transient: it has no position in the conversation, and
// a window that connects again gets the state of that time.
type Event struct {
	Type string
	ID   string // the position in the conversation, see [agent.ParsePosition]
	Data []byte // JSON
}

// topic is a conversation, or a call of a view, that this process works on or a window shows.
type topic struct {
	key       run.Key
	refs      int           // guarded by Service.mu
	beginning chan struct{} // has a value while a call of the conversation's views begins; room for one

	mu      sync.Mutex // guards the fields below
	changed Signal
	at      agent.Position // the position of the last entry

	contextUse *agent.WindowUse           // how the last model call of this process used the context window; nil before
	spent      run.Usage                  // by the conversation, with sub-agents and sampling
	draft      prose.Draft                // the text that the model is writing
	reasoning  []byte                     // how it has reasoned before, at most maxReasoning bytes
	generation int                        // the number of draft and reasoning: each step begins others
	thinking   bool                       // the model reasons, and has not written text
	progress   map[string]json.RawMessage // by call
	windows    int                        // number of windows that show the conversation
	deleted    bool

	working bool                    // a goroutine drives the run
	again   bool                    // the goroutine has to look once more
	cancel  context.CancelCauseFunc // ends the present attempt; nil unless the run is driven

	replies map[string]run.Reply // the replies of the user that have arrived, by question; nil unless the run is driven
	awaited map[string]bool      // questions whose replies the run waits for
}

// acquire returns the topic of a conversation, or of a call of a view. The caller releases it. The
// error matches ErrGone if the run does not exist, or belongs to another agent.
func (s *Service) acquire(ctx context.Context, key run.Key) (*topic, error) {
	s.mu.Lock()
	if t := s.topics[key]; t != nil {
		t.refs++
		s.mu.Unlock()
		return t, nil
	}
	s.mu.Unlock()
	log, err := s.o.Store.LoadCurrent(ctx, key)
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
		t = &topic{key: key, beginning: make(chan struct{}, 1), at: agent.Position{Seq: log.Head.Seq}, spent: state.Spent}
		s.topics[key] = t
	}
	t.refs++
	return t, nil
}

// release ends a use of a topic. The last one forgets it.
func (s *Service) release(t *topic) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.refs--; t.refs == 0 {
		delete(s.topics, t.key)
		s.feed.NotifyStopped(t.key) // another process may continue it
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
	t.changed.Fire()
	return true
}

// item converts an entry for the feed: its kind, and its data on the next line.
func (e entry) item() eventfeed.Item {
	if e.kind == "" {
		return eventfeed.Item{At: e.at}
	}
	return eventfeed.Item{At: e.at, Data: append([]byte(e.kind+"\n"), encode(e.data)...)}
}

// eventOf converts an event of the feed: it reverses [entry.item].
func eventOf(e eventfeed.Event) Event {
	kind, data, _ := bytes.Cut(e.Data, []byte("\n"))
	return Event{Type: string(kind), ID: e.ID, Data: data}
}

// The causes for which the context of a turn ends.
var (
	errStopped = errors.New("the user stopped the turn")
	errEnded   = errors.New("the turn has ended")
)

// endWindows tells the windows that the conversation is deleted.
func (t *topic) endWindows() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.deleted = true
	t.changed.Fire()
}

// Signal tells any number of waiters that something has changed. The zero value is ready for use.
type Signal struct {
	mu sync.Mutex // guards the following field
	c  chan struct{}
}

// Next returns a channel that the next Fire closes. A waiter calls it before it reads what may change.
func (s *Signal) Next() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c == nil {
		s.c = make(chan struct{})
	}
	return s.c
}

// Fire wakes all waiters.
func (s *Signal) Fire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c != nil {
		close(s.c)
		s.c = nil
	}
}
