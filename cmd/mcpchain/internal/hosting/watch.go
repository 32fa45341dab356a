package hosting

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

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

	mu   sync.Mutex // guards the following field
	down map[string]bool
}

// NewWatch pings the servers at intervals until stop is called. It logs when a server stops
// answering and when it answers again.
func NewWatch(servers func() []adapter.ServerStatus, logger *slog.Logger) (w *Watch, stop func()) {
	w = &Watch{servers: servers, logger: logger, down: map[string]bool{}}
	return w, startLoop(watchInterval, w.pingAll)
}

// IsDown reports whether a server did not answer the last ping. It is false for a server that was
// not pinged.
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
}
