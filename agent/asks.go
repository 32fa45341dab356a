package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// keysOf are the keys of a round's questions, in a fixed order.
func keysOf(round *mcp.InputRequired) []string {
	return slices.Sorted(maps.Keys(round.Requests))
}

// questionOf makes a question to a person of one of a round, nil if it is of another kind.
func (w *work) questionOf(call string, round *mcp.InputRequired, key string) *run.Ask {
	request := round.Requests[key]
	if params, ok := request.Elicitation(); ok {
		return &run.Ask{Kind: kindOf(params), Key: key, Elicit: params}
	}
	return w.reviewOf(call, key, request)
}

func kindOf(params *mcp.ElicitParams) run.AskKind {
	if params.Mode == mcp.ElicitURL {
		return run.AskURL
	}
	return run.AskForm
}

// questions returns what puts the open questions to Options.Answer, each once, and of several
// for one sign-in the first. It ends the wait for answers to questions that are settled. A handler
// puts the questions that do not survive.
func (w *work) questions() (launch []errand) {
	if w.desk.atHandFunc() == nil {
		return nil
	}
	var asks []*run.Ask
	w.rec.read(func(s *run.State) { asks = slices.Clone(s.Asks) })
	for id, cancel := range w.prompts {
		if !slices.ContainsFunc(asks, func(q *run.Ask) bool { return q.ID == id }) {
			cancel()
			delete(w.prompts, id)
		}
	}
	for _, q := range asks {
		if w.prompts[q.ID] != nil || !q.Survives || w.putsSignIn(q, asks) {
			continue
		}
		ctx, cancel := context.WithCancel(w.ctx)
		w.prompts[q.ID] = cancel
		launch = append(launch, errand{report{key: q.ID}, func() error { return w.put(ctx, q) }})
	}
	return launch
}

// putsSignIn reports whether the sign-in of a question is put for another call. It is put once:
// what the person accepts is for all calls, and after a refusal the next one is put.
func (w *work) putsSignIn(q *run.Ask, asks []*run.Ask) bool {
	return q.Kind == run.AskSignIn && slices.ContainsFunc(asks, func(o *run.Ask) bool {
		return o.Kind == q.Kind && o.Server == q.Server && o.URL == q.URL && w.prompts[o.ID] != nil
	})
}

// put puts a question to the person at hand, and records the answer. Without one the
// question stays open.
func (w *work) put(ctx context.Context, q *run.Ask) error {
	answer, err := w.putOnce(ctx, q)
	switch {
	case w.engine.ctx.Err() != nil:
		return w.ended()
	case w.rec.question(q.ID) == nil:
		return nil // it was settled meanwhile
	case errors.Is(err, run.ErrExpired):
		return w.desk.answered(expired(q, time.Now()))
	case err != nil:
		return notAnswered(q, err)
	case answer == nil:
		return nil
	}
	return w.desk.answered(*answer)
}

// putOnce asks the person at hand. A sign-in that the person is being asked for by another agent of the run
// gets the answer to that.
func (w *work) putOnce(ctx context.Context, q *run.Ask) (answer *run.Answer, err error) {
	if q.Kind == run.AskSignIn {
		other, end, ended := w.rec.ledger.signIns.begin(ctx, q)
		if end == nil {
			return other, ended
		}
		defer func() { end(answer, err) }()
	}
	w.rec.show(&AnswerStart{Ask: q})
	start := time.Now()
	answer, err = w.desk.person(ctx, q)
	w.rec.show(&AnswerEnd{Ask: q, Answer: answer, Err: err, Duration: time.Since(start)})
	return answer, err
}

// notAnswered is the error of Options.Answer, which ends the run.
func notAnswered(q *run.Ask, err error) error {
	return fmt.Errorf("answer the question about %s: %w", cmp.Or(q.Tool, q.Server), err)
}

// goOn goes on with a call if all its questions are answered.
func (w *work) goOn(c *run.Call) (func() error, error) {
	round, _, err := roundOf(c)
	if err != nil {
		return nil, err
	}
	waits, sample := false, []string(nil)
	for _, key := range keysOf(round) {
		_, answered := c.Answers[key]
		review, reviewed := c.Reviews[key]
		switch {
		case answered:
		case !reviewed:
			waits = true
		case review.Answer.Action == run.Allow:
			sample = append(sample, key)
		default:
			return nil, w.notAllowed(c, review.Answer)
		}
	}
	switch {
	case !w.sched.room():
		return nil, nil
	case len(sample) > 0:
		return w.sample(c, round, sample)
	case waits:
		return nil, nil
	}
	return w.again(c)
}

// again sends a call: for the first time, or with the answers to its round.
func (w *work) again(c *run.Call) (func() error, error) {
	j := w.job(c)
	if j.err != nil {
		return nil, w.refuse(j, j.err)
	}
	if c.Task != nil {
		return w.await(c)
	}
	if len(c.Round) == 0 {
		return w.intend(c, j, (*job).run)
	}
	round, answers, err := roundOf(c)
	if err != nil {
		return nil, err
	}
	return w.intend(c, j, func(j *job, ctx context.Context, opts callOptions) *adapter.Result {
		return j.call.Continue(ctx, round, answers, opts...)
	})
}

// roundOf is the round of a call with its answers, nil if it has none.
func roundOf(c *run.Call) (*mcp.InputRequired, map[string]any, error) {
	if len(c.Round) == 0 {
		return nil, nil, nil
	}
	round := new(mcp.InputRequired)
	if err := json.Unmarshal(c.Round, round); err != nil {
		return nil, nil, fmt.Errorf("read the questions of server %q: %w", c.Server, err)
	}
	answers := make(map[string]any, len(c.Answers))
	for key, value := range c.Answers {
		answers[key] = value
	}
	return round, answers, nil
}
