package mcpclient

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// taskInput is the method that answers the questions of a task.
const taskInput = "tasks/update"

// answer answers the new questions. Each question is answered once, although it stays until the
// server has seen the answer. After an error it counts as not answered.
func (t *Task) answer(ctx context.Context, questions json.RawMessage, opts []CallOption) (err error) {
	input, rounds, err := t.claim(questions)
	if err != nil || len(input) == 0 {
		return err
	}
	defer func() {
		if err != nil {
			t.disclaim(input)
		}
	}()
	switch {
	case len(input) > t.limits.ServerRequests:
		return fmt.Errorf("%w: the task asks %d questions at once, more than %d (Options.Limits.ServerRequests)",
			mcp.ErrInvalidResult, len(input), t.limits.ServerRequests)
	case rounds > t.limits.Rounds:
		return tooManyRoundsError("task", t.limits.Rounds)
	}
	answers, err := t.gather(ctx, input, t.info())
	if errors.Is(err, mcp.ErrAnswerLater) {
		return &mcp.InputRequired{
			Method:   taskInput,
			Params:   t.request(taskInput).params,
			Requests: input,
			Answers:  answers,
			Rounds:   rounds,
		}
	}
	if err != nil {
		return err
	}
	return t.update(ctx, answers, opts)
}

// Answer answers what a task asks: round is the [*mcp.InputRequired] with which [Task.Wait] or a
// call [WithTask] has ended, even in another process, and answers are as for [Continue]. Wait again
// afterwards. Questions that the task does not ask any more are left out, so that Answer may be
// repeated.
func (t *Task) Answer(ctx context.Context, round *mcp.InputRequired, answers map[string]any, opts ...CallOption) error {
	if t.id == "" {
		return t.failure(errNoTask)
	}
	if err := t.answerRound(ctx, round, answers, opts); err != nil {
		return t.failure(err)
	}
	return nil
}

// answerRound sends the answers to those questions of a round that the task still asks.
func (t *Task) answerRound(ctx context.Context, round *mcp.InputRequired, answers map[string]any, opts []CallOption) (err error) {
	if round == nil || round.Method != taskInput || !bytes.Equal(round.Params, t.request(taskInput).params) {
		return errors.New("round does not belong to this task")
	}
	given, err := encodeAnswers(round, answers)
	if err != nil {
		return err
	}
	t.claimRound(round)
	defer func() {
		if err != nil {
			t.disclaim(round.Requests)
		}
	}()
	task, err := t.poll(ctx, opts)
	if err != nil || task.state.Status != mcp.TaskInputRequired {
		return err
	}
	asked, err := t.questions(task.Input, len(given))
	if err != nil {
		return err
	}
	maps.DeleteFunc(given, func(key string, _ json.RawMessage) bool {
		_, open := asked[key]
		return !open
	})
	if len(given) == 0 {
		return nil
	}
	return t.update(ctx, given, opts)
}

// claim returns the questions that have no answer yet, not even one in preparation, and the number
// of rounds including theirs. From then on they count as answered.
func (t *Task) claim(questions json.RawMessage) (_ map[string]mcp.InputRequest, rounds int, _ error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	input, err := t.questions(questions, len(t.answered))
	for key := range input {
		hash := sha256.Sum256([]byte(key))
		if t.answered[hash] {
			delete(input, key)
			continue
		}
		t.answered[hash] = true
	}
	if len(input) > 0 {
		t.rounds++
	}
	return input, t.rounds, err
}

// claimRound marks the questions of a round as answered, so that no wait asks them meanwhile.
func (t *Task) claimRound(round *mcp.InputRequired) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key := range round.Requests {
		t.answered[sha256.Sum256([]byte(key))] = true
	}
	t.rounds = max(t.rounds, round.Rounds)
}

func (t *Task) disclaim(input map[string]mcp.InputRequest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key := range input {
		delete(t.answered, sha256.Sum256([]byte(key)))
	}
}

func (t *Task) update(ctx context.Context, answers map[string]json.RawMessage, opts []CallOption) error {
	raw, err := jsonrpc.Marshal(answers)
	if err != nil {
		return err
	}
	r := t.request(taskInput)
	r.params = jsonrpc.CloseObject(jsonrpc.AppendMember(jsonrpc.AppendMembers([]byte{'{'}, r.params), "inputResponses", raw))
	if err := t.call(ctx, r, nil, opts); err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	return nil
}
