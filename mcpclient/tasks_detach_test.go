package mcpclient_test

import (
	"cmp"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// WithTaskStarted gets the task before it is polled, and the caller may leave the task running.
// So may a wait for a task of another process.
func TestTaskThatIsLeft(t *testing.T) {
	refused := errors.New("cannot be kept")
	for name, tt := range map[string]struct {
		cause   error // ends the context after 2.5 s; nil for none
		refuse  error // of the function WithTaskStarted
		wait    bool  // by Task.Wait instead of a call
		cancels bool
	}{
		"call, detached":    {cause: mcpclient.ErrDetach},
		"call, given up":    {cause: context.Canceled, cancels: true},
		"call, not kept":    {refuse: refused, cancels: true},
		"resumed, detached": {cause: mcpclient.ErrDetach, wait: true},
		"resumed, given up": {cause: context.Canceled, wait: true, cancels: true},
	} {
		t.Run(name, func(t *testing.T) {
			working(t, noChange, func(t *testing.T, c *mcpclient.Client, w *worker) {
				w.polls = -1
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if tt.cause != nil {
					time.AfterFunc(2500*time.Millisecond, func() { cancel(tt.cause) })
				}
				var err error
				if tt.wait {
					_, err = c.Task("k", "slow").Wait(ctx, mcpclient.WithTask(slow))
				} else {
					_, err = c.CallTool(ctx, "slow", nil, mcpclient.WithTask(slow), mcpclient.WithTaskStarted(func(s mcp.TaskState) error {
						if s.ID != "k" || len(w.seen) != 1 {
							t.Errorf("told of %q after %q", s.ID, w.methods())
						}
						return tt.refuse
					}))
				}
				if want := cmp.Or(tt.refuse, context.Canceled); !errors.Is(err, want) {
					t.Errorf("got %v, want %v", err, want)
				}
				w.cancelled(t, tt.cancels)
			})
		})
	}
}
