package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient"
)

// cancelTimeout bounds the telling of a server that nobody waits for a task any
// more.
const cancelTimeout = 5 * time.Second

// onlyAsTask reports whether a tool says that it must be called as a task.
func onlyAsTask(def *mcpclient.Tool) bool {
	var execution struct {
		TaskSupport string `json:"taskSupport"`
	}
	return len(def.Execution) > 0 && json.Unmarshal(def.Execution, &execution) == nil && execution.TaskSupport == "required"
}

// ask has the server run the tool, in the way that the tool wants.
func (t *Tool) ask(ctx context.Context, args json.RawMessage, opts []mcpclient.CallOption) (*mcpclient.CallToolResult, error) {
	if t.task {
		res, err := t.askForTask(ctx, args, opts)
		if _, without := errors.AsType[*mcpclient.CapabilityError](err); !without {
			return res, err
		}
		// What a tool says of tasks counts for nothing at a server without them.
	}
	return t.server.client.CallTool(ctx, t.def.Name, args, opts...)
}

// askForTask calls the tool as a task and waits for its end. A task that is not
// waited for to its end is cancelled. The options go with every request, so that
// a timeout among them does not bound the whole.
func (t *Tool) askForTask(ctx context.Context, args json.RawMessage, opts []mcpclient.CallOption) (*mcpclient.CallToolResult, error) {
	if d := t.opts.Timeout; d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, d, fmt.Errorf("no answer within %v", d))
		defer cancel()
	}
	task, err := t.server.client.StartTool(ctx, t.def, args, 0, opts...)
	if err != nil {
		return nil, err
	}
	res, err := task.Wait(ctx, opts...)
	if err != nil && !task.State().Status.Final() {
		t.server.set.giveUp(ctx, task)
	}
	return res, err
}

// giveUp has a task cancelled in the background, with the values of the call's
// context.
func (t *Toolset) giveUp(ctx context.Context, task *mcpclient.Task) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	t.behind.Go(func() {
		err := task.Cancel(context.WithoutCancel(ctx), mcpclient.WithTimeout(cancelTimeout))
		if err != nil {
			t.opts.Logger.Debug("a task may go on that nobody waits for", "error", err)
		}
	})
}
