package hosting

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Every calls do at intervals, the first time immediately, until the context ends. An interval
// begins when do has returned.
func Every(ctx context.Context, interval time.Duration, do func()) {
	for {
		do()
		select {
		case <-ctx.Done():
			return
		case <-time.After(interval):
		}
	}
}

// StartLoop calls do at intervals, as Every does, on a goroutine of its own, until stop is called.
// stop ends the context of do, and waits for it.
func StartLoop(interval time.Duration, do func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { Every(ctx, interval, func() { do(ctx) }) })
	return func() {
		cancel()
		work.Wait()
	}
}

// checkInterval is how often [WhileSignedIn] asks.
const checkInterval = 15 * time.Second

// WhileSignedIn returns a context for a long response. It ends within 15 s after signedIn has become
// false: the person has signed out, or the token was revoked. end ends it, and waits for signedIn.
func WhileSignedIn(parent context.Context, signedIn func() bool) (ctx context.Context, end func()) {
	ctx, cancel := context.WithCancel(parent)
	stop := StartLoop(checkInterval, func(context.Context) {
		if !signedIn() {
			cancel()
		}
	})
	return ctx, func() { cancel(); stop() }
}

// tidyInterval returns the time between deletions of old runs: a tenth of the time that they are
// kept, from a second to an hour.
func tidyInterval(kept time.Duration) time.Duration {
	return min(max(kept/10, time.Second), time.Hour)
}

// Tidy deletes runs that ended longer ago than kept, until stop is called. It logs what it could not delete.
func Tidy(store record.Store, kept time.Duration, logger *slog.Logger) (stop func()) {
	return StartLoop(tidyInterval(kept), func(ctx context.Context) {
		n, err := record.DeleteEnded(ctx, store, record.Query{AllTenants: true, ChangedBefore: time.Now().Add(-kept)})
		if err != nil && ctx.Err() == nil {
			logger.Warn("runs that are over cannot be deleted", "error", err)
		}
		if n > 0 {
			logger.Info("runs were deleted", "runs", n, "over for", kept)
		}
	})
}

// The times of a [Watch].
const (
	watchInterval = 30 * time.Second // between pings
	watchWait     = 10 * time.Second // for the answer of a server
)

// Watch knows which servers over HTTP do not answer: they have no connection whose end would tell.
// Its methods may be called concurrently.
type Watch struct {
	servers func() []adapter.ServerStatus
	logger  *slog.Logger
	changed func()

	mu   sync.Mutex // guards the following field
	down map[string]bool
}

// NewWatch pings the servers at intervals until stop is called. When a server stops answering, and when it answers again,
// it logs that and calls changed, possibly concurrently.
func NewWatch(servers func() []adapter.ServerStatus, logger *slog.Logger, changed func()) (w *Watch, stop func()) {
	w = &Watch{servers: servers, logger: logger, changed: changed, down: map[string]bool{}}
	return w, StartLoop(watchInterval, w.pingAll)
}

// IsDown reports whether a server did not answer the last ping. It is false for a server that was not pinged.
func (w *Watch) IsDown(server string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.down[server]
}

// pingAll pings the servers concurrently.
func (w *Watch) pingAll(ctx context.Context) {
	var all sync.WaitGroup
	for _, s := range w.servers() {
		if s.Client == nil {
			continue
		}
		if _, ok := s.Client.Transport().(*mcpclient.HTTP); ok {
			all.Go(func() { w.ping(ctx, s) })
		}
	}
	all.Wait()
}

// ping pings a server, and logs a change. A server that answers with an error answers.
func (w *Watch) ping(ctx context.Context, s adapter.ServerStatus) {
	limited, cancel := context.WithTimeout(ctx, watchWait)
	defer cancel()
	err := s.Client.Ping(limited)
	if _, answered := errors.AsType[*mcp.RPCError](err); answered {
		err = nil
	}
	if ctx.Err() != nil {
		return
	}
	w.mu.Lock()
	before := w.down[s.Name]
	w.down[s.Name] = err != nil
	w.mu.Unlock()
	switch {
	case err != nil && !before:
		w.logger.Warn("a server does not answer", "server", s.Name, "error", err)
	case err == nil && before:
		w.logger.Info("a server answers again", "server", s.Name)
	}
	if before != (err != nil) {
		w.changed()
	}
}
