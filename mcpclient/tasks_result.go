package mcpclient

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcpchain/mcpchain/internal/idle"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// fetchResult polls, and asks for the result if there is one or if the server
// needs input: the server asks during that request.
func (w *waiting) fetchResult(ctx context.Context) (json.RawMessage, error) {
	for {
		task, err := w.poll(ctx, w.opts)
		switch {
		case err != nil:
			return nil, err
		case task.state.Status == mcp.TaskCancelled:
			return nil, ErrTaskCancelled
		case task.state.Status != mcp.TaskWorking:
			return w.fetch(ctx)
		}
		if err := w.pause(ctx, task.state); err != nil {
			return nil, err
		}
	}
}

// fetch asks for the result. It comes at the end of the task; until then the
// server may be silent.
func (w *waiting) fetch(ctx context.Context) (json.RawMessage, error) {
	defer idle.From(ctx).Hold()()
	var raw json.RawMessage
	opts := append(slices.Clip(w.opts), func(o *callOptions) { o.lasts = true })
	err := w.call(ctx, w.by, w.request("tasks/result"), &raw, opts)
	return raw, err
}

// pollResult polls until the answer has the result in it.
func (w *waiting) pollResult(ctx context.Context) (json.RawMessage, error) {
	rounds := 0
	for {
		task, err := w.poll(ctx, w.opts)
		if err != nil {
			return nil, err
		}
		switch task.state.Status {
		case mcp.TaskCompleted:
			if len(task.Result) == 0 {
				return nil, fmt.Errorf("%w: a completed task without a result", mcp.ErrInvalidResult)
			}
			return task.Result, nil
		case mcp.TaskFailed:
			if len(task.Error) == 0 {
				return nil, fmt.Errorf("%w: a failed task without an error", mcp.ErrInvalidResult)
			}
			return nil, w.client.rpcError(task.Error)
		case mcp.TaskCancelled:
			return nil, ErrTaskCancelled
		case mcp.TaskInputRequired:
			asked, err := w.answer(ctx, task.Input, w.opts)
			if err != nil {
				return nil, err
			}
			if rounds += asked; rounds > w.limits.Rounds {
				return nil, fmt.Errorf("%w: the task asked for input %d times (Options.Limits.Rounds)", ErrTooManyRounds, rounds)
			}
		}
		if err := w.pause(ctx, task.state); err != nil {
			return nil, err
		}
	}
}

// answer answers the new questions, and returns 1 if there were any. Each
// question is answered once, although it stays until the server has seen the
// answer.
func (t *Task) answer(ctx context.Context, questions json.RawMessage, opts []CallOption) (asked int, err error) {
	input, err := t.claim(questions)
	if err != nil || len(input) == 0 {
		return 0, err
	}
	defer func() {
		if err != nil {
			t.disclaim(input)
		}
	}()
	if len(input) > t.limits.ServerRequests {
		return 0, fmt.Errorf("%w: the task asks %d questions at once, more than %d (Options.Limits.ServerRequests)",
			mcp.ErrInvalidResult, len(input), t.limits.ServerRequests)
	}
	answers, err := t.client.gather(ctx, input, t.info())
	if err != nil {
		return 0, err
	}
	raw, err := jsonrpc.Marshal(answers)
	if err != nil {
		return 0, err
	}
	r := t.request("tasks/update")
	r.params = jsonrpc.CloseObject(jsonrpc.AppendMember(jsonrpc.AppendMembers([]byte{'{'}, r.params), "inputResponses", raw))
	if err := t.call(ctx, t.by, r, nil, opts); err != nil {
		return 0, fmt.Errorf("answer: %w", err)
	}
	return 1, nil
}

// claim reads the questions without an answer, finished or under way. Then they
// count as answered.
func (t *Task) claim(questions json.RawMessage) (map[string]mcp.InputRequest, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	input, err := t.client.questions(questions, len(t.answered))
	for key := range input {
		hash := sha256.Sum256([]byte(key))
		if t.answered[hash] {
			delete(input, key)
			continue
		}
		if t.answered == nil {
			t.answered = map[[sha256.Size]byte]bool{}
		}
		t.answered[hash] = true
	}
	return input, err
}

// disclaim marks questions as not answered.
func (t *Task) disclaim(input map[string]mcp.InputRequest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key := range input {
		delete(t.answered, sha256.Sum256([]byte(key)))
	}
}

// polledTask is a server's answer to a poll.
type polledTask struct {
	state mcp.TaskState
	taskOutcome
}

// taskOutcome is a task's questions or result, in the answer to a modern poll.
type taskOutcome struct {
	Input  json.RawMessage `json:"inputRequests"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}
