package adapter

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// A call that has become a task continues in another process, through the interceptors and without
// another approval.
func TestResume(t *testing.T) {
	for revision, p := range eras() {
		t.Run(revision, func(t *testing.T) {
			var ran, asked int
			opts := &Options{
				Approve: counted(&asked, approval.Allow()),
				Intercept: intercept(func(ctx context.Context, r *Request, next Handler) (*mcp.CallToolResult, error) {
					if ran++; ran == 2 {
						r.Arguments = []byte(`{"a":2}`) // of a call that was sent long ago
					}
					return next(ctx, r)
				}),
			}
			p.status, p.polls = "completed", 5
			withTasks(t, p, opts, func(t *testing.T, ts *Toolset) {
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(2500*time.Millisecond, func() { cancel(mcpclient.ErrDetach) })
				prepared, id := prepare(t, ts, "slow", `{"a":1}`), ""
				r := prepared.Run(ctx, mcpclient.WithTaskStarted(func(s mcp.TaskState) error { id = s.ID; return nil }))
				check.That(t, r.Interrupted() && !r.Unsent() && id == "k", "got %q of task %q, want that it is interrupted", r.Text, id)
				again := open(t, opts, Server{Name: "p", Transport: p.transport(t)})
				tool, err := again.Catalog(profile.Plain).LookupStored("p", "slow", prepared.Tool().Fingerprint())
				check.Must(t, err)
				restored, err := tool.Restore(call("1", "slow", ""), prepared.Arguments(), false)
				check.Must(t, err)
				if r := restored.Resume(t.Context(), id, nil, nil); r.Text != "done" || r.Err != nil || ran != 2 || asked != 1 {
					t.Errorf("got %q, %v, intercepted %d times and approved %d times", r.Text, r.Err, ran, asked)
				}
				n := strings.Count(strings.Join(p.methods, " "), "tools/call")
				check.That(t, n == 1 && !p.asked("tasks/cancel"), "got the requests %q, want one call and nothing cancelled", p.methods)
			})
		})
	}
}

// A call that cannot be resumed says so. A call whose wait was interrupted may be resumed again,
// and does not count as unsent.
func TestResumeThatEnds(t *testing.T) {
	for _, cause := range []error{mcpclient.ErrDetach, context.Canceled} {
		p := eras()["2026-07-28"]
		p.status = "working"
		withTasks(t, p, nil, func(t *testing.T, ts *Toolset) {
			prepared := prepare(t, ts, "slow", "")
			check.Equal(t, "", prepared.Resume(t.Context(), "", nil, nil).Text, "Error: the call cannot be continued: there is no task. Nothing was done.")
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(2500*time.Millisecond, func() { cancel(cause) })
			r := prepared.Resume(ctx, "k", nil, nil)
			synctest.Wait()
			if !r.Interrupted() || !errors.Is(r.Err, context.Canceled) || slices.Contains(p.methods, "tasks/cancel") != (cause == context.Canceled) {
				t.Errorf("%v: got %v and the requests %q", cause, r.Err, p.methods)
			}
			_ = ts.Servers()[0].Client.Close()
			if r := prepared.Resume(t.Context(), "k", nil, nil); !r.Interrupted() || r.Unsent() {
				t.Errorf("got %q, want that it is not known what the task comes to", r.Text)
			}
		})
	}
}
