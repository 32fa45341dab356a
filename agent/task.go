package agent

import (
	"context"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/internal/ledger"
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
