// Package eventfeed streams the events of runs, or items that a program makes of them, to many readers,
// who resume where they stopped. Package agent/feed says what its streams have.
package eventfeed

import (
	"cmp"
	"container/list"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
)

// Options configure a [Feed]. Nil and the zero value are valid. A negative bound means no limit. Options
// of package agent/feed describes the fields without a comment.
type Options struct {
	Replay func(ctx context.Context, key run.Key, after agent.Position) iter.Seq2[agent.Event, error]
	Head   func(ctx context.Context, key run.Key) (run.Head, error)
	Poll   time.Duration

	// Items is used instead of Replay by a program that gives its readers items of its own with
	// [Feed.Put], not the events of the agent. Default: the events of Replay.
	Items func(ctx context.Context, key run.Key, after agent.Position) iter.Seq2[Item, error]

	RunBytes   int // bound of the events of one run in memory; default 256 KiB
	TotalBytes int // bound of the events of all runs in memory; the oldest are dropped; default 64 MiB
	Readers    int // bound of the concurrent readers; default 4096

	// HandleError writes the response to a request that gets no stream. The error may match
	// record.ErrNotFound, [ErrTooManyReaders], or [agent.ErrPosition] for an invalid position.
	// Default: a status.
	HandleError func(w http.ResponseWriter, r *http.Request, err error)
}

// maxReplays bounds the number of concurrent replays.
const maxReplays = 16

// withDefaults returns a completed copy. Negative bounds become the largest ones.
func (o *Options) withDefaults() Options {
	out := *cmp.Or(o, new(Options))
	out.RunBytes, out.TotalBytes = cmp.Or(out.RunBytes, 256<<10), cmp.Or(out.TotalBytes, 64<<20)
	out.Readers = cmp.Or(out.Readers, 4096)
	for _, bound := range []*int{&out.RunBytes, &out.TotalBytes, &out.Readers} {
		if *bound < 0 {
			*bound = math.MaxInt
		}
	}
	if out.HandleError == nil {
		out.HandleError = handleError
	}
	if out.Items == nil && out.Replay != nil {
		out.Items = out.replayItems
	}
	return out
}

// replayItems implements Options.Items with Options.Replay.
func (o *Options) replayItems(ctx context.Context, key run.Key, after agent.Position) iter.Seq2[Item, error] {
	replay := o.Replay
	return func(yield func(Item, error) bool) {
		for e, err := range replay(ctx, key, after) {
			i := Item{}
			if err == nil {
				i.At = e.Position()
				i.Data, err = agent.MarshalEvent(e)
			}
			if !yield(i, err) || err != nil {
				return
			}
		}
	}
}

// Feed holds the latest events of runs. Its methods may be called concurrently. It owns no goroutine
// and needs no Close.
type Feed struct {
	opts    Options
	replays chan struct{} // bounds concurrent replays

	mu      sync.Mutex // guards the following fields and the streams
	streams map[run.Key]*stream
	recent  *list.List // values are *stream with events, most recently published first
	size    int        // size of all events
	held    int        // size of the events that readers have read and may not have returned yet
	readers int
	forgot  bool // a stream that had events was forgotten
}

// New returns a feed without events.
func New(o *Options) *Feed {
	opts := o.withDefaults()
	return &Feed{opts: opts, replays: make(chan struct{}, maxReplays), streams: map[run.Key]*stream{}, recent: list.New()}
}

// Event is one event of a stream.
type Event struct {
	ID   string // the position in the run, empty without a record
	Data []byte // JSON from [agent.MarshalEvent]; shared, do not modify it
}

// Item is an event of a record in a form of the program's own.
type Item struct {
	At   agent.Position
	Data []byte // see [Event.Data]; nil: readers do not get the item
}

// stream holds the latest events of a run, without gaps.
type stream struct {
	key     run.Key
	events  []positionedEvent
	first   uint64 // number of events[0] since the stream began
	size    int
	element *list.Element // element of Feed.recent, nil without events

	known bool           // floor and last are known
	floor agent.Position // all events after it are in memory
	last  agent.Position // position of the last event

	stopped bool // this process has stopped working on the run: another one may have continued it
	hints   int  // number of hints that the store may have more events

	readers int
	changed chan struct{} // closed at the next change, nil if no reader waits
}

type positionedEvent struct {
	Event
	at agent.Position
}

// overhead is the approximate memory of an event beyond its bytes.
const overhead = 128

func (e *positionedEvent) size() int { return len(e.ID) + len(e.Data) + overhead }

// Publish gives an event to the readers of a run. Events of one run must be published in order, not
// concurrently. Publish can be the OnEvent of [agent.RecoverOptions].
func (f *Feed) Publish(key run.Key, e agent.Event) {
	data, err := agent.MarshalEvent(e)
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.streamLocked(key)
	at := e.Position()
	isRecorded := hasRecord(e)
	fresh := f.restartIfFirstLocked(s, at, isRecorded)
	p := positionedEvent{Event{Data: data}, at}
	if isRecorded && (fresh || s.last.Before(at)) {
		p.ID = at.String()
	}
	f.addLocked(s, p)
	if err != nil {
		f.dropLocked(s, len(s.events)) // readers get the event from the store
	}
}

// Put gives an item to the readers of a run, as Publish does with an event, unless a later one was
// published.
func (f *Feed) Put(key run.Key, i Item) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.streamLocked(key)
	switch fresh := f.restartIfFirstLocked(s, i.At, true); {
	case !fresh && !s.last.Before(i.At):
	case i.Data == nil:
		s.last = i.At
	default:
		f.addLocked(s, positionedEvent{Event{i.At.String(), i.Data}, i.At})
	}
}

// restartIfFirstLocked drops the events if the next one is the first since this process began to work on the run, because
// others may lie between them, and then returns true.
func (f *Feed) restartIfFirstLocked(s *stream, at agent.Position, isRecorded bool) bool {
	if s.known && !s.stopped {
		return false
	}
	isNew := !s.known && !f.forgot
	s.known = false // it is not forgotten
	f.dropLocked(s, len(s.events))
	s.first++ // readers that wait for the next event look in the store
	switch {
	case f.opts.Items == nil && isNew:
		s.floor = agent.Position{}
	case f.opts.Items == nil && isRecorded: // what came before is lost
		s.floor = agent.Position{Seq: max(at.Seq, 1) - 1}
	default: // without a record, at is the place of an event that is lost, too
		s.floor = at
	}
	s.last, s.known, s.stopped = s.floor, true, false
	return true
}

// hasRecord reports whether Replay yields an event again.
func hasRecord(e agent.Event) bool {
	switch e.(type) {
	case *agent.ModelStart, *agent.ModelEnd, *agent.ToolStart, *agent.ToolEnd, *agent.Asked, *agent.Replied,
		*agent.Compacted, *agent.TurnEnd, *agent.Suspended, *agent.Output:
		return true
	}
	return false
}

// NotifyStopped tells the readers that this process has stopped working on a run, for whatever reason. Call
// it from OnEnd of [agent.RecoverOptions].
func (f *Feed) NotifyStopped(key run.Key) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.streams[key]
	if s != nil && s.known {
		f.addLocked(s, positionedEvent{refresh(key), s.last})
		s.stopped = true
	}
	s.hintLocked()
}

// Wake makes readers look in the store for events soon, because another process may continue the
// run, for example after a reply.
func (f *Feed) Wake(key run.Key) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.streams[key].hintLocked()
}

// hintLocked has the readers of a stream, which may be nil, look in the store.
func (s *stream) hintLocked() {
	if s != nil {
		s.hints++
		s.wakeLocked()
	}
}

// refresh returns the event that tells a reader to read the state of the run.
func refresh(key run.Key) Event {
	data, _ := json.Marshal(struct {
		Type string `json:"type"`
		Run  string `json:"run"`
	}{"refresh", key.ID})
	return Event{Data: data}
}

func (f *Feed) streamLocked(key run.Key) *stream {
	s := f.streams[key]
	if s == nil {
		s = &stream{key: key}
		f.streams[key] = s
	}
	return s
}

func (f *Feed) addLocked(s *stream, e positionedEvent) {
	f.streams[s.key] = s
	s.events, s.last = append(s.events, e), e.at
	s.size += e.size()
	f.size += e.size()
	if s.element == nil {
		s.element = f.recent.PushFront(s)
	} else {
		f.recent.MoveToFront(s.element)
	}
	for s.size > f.opts.RunBytes && len(s.events) > 0 {
		f.dropLocked(s, 1)
	}
	for f.size > f.opts.TotalBytes {
		oldest := f.recent.Back().Value.(*stream)
		f.dropLocked(oldest, len(oldest.events))
	}
	s.wakeLocked()
}

func (s *stream) wakeLocked() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// changeLocked returns a channel that is closed at the next change.
func (s *stream) changeLocked() <-chan struct{} {
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

func (f *Feed) dropLocked(s *stream, n int) {
	for i := range n {
		s.size -= s.events[i].size()
		f.size -= s.events[i].size()
		s.floor = s.events[i].at
		s.events[i] = positionedEvent{}
	}
	s.first += uint64(n)
	s.events = s.events[n:]
	if len(s.events) > 0 {
		return
	}
	s.events = nil
	if s.element != nil {
		f.recent.Remove(s.element)
		s.element = nil
	}
	f.forgetLocked(s)
}

// forgetLocked drops a stream without events or readers.
func (f *Feed) forgetLocked(s *stream) {
	if s.readers == 0 && len(s.events) == 0 && f.streams[s.key] == s {
		delete(f.streams, s.key)
		f.forgot = f.forgot || s.known
	}
}

// Usage is the memory and the readers of a feed.
type Usage struct {
	Readers int
	Bytes   int // size of the events
	Held    int // size of the events that readers have read and may not have returned yet
}

// Usage returns the current usage.
func (f *Feed) Usage() Usage {
	f.mu.Lock()
	defer f.mu.Unlock()
	return Usage{Readers: f.readers, Bytes: f.size, Held: f.held}
}

// ErrTooManyReaders means that [Options.Readers] is reached.
var ErrTooManyReaders = errors.New("feed: too many readers")
