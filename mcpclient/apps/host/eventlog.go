package host

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// maxLines bounds the log lines about violations of the protocol and refused requests, per minute.
const maxLines = 60

// rate counts events per minute.
type rate struct {
	minute time.Time // to which count belongs
	count  int
}

// allow counts an event, and reports whether it is among the first limit events of its minute. In a
// new minute, dropped is the number of events above the limit in the previous one.
func (r *rate) allow(limit int) (ok bool, dropped int) {
	if now := time.Now(); now.Sub(r.minute) >= time.Minute {
		dropped = max(r.count-limit, 0)
		r.minute, r.count = now, 0
	}
	r.count++
	return r.count <= limit, dropped
}

// eventLog logs events that a view can cause at will, at a limited rate.
type eventLog struct {
	logger *slog.Logger

	mu    sync.Mutex
	lines rate
}

func (l *eventLog) warn(what string, args ...any) {
	l.log(slog.LevelWarn, what, append([]any{"peer", "view"}, args...)...)
}

// log logs an event if fewer than maxLines were logged in this minute. The first line of a later
// minute is preceded by the number of those that were left out.
func (l *eventLog) log(level slog.Level, what string, args ...any) {
	l.mu.Lock()
	ok, dropped := l.lines.allow(maxLines)
	l.mu.Unlock()
	if dropped > 0 {
		l.logger.Warn("lines about a view were left out", "count", dropped)
	}
	if ok {
		l.logger.Log(context.Background(), level, what, args...)
	}
}
