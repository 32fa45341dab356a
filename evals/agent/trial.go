package agenteval

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/evals/agent/grade"
	"github.com/mcpchain/mcpchain/evals/agent/results"
	"github.com/mcpchain/mcpchain/evals/agent/suite"
	"github.com/mcpchain/mcpchain/evals/agent/tape"
	"github.com/mcpchain/mcpchain/evals/agent/world"
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// trial is one attempt at a task, with servers and a directory of its own, and with people who answer as the task says.
type trial struct {
	*Options
	suite   *suite.Suite
	task    *suite.Task
	n       int    // number of the attempt, from 0
	program string // hash of this program, for the line

	// The following fields are set while the trial runs.
	dir    string
	world  *world.World
	store  record.Store
	tape   *tape.Tape     // nil: the trial is neither recorded nor played
	closes []func() error // end servers
}

// newLine returns the line of the trial before it runs.
func (t *trial) newLine() *results.Line {
	return &results.Line{
		Version: results.Version{
			Suite:     t.suite.Name,
			SuiteHash: t.suite.Hash(),
			Mode:      t.Model.Mode,
			Model:     t.Model.String(),
			Config:    t.Model.Hash(),
			Program:   t.program,
		},
		Task:  t.task.ID,
		Trial: t.n,
		Date:  time.Now().UTC(),
	}
}

// voidError is an error that says nothing about the tested agent. It has the text of another one.
type voidError struct {
	error
	cause string // harness: a fault of this program or of the suite; infra: the endpoint of the model failed
}

func (e *voidError) Unwrap() error { return e.error }

// harnessError returns an error as a fault of this program or of the suite; nil for nil.
func harnessError(err error) error {
	if err == nil {
		return nil
	}
	return &voidError{err, "harness"}
}

// run runs the trial. Failures are in the line. It returns nil if the context ends.
func (t *trial) run(ctx context.Context) *results.Line {
	began := time.Now()
	l := t.newLine()
	limited, cancel := context.WithTimeout(ctx, t.timeout())
	defer cancel()
	e, err := t.play(limited, l)
	if ctx.Err() != nil {
		return nil
	}
	judge(l, e, err)
	l.Duration = time.Since(began)
	return l
}

// timeout returns the limit of the task, by default 60 s, or 600 s for a live model, but at least t.Patience.
func (t *trial) timeout() time.Duration {
	seconds := t.task.Limits.Seconds
	if seconds == 0 {
		seconds = 60
		if t.Model.Mode == results.Live {
			seconds = 600
		}
	}
	return max(time.Duration(seconds)*time.Second, t.Patience)
}

// play runs the agent, fills in the line and returns the evidence, also with an error of the run itself.
func (t *trial) play(ctx context.Context, l *results.Line) (_ *grade.Evidence, err error) {
	if t.dir, err = os.MkdirTemp(t.Dir, "trial"); err != nil {
		return nil, harnessError(err)
	}
	if !t.Keep {
		defer os.RemoveAll(t.dir)
	}
	t.store, t.world = record.NewMemory(), world.New(t.dir)
	defer t.close()
	defer func() { removeSecrets(l, t.filter()) }()
	err = t.performTask(ctx)
	if void, ok := errors.AsType[*voidError](err); ok && void.cause == "harness" {
		return nil, err
	}
	e := &grade.Evidence{Dir: t.dir, Ledger: t.world.Ledger()}
	log, loadErr := t.store.Load(context.WithoutCancel(ctx), run.Key{ID: runID}) // the time may be up
	if loadErr != nil {
		return nil, errors.Join(err, harnessError(fmt.Errorf("the run is lost: %w", loadErr)))
	}
	e.Log = log.Records
	if e.State, loadErr = ledger.StateOf(log.Records); loadErr != nil {
		return nil, harnessError(fmt.Errorf("the run is damaged: %w", loadErr))
	}
	l.Turns, l.Calls, l.Tokens, l.Reported = e.State.Spent.Turns, e.State.Spent.Calls, e.State.Spent.Total, e.State.Spent.Total > 0
	if t.Prices != nil {
		l.Cost, l.Prices = e.State.Spent.Cost, t.Prices.Date
	}
	l.Transcript = transcript(t.task, e)
	scores, undecided := grade.Grade(&t.task.Expect, e) // while the files exist
	l.Scores = scores
	if undecided != nil {
		return nil, harnessError(undecided)
	}
	return e, err
}

// judge sets the outcome of a trial, and the reason if it did not pass. e is nil only after an error of the harness.
func judge(l *results.Line, e *grade.Evidence, err error) {
	void, isVoid := errors.AsType[*voidError](err)
	switch {
	case isVoid:
		l.Outcome, l.Cause = results.Void, void.cause
	case errors.Is(err, tape.ErrMiss):
		l.Outcome, l.Cause = results.Void, "harness"
	case errors.Is(err, context.DeadlineExceeded): // the time was up
		l.Outcome = results.Fail
	case err != nil && e.State.Status != run.StatusFailed: // the run did not end
		l.Outcome = results.Fail
	default:
		l.Outcome = results.Pass
	}
	if l.Outcome != results.Pass {
		l.Reason = err.Error()
		return
	}
	for _, s := range l.Scores {
		if s.Gate && s.Value < 1 {
			l.Outcome, l.Reason = results.Fail, s.Grader+": "+s.Why
			if err != nil {
				l.Reason = err.Error()
			}
			return
		}
	}
}

func (t *trial) close() {
	t.world.Close()
	for _, c := range slices.Backward(t.closes) {
		_ = c() // the trial is over
	}
}

// performTask opens the tape, has the agent do the task, and records or restores its files.
func (t *trial) performTask(ctx context.Context) error {
	if err := t.openTape(); err != nil {
		return harnessError(err)
	}
	err := t.drive(ctx)
	if t.tape != nil {
		err = errors.Join(t.tape.Err(), err)
	}
	return errors.Join(err, t.keepFiles())
}

// Bounds of a transcript. Later entries are left out, and longer texts cut.
const (
	maxEntries = 500
	maxText    = 8 << 10 // bytes of an entry
)

// transcript returns the dialog: system prompt, messages and error of the run, then the calls of in-process servers.
func transcript(t *suite.Task, e *grade.Evidence) (all []results.Entry) {
	add := func(entry results.Entry) {
		if len(entry.Text) > maxText {
			entry.Text = entry.Text[:excerpt.Before(entry.Text, maxText)] + "…"
		}
		if len(all) < maxEntries {
			all = append(all, entry)
		}
	}
	if t.System != "" {
		add(results.Entry{Who: "system", Kind: "text", Text: t.System})
	}
	for _, m := range e.State.History {
		for _, p := range m.Parts {
			entry := results.Entry{
				Who:   string(m.Role),
				Kind:  string(p.Type),
				Name:  p.Name,
				Text:  p.Text,
				Error: p.IsError,
			}
			if p.Type == run.PartCall {
				entry.Text = p.Arguments
			}
			add(entry)
		}
	}
	if e.State.Error != "" {
		add(results.Entry{Who: "run", Kind: "error", Text: e.State.Error, Error: true})
	}
	for _, l := range e.Ledger {
		add(results.Entry{Who: l.Server, Kind: "reached", Name: l.Tool, Text: string(l.Arguments), Error: l.Failed})
	}
	return all
}
