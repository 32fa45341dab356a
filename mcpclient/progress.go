package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
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

// patient makes a context that ends when there was no progress for too long, which
// silence measures.
func (o *callOptions) patient(ctx context.Context) (_ context.Context, silence *time.Timer, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	silence = time.AfterFunc(o.patience, func() { cancel(&silenceError{o.patience}) })
	tell := o.progress
	o.progress = func(p Progress) {
		silence.Reset(o.patience)
		if tell != nil {
			tell(p)
		}
	}
	return ctx, silence, func() { silence.Stop(); cancel(nil) }
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
