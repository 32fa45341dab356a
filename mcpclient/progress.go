package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// Progress is one notice about a call that is under way.
type Progress struct {
	Progress float64  `json:"progress"`
	Total    *float64 `json:"total,omitempty"` // nil when unknown
	Message  string   `json:"message,omitempty"`
}

// String is how far the call is, for logs: `1 of 2: "reading"`. The message is cut
// to 1 KiB.
func (p Progress) String() string {
	s := decimal(p.Progress)
	if p.Total != nil {
		s += " of " + decimal(*p.Total)
	}
	if p.Message != "" {
		s += ": " + strconv.Quote(cut(p.Message))
	}
	return s
}

func decimal(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// silenceError ends a call that made no progress.
type silenceError struct{ after time.Duration }

func (e *silenceError) Error() string {
	return fmt.Sprintf("neither an answer nor progress within %v: %v", e.after, context.DeadlineExceeded)
}

func (e *silenceError) Unwrap() error { return context.DeadlineExceeded }

// silence ends a call in which nothing is heard for too long.
type silence struct {
	patience time.Duration
	end      *time.Timer

	mu     sync.Mutex
	paused time.Time // nothing is expected before that
	over   bool
}

// heard has patience count anew, after the pause if there is one.
func (s *silence) heard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		pause := min(max(0, time.Until(s.paused)), math.MaxInt64-s.patience)
		s.end.Reset(pause + s.patience)
	}
}

// pause has patience count after d.
func (s *silence) pause(d time.Duration) {
	s.mu.Lock()
	s.paused = time.Now().Add(d)
	s.mu.Unlock()
	s.heard()
}

func (s *silence) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	s.end.Stop()
}

// patient makes a context that ends when there was no progress for too long, which
// the silence measures.
func (o *callOptions) patient(ctx context.Context) (_ context.Context, s *silence, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	s = &silence{patience: o.patience}
	s.end = time.AfterFunc(o.patience, func() { cancel(&silenceError{o.patience}) })
	tell := o.progress
	o.progress = func(p Progress) {
		s.heard()
		if tell != nil {
			tell(p)
		}
	}
	return ctx, s, func() { s.stop(); cancel(nil) }
}

// maxProgress bounds the size of one progress notice for [WithProgress], as
// many of them may wait.
const maxProgress = 16 << 10

// progressed brings a progress notice to its call, or to who waits for the task that
// the call became. The token of a call is its id; notices for other tokens are
// ignored, as the call may have ended.
func (l *link) progressed(c *Client, params json.RawMessage) {
	if len(params) > maxProgress {
		l.tolerated(c, "ignored a progress notice that is too large", "bytes", len(params))
		return
	}
	var p struct {
		Token json.RawMessage `json:"progressToken"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	m := jsonrpc.Message{ID: p.Token}
	id, _, ok := m.IntID()
	if !ok {
		return
	}
	call, ok := l.calls.Find(id)
	if !ok {
		if f := l.follower(id); f != nil {
			call, ok = &f.Call, true
		}
	}
	if ok {
		call.Note(bytes.Clone(params)) // without the rest of the message
	}
}

// tellProgress decodes a notice for a caller who asked for them.
func tellProgress(fn func(Progress), params json.RawMessage) {
	var p Progress
	if fn != nil && json.Unmarshal(params, &p) == nil {
		fn(p)
	}
}

// follower hears the progress of a tool call after that has become a task: its token
// "remains valid throughout the task's lifetime" (2025-11-25 tasks).
type follower struct {
	jsonrpc.Call // that waits for the end of the task
	calls        jsonrpc.Calls

	link  *link // whose followers it is among; nil before the call is sent
	token int64
}

func (c *Client) newFollower() *follower {
	f := new(follower)
	_ = f.calls.Start(&f.Call, c.terms().maxNotifications) // nobody closes them
	return f
}

// enter has f hear of the call with this id, and of none that was sent before.
func (f *follower) enter(l *link, id int64) {
	f.leave()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.followers == nil {
		l.followers = map[int64]*follower{}
	}
	l.followers[id] = f
	f.link, f.token = l, id
}

func (f *follower) leave() {
	if f.link == nil {
		return
	}
	f.link.mu.Lock()
	defer f.link.mu.Unlock()
	delete(f.link.followers, f.token)
}

// follower is the one that hears of a call which has its response, nil when there is
// none.
func (l *link) follower(token int64) *follower {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.followers[token]
}
