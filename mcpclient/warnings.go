package mcpclient

import (
	"context"
	"log/slog"
	"sync"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/mcpclient/internal/lifecycle"
	"github.com/mcpchain/mcpchain/mcpclient/internal/redact"
	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

const maxWarnings = 100

// warnings logs the violations and failures of one connection.
type warnings struct {
	life *lifecycle.Lifecycle
	log  *slog.Logger

	mu         sync.Mutex
	violations int
	failures   int
}

func (w *warnings) logViolation(violation string, args ...any) {
	w.warn(w.life.Context(), &w.violations, violation, args)
}

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

// redactor removes the secrets of a connection from texts for errors and logs.
type redactor struct{ conn transport.Conn }

func (r *redactor) scrub(text string) string {
	if conn, ok := wire.As[wire.Redactor](r.conn); ok {
		return conn.Redact(text)
	}
	return text
}

// cut shortens a server's text to 1 KiB, without secrets.
func (r *redactor) cut(text string) string {
	return excerpt.Cut(r.scrub(text[:min(len(text), redact.Max)]))
}

func (r *redactor) quote(b []byte) string {
	return excerpt.Quote([]byte(r.cut(string(b[:min(len(b), redact.Max)]))))
}
