package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/doubttext"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// inputRequired returns what the server needs to continue a call, nil if it needs nothing.
func inputRequired(r *adapter.Result) *mcp.InputRequired {
	round, _ := errors.AsType[*mcp.InputRequired](r.Err)
	return round
}

// recordPause records that a server needs input to continue a call, and opens its questions. If the
// run cannot keep them, or one of them cannot be answered, the call ends.
func (s *sender) recordPause(c *ledger.Call, j *job, result *adapter.Result) error {
	round := inputRequired(result)
	data, err := json.Marshal(round)
	if err != nil {
		return fmt.Errorf("keep the questions of server %q: %w", c.Server, err)
	}
	var kept int64 // by the whole run
	s.rec.read(func(*ledger.State) { kept = s.rec.writer.root.SinceInput().RoundBytes })
	if len(data) > maxRound || kept+int64(len(data)) > maxRounds {
		text := "Error: the tool asked for input with more data than a run keeps. " + givenUp
		err := fmt.Errorf("server %q asks for input with %d bytes, the run has %d of such bytes, "+
			"and keeps %d at once and %d in all",
			c.Server, len(data), kept, maxRound, maxRounds)
		return s.recordOutcome(j, j.errorResult(text, err), 0)
	}
	questions, ok := s.roundQuestions(c, round)
	if !ok {
		text := "Error: the tool asked something that cannot be answered. " + givenUp
		return s.recordOutcome(j, j.errorResult(text, result.Err), 0)
	}
	paused := &ledger.Paused{Call: c.ID, Round: data, Replies: round.Answers}
	return s.questions.addAll([]ledger.Change{paused}, questions)
}

// Bounds of a server's questions and the state that it sends with them, in bytes. The run
// stores both.
const (
	maxRound  = 4 << 20  // bytes of one round
	maxRounds = 64 << 20 // since the last input, of all servers and sub-agents
)

// roundQuestions returns the questions to a person for a round. ok is false if one of its requests
// cannot be answered.
func (s *sender) roundQuestions(c *ledger.Call, round *mcp.InputRequired) (questions []*run.Question, ok bool) {
	var expires time.Time
	s.rec.read(func(s *ledger.State) {
		if task := s.Call(c.ID).Task; task != nil {
			expires = task.Expires // the server may discard the task
		}
	})
	for _, key := range slices.Sorted(maps.Keys(round.Requests)) {
		if _, answered := round.Answers[key]; answered {
			continue
		}
		q := s.servers.newQuestion(c.ID, round, key)
		if q == nil {
			return nil, false
		}
		q.Call, q.Server, q.Tool, q.Survives, q.Expires = c.ID, c.Server, c.Name, true, expires
		questions = append(questions, q)
	}
	return questions, true
}

// questionKind returns the kind of a question with these params.
func questionKind(params *mcp.ElicitParams) run.QuestionKind {
	if params.Mode == mcp.ElicitURL {
		return run.QuestionURL
	}
	return run.QuestionForm
}

// continueRound continues a call whose questions are all answered. Completions that a person has
// allowed are made before; one that is not allowed ends the call.
func continueRound(t *turn, c *ledger.Call) (func() error, error) {
	round, _, err := decodeRound(c)
	if err != nil {
		return nil, err
	}
	hasOpen := false
	var allowed []string // the keys of completions
	for _, key := range slices.Sorted(maps.Keys(round.Requests)) {
		_, isAnswered := c.Replies[key]
		review, isReviewed := c.Reviews[key]
		switch {
		case isAnswered:
		case !isReviewed:
			hasOpen = true
		case review.Reply.Action == run.ActionAllow:
			allowed = append(allowed, key)
		default:
			return nil, t.sender.recordNotAllowed(c, review.Reply)
		}
	}
	switch {
	case len(allowed) > 0:
		return t.sample(c, round, allowed)
	case hasOpen:
		return nil, nil
	}
	return t.send(c)
}

// decodeRound returns the round of a call and its answers, nil if there is none.
func decodeRound(c *ledger.Call) (*mcp.InputRequired, map[string]any, error) {
	if len(c.Round) == 0 {
		return nil, nil, nil
	}
	round := new(mcp.InputRequired)
	if err := json.Unmarshal(c.Round, round); err != nil {
		return nil, nil, fmt.Errorf("read the questions of server %q: %w", c.Server, err)
	}
	answers := make(map[string]any, len(c.Replies))
	for key, value := range c.Replies {
		answers[key] = value
	}
	return round, answers, nil
}

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

// How often a call is sent with the same key: by one process whose connection breaks, and in
// total by processes that die while it is in progress.
const (
	maxResends = 5
	maxTries   = 32
)

// unknownOutcome tells a model about a call in doubt.
const unknownOutcome = "It is " + doubttext.Unknown + ": the work on it ended before its result came. " +
	"Check before you repeat it."

// resolveDoubt resolves a call that was sent and has no outcome, because its process or its
// connection has ended. It is sent again only if that is safe.
func resolveDoubt(t *turn, c *ledger.Call) (func() error, error) {
	j := t.tools.job(c)
	if j.err == nil && c.Tries < maxTries && j.call.Tool().Repeatable() {
		return t.send(c)
	}
	return nil, t.sender.recordDoubt(c, j)
}

// recordDoubt asks a person whether a call ran, or tells the model that this is unknown.
func (s *sender) recordDoubt(c *ledger.Call, j *job) error {
	if s.agent.opts.Durable.AskInDoubt {
		return s.questions.add(&run.Question{
			Kind: run.QuestionDoubt, Call: c.ID, Server: c.Server, Tool: c.Name,
			Arguments: c.Args, Tries: c.Tries, Sent: c.Sent, Survives: true,
		})
	}
	return s.recordOutcome(j, j.errorResult(unknownOutcome, nil), 0)
}

// applyDoubtReply applies a person's reply about a call in doubt: it is sent again, has the result that
// the person knows, or remains without one. A reply that no person gave leaves the outcome unknown.
func applyDoubtReply(t *turn, c *ledger.Call) (func() error, error) {
	if c.Reply == nil {
		return nil, nil
	}
	j := t.tools.job(c)
	switch {
	case c.Reply.Action == run.ActionNotRun:
		return t.send(c)
	case c.Reply.Action == run.ActionKnown && c.Reply.Reason != "":
		return nil, t.sender.recordOutcome(j, &adapter.Result{Call: j.asked, Text: c.Reply.Reason}, 0)
	}
	text := "The user says that the call ran. Its result is lost."
	if c.Reply.By == "" && c.Reply.Reason == noReplyInTime {
		text = unknownOutcome
	}
	return nil, t.sender.recordOutcome(j, j.errorResult(text, nil), 0)
}

// unpark makes a call again if its questions are answered. No call is parked any more, but a store may have
// one: its server was told that the person cancelled, and gets the replies when it asks again.
func unpark(t *turn, c *ledger.Call) (func() error, error) {
	hasOpen := false
	t.rec.read(func(s *ledger.State) {
		hasOpen = slices.ContainsFunc(s.Questions, func(q *run.Question) bool { return q.Call == c.ID })
	})
	if hasOpen {
		return nil, nil
	}
	return t.send(c)
}
