package agent

import (
	"context"
	"errors"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// recordTask records that a call has become a task, before its status is first requested.
func (s *sender) recordTask(c *ledger.Call, t mcp.TaskState) error {
	task := ledger.Task{ID: t.ID}
	if t.TTL != nil {
		task.Expires = time.Now().Add(*t.TTL).UTC().Truncate(time.Millisecond)
	}
	if err := s.rec.record(nil, &ledger.Detached{Call: c.ID, Task: task}); err != nil {
		return err
	}
	return s.rec.commit()
}

// awaitTask continues to wait for a task, which another process may have begun, or for which there
// are replies.
func awaitTask(t *turn, c *ledger.Call) (func() error, error) {
	if !t.sched.hasRoom() {
		return nil, nil
	}
	j := t.tools.job(c)
	if j.err != nil {
		return nil, t.sender.recordRefusal(j, j.err)
	}
	round, answers, err := decodeRound(c)
	if err != nil {
		return nil, err
	}
	resume := func(j *job, ctx context.Context, opts callOptions) *adapter.Result {
		return j.call.Resume(ctx, c.Task.ID, round, answers, opts...)
	}
	return func() error { return t.sender.perform(c, j, resume) }, nil
}

// callContext returns the context of a call. If the run is stored, the end of the context
// leaves tasks running for the next process. The caller must call release.
func (s *sender) callContext(j *job) (_ context.Context, release func()) {
	ctx := context.WithValue(s.scope.ctx, callKey{}, &j.about)
	if j.call.Tool() == s.agent.finder.search.Tool() {
		ctx = context.WithValue(ctx, searchKey{}, s.searcher)
	}
	if s.agent.reader.isReader(j.call.Tool()) {
		ctx = context.WithValue(ctx, keptKey{}, s.results)
	}
	if s.rec.writer.hold == nil || j.call.Tool().Local() { // functions create no tasks
		return ctx, func() {}
	}
	detached, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { cancel(errors.Join(mcpclient.ErrDetach, context.Cause(ctx))) })
	return detached, func() {
		stop()
		cancel(nil)
	}
}
