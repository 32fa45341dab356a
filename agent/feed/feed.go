// Package feed streams the events of runs to many readers, who resume where they stopped.
//
// A program publishes the events of the runs that it drives. The last ones stay in memory, as
// JSON and within bounds; earlier ones, and the events of a process before, come from the store
// ([agent.Agent.Replay]). A run never waits for a reader.
//
// An event of a record has an id, its position in the run. Events without an id, such as text
// deltas and progress, are preliminary: a reader that connects again after an id gets them once
// more if they are still in memory, and forgets what they showed before. A reader that was too
// slow for them is told to read the state of the run again, by the event
//
//	{"type":"refresh","run":"…"}
//
// which also comes if the process has left the run: it is over, has failed or waits.
//
// The lesson examples/page is a page over it, and docs/service.md shows the streams of a service.
package feed

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

// Options configure a [Feed]. Nil and the zero value are valid. A negative number is no bound.
type Options struct {
	// Replay gives the events of a run after a position that have a record: it is
	// [agent.Agent.Replay]. Default: events that are not in memory are lost.
	Replay func(ctx context.Context, key run.Key, after agent.Position) iter.Seq2[agent.Event, error]

	// Items is Replay for a program that gives its readers items of its own, by [Feed.Put], and not the events of the
	// agent. Default: by Replay.
	Items func(ctx context.Context, key run.Key, after agent.Position) iter.Seq2[Item, error]

	// Head gives the head of a run: Replay is asked only if there are records that the reader
	// has not seen. A reader that has all of the store is told to refresh once if the run is
	// over: runs that failed or were cancelled have no last event. Default: Replay is asked
	// each time, and readers are told only of the end of work in this process.
	Head func(ctx context.Context, key run.Key) (run.Head, error)

	// Poll is how often a reader looks for events of other processes in the store, while this
	// process does not work on the run. A run that does not move is looked at after twice the
	// time, up to 8 times of it, until Expect says that it will. Default 0: never, because this
	// process drives all runs.
	Poll time.Duration

	// RunBytes bounds the events of a run in memory, and TotalBytes the events of all runs: the
	// oldest are dropped. Readers hold as much again of what they have read and not yet passed
	// on, and 16 KiB each in any case. Default 256 KiB and 64 MiB.
	RunBytes, TotalBytes int

	// Readers bounds the readers at the same time. Default 4096.
	Readers int

	// KeepAlive is how long a stream over HTTP is silent before it has a comment, and
	// WriteTimeout how long a write of it may take. Default 15 s and 30 s.
	KeepAlive, WriteTimeout time.Duration

	// Fail writes a response for a request that has no stream. The error matches
	// [record.ErrNotFound], [ErrReaders], or [agent.ErrPosition] if it is the client's. Default:
	// [http.Error] with a fixed text.
	Fail func(w http.ResponseWriter, r *http.Request, err error)
}

// maxReplays bounds the runs that are replayed at the same time.
const maxReplays = 16

func (o *Options) withDefaults() Options {
	var out Options
	if o != nil {
		out = *o
	}
	out.RunBytes, out.TotalBytes = cmp.Or(out.RunBytes, 256<<10), cmp.Or(out.TotalBytes, 64<<20)
	out.Readers = cmp.Or(out.Readers, 4096)
	out.KeepAlive, out.WriteTimeout = cmp.Or(out.KeepAlive, 15*time.Second), cmp.Or(out.WriteTimeout, 30*time.Second)
	for _, bound := range []*int{&out.RunBytes, &out.TotalBytes, &out.Readers} {
		if *bound < 0 {
			*bound = math.MaxInt
		}
	}
	for _, wait := range []*time.Duration{&out.KeepAlive, &out.WriteTimeout} {
		if *wait < 0 {
			*wait = 100 * 365 * 24 * time.Hour
		}
	}
	if out.Fail == nil {
		out.Fail = fail
	}
	if out.Items == nil && out.Replay != nil {
		out.Items = out.replayed
	}
	return out
}

// replayed are the events of Replay as items.
func (o *Options) replayed(ctx context.Context, key run.Key, after agent.Position) iter.Seq2[Item, error] {
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

// Feed has the last events of runs. Its methods may be called concurrently. It owns no
// goroutine and needs no end.
type Feed struct {
	opts    Options
	replays chan struct{} // has a place for each replay

	mu      sync.Mutex // guards the fields below, and the streams
	streams map[run.Key]*stream
	recent  *list.List // streams with events, the last published one in front
	size    int        // of all events
	held    int        // by readers: read, and perhaps not yet passed on
	readers int
}

// New returns a feed without events.
func New(o *Options) *Feed {
	opts := o.withDefaults()
	return &Feed{opts: opts, replays: make(chan struct{}, maxReplays), streams: map[run.Key]*stream{}, recent: list.New()}
}

// Event is one event of a stream.
type Event struct {
	ID   string // its position in the run, empty for one without a record
	Data []byte // JSON, as [agent.MarshalEvent] writes it; shared, do not change it
}

// Item is an event of a record as a program gives it to its readers.
type Item struct {
	At   agent.Position
	Data []byte // for [Event.Data]; nil: readers get nothing of it
}

// stream is what is in memory of a run: its last events without a gap.
type stream struct {
	key    run.Key
	events []published
	first  uint64         // number of events[0] in this stream
	floor  agent.Position // all events after it are in memory
	last   agent.Position // of the last event
	begun  bool           // floor and last are known
	left   bool           // another process may have continued the run
	visits int            // of this process that had no events: readers look into the store
	leaves int            // of this process that had events: the last ones may not have come
	size   int
	place  *list.Element // in Feed.recent, nil without events

	readers int
	news    chan struct{} // closed by the next change, nil if no reader waits
}

// published is an event with its place.
type published struct {
	Event
	at agent.Position
}

// overhead is what an event takes in memory beside its bytes, about.
const overhead = 128

func (e *published) size() int { return len(e.ID) + len(e.Data) + overhead }

// Publish gives an event of a run to its readers. The events of a run must come one after the
// other, as the agent gives them. It is an OnEvent of [agent.RecoverOptions].
func (f *Feed) Publish(key run.Key, e agent.Event) {
	data, err := agent.MarshalEvent(e)
	f.mu.Lock()
	defer f.mu.Unlock()
	s, at := f.streamLocked(key), e.Position()
	fresh := f.freshLocked(s, at)
	p := published{Event{Data: data}, at}
	if hasRecord(e) && (fresh || s.last.Before(at)) {
		p.ID = at.String()
	}
	f.addLocked(s, p)
	if err != nil {
		f.dropLocked(s, len(s.events)) // readers get it from the store
	}
}

// Put gives an item of a run to its readers, as Publish does with an event, unless a later one is there.
func (f *Feed) Put(key run.Key, i Item) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.streamLocked(key)
	switch fresh := f.freshLocked(s, i.At); {
	case !fresh && !s.last.Before(i.At):
	case i.Data == nil:
		s.last = i.At
	default:
		f.addLocked(s, published{Event{i.At.String(), i.Data}, i.At})
	}
}

// freshLocked reports whether an event is the first one of a visit to the run, which it begins.
func (f *Feed) freshLocked(s *stream, at agent.Position) bool {
	fresh := s.left || !s.begun
	if fresh {
		f.restartLocked(s, at)
	}
	return fresh
}

// hasRecord reports whether Replay gives an event again.
func hasRecord(e agent.Event) bool {
	switch e.(type) {
	case *agent.ModelStart, *agent.ModelEnd, *agent.ToolStart, *agent.ToolEnd, *agent.Asked, *agent.Replied,
		*agent.Compacted, *agent.TurnEnd, *agent.Suspended, *agent.Output:
		return true
	}
	return false
}

// Leave says that the process has stopped to work on a run, for whatever reason. It belongs
// into OnEnd of [agent.RecoverOptions].
func (f *Feed) Leave(key run.Key) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.streams[key]
	switch {
	case s == nil:
	case s.begun:
		f.addLocked(s, published{refresh(key), s.last})
		s.left = true
		s.leaves++
	default:
		s.visits++
		s.wakeLocked()
	}
}

// Expect says that another process continues a run, for example because it has an answer:
// readers look for its events soon.
func (f *Feed) Expect(key run.Key) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.streams[key]; s != nil {
		s.visits++
		s.wakeLocked()
	}
}

// refresh tells a reader to read the state of the run.
func refresh(key run.Key) Event {
	data, _ := json.Marshal(struct {
		Type string `json:"type"`
		Run  string `json:"run"`
	}{"refresh", key.ID})
	return Event{Data: data}
}

// streamLocked is the stream of a run, which is made if there is none.
func (f *Feed) streamLocked(key run.Key) *stream {
	s := f.streams[key]
	if s == nil {
		s = &stream{key: key}
		f.streams[key] = s
	}
	return s
}

// restartLocked forgets the events: others may lie between them and the next one.
func (f *Feed) restartLocked(s *stream, at agent.Position) {
	f.dropLocked(s, len(s.events))
	s.first++ // readers that wait for the next event look into the store
	if s.floor = at; f.opts.Items == nil && !s.begun {
		s.floor = agent.Position{}
	}
	s.last, s.begun, s.left = s.floor, true, false
}

// addLocked adds an event and wakes the readers.
func (f *Feed) addLocked(s *stream, e published) {
	f.streams[s.key] = s
	s.events, s.last = append(s.events, e), e.at
	s.size += e.size()
	f.size += e.size()
	if s.place == nil {
		s.place = f.recent.PushFront(s)
	} else {
		f.recent.MoveToFront(s.place)
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

// wakeLocked wakes the readers that wait.
func (s *stream) wakeLocked() {
	if s.news != nil {
		close(s.news)
		s.news = nil
	}
}

// newsLocked is closed by the next change.
func (s *stream) newsLocked() <-chan struct{} {
	if s.news == nil {
		s.news = make(chan struct{})
	}
	return s.news
}

// dropLocked drops the first n events.
func (f *Feed) dropLocked(s *stream, n int) {
	for i := range n {
		s.size -= s.events[i].size()
		f.size -= s.events[i].size()
		s.floor = s.events[i].at
		s.events[i] = published{}
	}
	s.first += uint64(n)
	if s.events = s.events[n:]; len(s.events) > 0 {
		return
	}
	s.events = nil
	if s.place != nil {
		f.recent.Remove(s.place)
		s.place = nil
	}
	f.forgetLocked(s)
}

// forgetLocked drops a stream without events and readers.
func (f *Feed) forgetLocked(s *stream) {
	if s.readers == 0 && len(s.events) == 0 && f.streams[s.key] == s {
		delete(f.streams, s.key)
	}
}

// Usage is what a feed has in memory.
type Usage struct {
	Runs, Readers int
	Bytes         int // of events
	Held          int // by readers: read, and perhaps not yet passed on
}

// Usage returns what the feed has in memory.
func (f *Feed) Usage() Usage {
	f.mu.Lock()
	defer f.mu.Unlock()
	return Usage{len(f.streams), f.readers, f.size, f.held}
}

// ErrReaders says that there are too many readers.
var ErrReaders = errors.New("feed: there are too many readers")
