package mcpclient

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// tasksExtension is declared by both sides; we declare it on the requests whose
// result may be a task, and on those about tasks.
const tasksExtension = "io.modelcontextprotocol/tasks"

func (e *modernEra) taskable(c *Client, _ *Tool) error {
	if !c.offers.tasks && !c.opts.AllowUndeclared {
		return errors.New("Options.Capabilities does not declare the extension " + tasksExtension)
	}
	if _, ok := c.server.Load().Capabilities.Extensions[tasksExtension]; !ok && !c.opts.AllowUndeclared {
		return &CapabilityError{Method: "tools/call", Capability: "the extension " + tasksExtension}
	}
	return nil
}

func (e *modernEra) taskRequest(r *request, _ time.Duration) *request { return r }

// modernTask is a task with what it needs or has come to.
type modernTask struct {
	taskFacts
	TTL    *float64        `json:"ttlMs"`
	Poll   *float64        `json:"pollIntervalMs"`
	Input  json.RawMessage `json:"inputRequests"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func readModernTask(raw json.RawMessage) (*modernTask, TaskState, error) {
	task := new(modernTask)
	if err := json.Unmarshal(raw, task); err != nil {
		return nil, TaskState{}, fmt.Errorf("%w: %v: %s", ErrInvalidResult, err, quote(raw))
	}
	state, err := task.state(task.TTL, task.Poll)
	return task, state, err
}

func (e *modernEra) created(raw json.RawMessage) (TaskState, bool, error) {
	var result struct {
		ResultType string `json:"resultType"`
	}
	if err := json.Unmarshal(raw, &result); err != nil || result.ResultType != "task" {
		return TaskState{}, false, err
	}
	_, state, err := readModernTask(raw)
	return state, true, err
}

func (e *modernEra) polled(raw json.RawMessage) (TaskState, error) {
	_, state, err := readModernTask(raw)
	return state, err
}

// taskResult polls until the answer has the result in it.
func (e *modernEra) taskResult(ctx context.Context, t *Task, opts []CallOption) (json.RawMessage, error) {
	rounds := 0
	for {
		state, raw, err := t.poll(ctx, opts)
		if err != nil {
			return nil, err
		}
		task, _, err := readModernTask(raw)
		if err != nil {
			return nil, err
		}
		switch state.Status {
		case TaskCompleted:
			if len(task.Result) == 0 {
				return nil, fmt.Errorf("%w: a completed task without a result", ErrInvalidResult)
			}
			return task.Result, nil
		case TaskFailed:
			if len(task.Error) == 0 {
				return nil, fmt.Errorf("%w: a failed task without an error", ErrInvalidResult)
			}
			return nil, rpcError(task.Error, t.client.link.Load().scrub)
		case TaskCancelled:
			return nil, ErrTaskCancelled
		case TaskInputRequired:
			asked, err := t.answer(ctx, task.Input, opts)
			if err != nil {
				return nil, err
			}
			if rounds += asked; rounds > t.client.opts.MaxRounds {
				return nil, fmt.Errorf("%w: the task asked for input %d times (Options.MaxRounds)", ErrTooManyRounds, rounds)
			}
		}
		if err := t.pause(ctx, state); err != nil {
			return nil, err
		}
	}
}

// answer answers the questions that are new, and returns 1 when there were any.
// Each is answered once, although it stays until the server has seen that.
func (t *Task) answer(ctx context.Context, questions json.RawMessage, opts []CallOption) (asked int, err error) {
	c := t.client
	input, err := t.claim(questions)
	if err != nil || len(input) == 0 {
		return 0, err
	}
	defer func() {
		if err != nil {
			t.disclaim(input)
		}
	}()
	if len(input) > c.opts.MaxServerRequests {
		return 0, fmt.Errorf("%w: the task asks %d questions at once, more than %d (Options.MaxServerRequests)",
			ErrInvalidResult, len(input), c.opts.MaxServerRequests)
	}
	answers, err := c.gather(ctx, input, CallInfo{ID: t.call, Method: "tools/call", Name: t.tool})
	if err != nil {
		return 0, err
	}
	raw, err := jsonrpc.Marshal(answers)
	if err != nil {
		return 0, err
	}
	r := t.request("tasks/update")
	r.params = closeObject(appendMember(appendMembers([]byte{'{'}, r.params), "inputResponses", raw))
	if err := c.call(ctx, r, nil, opts); err != nil {
		return 0, fmt.Errorf("answer: %w", err)
	}
	return 1, nil
}

// claim reads the questions that nobody has answered or is answering. They count
// as answered from then on.
func (t *Task) claim(questions json.RawMessage) (map[string]InputRequest, error) {
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

// disclaim has questions be asked again.
func (t *Task) disclaim(input map[string]InputRequest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key := range input {
		delete(t.answered, sha256.Sum256([]byte(key)))
	}
}
