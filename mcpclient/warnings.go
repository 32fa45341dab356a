package mcpclient

import (
	"context"
	"log/slog"
	"sync"

	"github.com/mcpchain/mcpchain/mcpclient/internal/lifecycle"
)

// maxWarnings bounds the warnings about what one connection brings.
const maxWarnings = 100

// warnings are about what a server does on one connection.
type warnings struct {
	life *lifecycle.Lifecycle
	log  *slog.Logger

	mu                 sync.Mutex
	breaches, failures int // of the protocol, and of answering the server
}

// tolerated warns of a breach of the protocol that does no harm.
func (w *warnings) tolerated(breach string, args ...any) {
	w.warn(w.life.Context(), &w.breaches, breach, args)
}

// failed warns of what could not be done for the server.
func (w *warnings) failed(ctx context.Context, what string, args ...any) {
	w.warn(ctx, &w.failures, what, args)
}

// warn warns of what a server brought about, unless it has warned of too much: a
// server must not fill the log.
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
