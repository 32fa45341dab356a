package host

import (
	"context"
	"log/slog"
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

// warn logs a breach of the protocol.
func (s *Session) warn(what string, args ...any) {
	s.log(slog.LevelWarn, what, append([]any{"peer", "view"}, args...)...)
}

// log writes a line about what a view does as often as it likes, within a rate.
func (s *Session) log(level slog.Level, what string, args ...any) {
	s.mu.Lock()
	ok, left := s.lines.take(maxLines)
	s.mu.Unlock()
	if left > 0 {
		s.opts.Logger.Warn("lines about a view were left out", "count", left)
	}
	if ok {
		s.opts.Logger.Log(context.Background(), level, what, args...)
	}
}
