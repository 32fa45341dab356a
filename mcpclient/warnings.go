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

	mu         sync.Mutex
	violations int
	failures   int
}

// logViolation warns about a harmless violation of the protocol.
func (w *warnings) logViolation(violation string, args ...any) {
	w.warn(w.life.Context(), &w.violations, violation, args)
}

// logFailure warns that something could not be done for the server.
func (w *warnings) logFailure(ctx context.Context, message string, args ...any) {
	w.warn(ctx, &w.failures, message, args)
}

// warn logs a warning unless there were too many: a server must not fill the log.
func (w *warnings) warn(ctx context.Context, count *int, message string, args []any) {
	w.mu.Lock()
	*count++
	n := *count
	w.mu.Unlock()
	args = append(args, "count", n)
	switch {
	case n < maxWarnings:
		w.log.WarnContext(ctx, message, args...)
	case n == maxWarnings:
		w.log.WarnContext(ctx, message+"; later ones on this connection are logged at Debug", args...)
	default:
		w.log.DebugContext(ctx, message, args...)
	}
}
