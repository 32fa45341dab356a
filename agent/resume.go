package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// ResumeEvents replies to questions of a run in [Durable.Store] and continues the run, after a
// suspension or after its process has died. It yields events as [Agent.Events] does. Invalid
// replies are refused, each with its reason, and the run stays as it is. If the error matches
// [record.ErrHeld], the replies are stored for the holder. A finished run yields its [Output]
// again without calling the model. For a run that ended without an output the error matches
// [ErrFailed] or [ErrCancelled].
func (a *Agent) ResumeEvents(ctx context.Context, key run.Key, replies ...run.Reply) iter.Seq2[Event, error] {
	return a.resume(key, replies).events(ctx)
}

// Resume is [Agent.ResumeEvents] for callers that want only the outcome. The result is never nil,
// as with [Agent.Run].
func (a *Agent) Resume(ctx context.Context, key run.Key, replies ...run.Reply) (*Result, error) {
	return a.resume(key, replies).outcome(ctx)
}

// maxTakeovers bounds the consecutive processes that die with a run without progress: the run
// may be the cause.
const maxTakeovers = 10

// takeover returns the changes with which a process takes over a running run. Beyond maxTakeovers
// they end the run.
func takeover(s *ledger.State) []ledger.Change {
	changes := []ledger.Change{&ledger.Noted{Taken: true}}
	if s.Takeovers >= maxTakeovers {
		why := fmt.Sprintf("%d processes in a row have ended while they worked on the run, without progress: "+
			"see what ends them, then revive it", s.Takeovers)
		changes = append(changes, &ledger.Ended{Status: run.StatusFailed, Stop: record.StopParked, Error: why})
	}
	return changes
}

// resume returns a session that continues a run with replies. If another process holds the run, it
// gets the replies.
func (a *Agent) resume(key run.Key, replies []run.Reply) *session {
	return &session{agent: a, load: func(ctx context.Context) (*loadedRun, error) {
		l, err := a.hold(ctx, key, replies...)
		if errors.Is(err, record.ErrHeld) && len(replies) > 0 {
			if err := a.Reply(ctx, key, replies...); err != nil {
				return nil, err
			}
			l, err = a.hold(ctx, key) // the other process may have released it since
		}
		if err == nil && l.state.Status == run.StatusRunning {
			l.first = takeover(l.state)
		}
		return l, err
	}}
}

// Reply stores replies to questions of a run, from any process, for the process that holds or
// resumes the run. Replies are checked against their questions, and the first reply to a
// question counts. A run of another agent is refused. The error matches [run.ErrUnfit],
// [run.ErrExpired], [record.ErrReplied] or [run.ErrNotAsked]: then no reply is stored. After any
// other error read [Agent.Questions] before you repeat the call, because the replies may be stored.
func (a *Agent) Reply(ctx context.Context, key run.Key, replies ...run.Reply) error {
	if a.recipe.opts.Durable.Store == nil {
		return fmt.Errorf("answer questions: %w", errNoStore)
	}
	return record.Submit(ctx, a.runs(), key, replies...)
}

// Questions returns the open questions of a run in [Durable.Store] and of its sub-agents, from
// any process. It returns none if the run does not wait. The error matches [record.ErrNotFound]
// if there is no such run. [record.OpenQuestions] has the questions of all runs.
func (a *Agent) Questions(ctx context.Context, key run.Key) ([]*run.Question, error) {
	if a.recipe.opts.Durable.Store == nil {
		return nil, fmt.Errorf("read questions: %w", errNoStore)
	}
	log, err := a.runs().LoadCurrent(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("read questions: %w", err)
	}
	return log.Questions()
}

// ErrWaiting is the error of a run that waits for a person: it has no output and accepts no input
// until its questions are answered ([Agent.Resume]). Result.Questions has them. [RunAs]
// returns it for a run that begins to wait; [Agent.Run] only for an input to a run that already waits.
var ErrWaiting = errors.New("run waits for answers to its questions")

// waitingError is an [ErrWaiting] with the state of the run.
type waitingError struct{ state *ledger.State }

func (e *waitingError) Error() string {
	return fmt.Sprintf("%q waits for answers to its questions", e.state.ID)
}

func (e *waitingError) Is(target error) bool { return target == ErrWaiting }

// ErrUnfinished is the error of an input to a run that has no output for the last one yet, and
// that no process works on.
var ErrUnfinished = errors.New("run has no answer yet; continue it by Resume or Recover")

// ResumeStateEvents continues a run of an agent without a store. state is [Result.State] of a run
// that waits. Resume a state only once: nothing else prevents that calls are made twice. The error
// matches [run.ErrUnfit], [run.ErrExpired], [run.ErrNotAsked] or, for two replies to one question,
// [record.ErrReplied].
func (a *Agent) ResumeStateEvents(ctx context.Context, state *State, replies ...run.Reply) iter.Seq2[Event, error] {
	s := &session{agent: a, load: func(context.Context) (*loadedRun, error) {
		in := state.inner()
		if in.Seq == 0 {
			return nil, errors.New("there is no state")
		}
		for _, reply := range replies {
			if err := ledger.CheckReply(in, reply, time.Now()); err != nil {
				return nil, err
			}
		}
		fresh, err := record.CheckReplies(ledger.HeadOf(in), nil, ledger.Dated(replies, time.Now()))
		return &loadedRun{state: in, replies: fresh}, err
	}}
	return s.events(ctx)
}
