package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/mcpchain/mcpchain/internal/bound"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// maxProgress bounds a progress notification for [WithProgress] in bytes, because many may wait.
const maxProgress = 16 << 10

// onProgress passes a progress notification to its call, or to the follower of the task that
// the call became. The token of a call is its id. Notifications with other tokens are ignored,
// as the call may have ended.
func (l *link) onProgress(params json.RawMessage) {
	if len(params) > maxProgress {
		l.warnings.logViolation("ignored a progress notice that is too large", "bytes", len(params))
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
	if call, ok := l.calls.Find(id); ok {
		bound.From(call.Value.(*inFlight).ctx).Heard()
		call.AddNote(bytes.Clone(params)) // without the rest of the message
	} else if found, ok := l.followers.Load(id); ok {
		f := found.(*follower)
		bound.From(f.ctx).Heard()
		f.AddNote(bytes.Clone(params))
	}
}

func reportProgress(fn func(mcp.Progress), params json.RawMessage) {
	var p mcp.Progress
	if fn != nil && json.Unmarshal(params, &p) == nil {
		fn(p)
	}
}

// follower receives the progress of a tool call that has become a task: its token "remains
// valid throughout the task's lifetime" (2025-11-25 tasks).
type follower struct {
	jsonrpc.Call               // waits for the end of the task
	calls        jsonrpc.Calls // has only this call

	ctx  context.Context // the context of the call
	stop func()          // removes it from the followers of a connection; nil before the call is sent
}

// newFollower returns a follower for a call with this context. It keeps up to maxNotes notifications.
func newFollower(ctx context.Context, maxNotes int) *follower {
	f := &follower{ctx: ctx}
	_ = f.calls.Start(&f.Call, maxNotes) // these calls are not closed
	return f
}

// follow makes f follow the call with this id on a connection, and no earlier one.
func (f *follower) follow(l *link, id int64) {
	f.unfollow()
	l.followers.Store(id, f)
	f.stop = func() { l.followers.Delete(id) }
}

func (f *follower) unfollow() {
	if f.stop != nil {
		f.stop()
	}
}
