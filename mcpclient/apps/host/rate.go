package host

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// maxLines is how many breaches of the protocol and refused requests are logged in a minute, each
// with a line.
const maxLines = 60

// rate counts what a view does in a minute.
type rate struct {
	minute time.Time // that count is of
	count  int
}

// take counts one more, and reports whether it is within the rate. In a new minute, left is how many
// were over the rate in the one before.
func (r *rate) take(most int) (ok bool, left int) {
	if now := time.Now(); now.Sub(r.minute) >= time.Minute {
		left = max(r.count-most, 0)
		r.minute, r.count = now, 0
	}
	r.count++
	return r.count <= most, left
}

// eventLog logs what a view does as often as it likes, within a rate.
type eventLog struct {
	logger *slog.Logger

	mu    sync.Mutex
	lines rate
}

// warn logs a breach of the protocol.
func (l *eventLog) warn(what string, args ...any) {
	l.log(slog.LevelWarn, what, append([]any{"peer", "view"}, args...)...)
}

func (l *eventLog) log(level slog.Level, what string, args ...any) {
	l.mu.Lock()
	ok, left := l.lines.take(maxLines)
	l.mu.Unlock()
	if left > 0 {
		l.logger.Warn("lines about a view were left out", "count", left)
	}
	if ok {
		l.logger.Log(context.Background(), level, what, args...)
	}
}
