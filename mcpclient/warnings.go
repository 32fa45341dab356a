package mcpclient

import (
	"context"
	"log/slog"
	"sync"

	"github.com/mcpchain/mcpchain/mcpclient/internal/lifecycle"
)

// maxWarnings bounds the warnings of each kind about one connection.
const maxWarnings = 100

// warnings logs what a server does wrong on one connection.
type warnings struct {
	life *lifecycle.Lifecycle
	log  *slog.Logger

	mu       sync.Mutex
	breaches int // of the protocol
	failures int // to do something for the server
}

// tolerated warns about a harmless violation of the protocol.
func (w *warnings) tolerated(breach string, args ...any) {
	w.warn(w.life.Context(), &w.breaches, breach, args)
}

// failed warns about something that could not be done for the server.
func (w *warnings) failed(ctx context.Context, what string, args ...any) {
	w.warn(ctx, &w.failures, what, args)
}

// warn logs a warning unless there were too many: a server must not fill the log.
func (w *warnings) warn(ctx context.Context, count *int, what string, args []any) {
	w.mu.Lock()
	*count++
	n := *count
	w.mu.Unlock()
	args = append(args, "count", n)
	switch {
	case n < maxWarnings:
		w.log.WarnContext(ctx, what, args...)
	case n == maxWarnings:
		w.log.WarnContext(ctx, what+"; the connection brought many such things: later ones are not logged", args...)
	default:
		w.log.DebugContext(ctx, what, args...)
	}
}
