// Package feed streams the events of runs to many readers, who resume where they stopped.
//
// A program publishes the events of the runs that it drives. The latest stay in memory, as JSON and
// within bounds; earlier ones, and those of other processes, come from the store
// ([agent.Agent.Replay]). A run never waits for a reader.
//
// The id of an event is its position in the run. Events without a record, such as text deltas and
// progress, have no id and are preliminary: a reader that reconnects after an id gets those after
// it again, as far as they are in memory, and should discard its earlier copies. A reader that has
// missed such events gets the event
//
//	{"type":"refresh","run":"…"}
//
// and should read the state of the run again. This event also comes when the process stops working
// on the run, because the run has ended, has failed or waits.
//
// The latest 256 KiB of each run stay in memory, and at most 64 MiB for all runs together; what
// readers have read but not yet sent takes as much again. There are at most 4,096 readers. The program
// examples/page shows a run on a page, and docs/service.md describes the streams of a service.
package feed

import (
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/eventfeed"
)

// Options configure a [Feed]. Nil and the zero value are valid.
type Options struct {
	// Replay yields the events of a run after a position that have a record, as
	// [agent.Agent.Replay] does. Default: events that are not in memory are lost.
	Replay func(ctx context.Context, key run.Key, after agent.Position) iter.Seq2[agent.Event, error]

	// Head returns the head of a run. With it, Replay is called only if there are records that the
	// reader has not seen. A reader that has read all of an ended run gets one refresh event,
	// because a run that failed or was cancelled ends without an event. Default: Replay is called
	// each time, and readers learn only of the end of work in this process.
	Head func(ctx context.Context, key run.Key) (run.Head, error)

	// Poll is how often a reader looks in the store for events of other processes, while this
	// process does not work on the run. If there are none, the interval doubles, up to 8 times
	// Poll, until [Feed.Wake] is called. Default 0, as any negative
	// value: never, for a process that drives all runs.
	Poll time.Duration
}

// Feed holds the latest events of runs. Its methods may be called concurrently. It owns no goroutine
// and needs no Close.
type Feed struct{ events *eventfeed.Feed }

// New returns a feed without events.
func New(opts *Options) *Feed {
	if opts == nil {
		opts = &Options{}
	}
	return &Feed{eventfeed.New(&eventfeed.Options{Replay: opts.Replay, Head: opts.Head, Poll: opts.Poll})}
}

// Publish gives an event to the readers of a run. Events of one run must be published in order, not
// concurrently. Publish can be the OnEvent of [agent.RecoverOptions], which keeps that order.
func (f *Feed) Publish(key run.Key, e agent.Event) { f.events.Publish(key, e) }

// Wake makes readers look in the store for events soon, because another process may continue the
// run, for example after a reply.
func (f *Feed) Wake(key run.Key) { f.events.Wake(key) }

// NotifyStopped tells the readers that this process has stopped working on a run, for whatever reason.
// Call it from OnEnd of [agent.RecoverOptions].
func (f *Feed) NotifyStopped(key run.Key) { f.events.NotifyStopped(key) }

// Serve writes the events of a run as server-sent events until the request ends. The caller must
// have checked that the user may read the run. The stream begins after the event that the header
// Last-Event-ID or else the URL parameter "after" names. Events have no SSE name, so that a page
// gets all of them by onmessage; their data, from [agent.MarshalEvent], has the type. A comment
// follows 15 s of silence, and a client that does not take a write within 30 s loses its stream.
// Serve answers every method and sets no CORS headers. A request that gets no stream is answered with
// the status 400 for an invalid position, 404 for a run that does not exist, 503 if there are too many
// readers, else 500.
func (f *Feed) Serve(w http.ResponseWriter, r *http.Request, key run.Key) {
	f.events.Serve(w, r, key)
}
