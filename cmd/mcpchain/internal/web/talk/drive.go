package talk

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/prose"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

const (
	// dueInterval is the wait between searches for due conversations: another process has left them unfinished, or an
	// answer came at the last moment.
	dueInterval = time.Second

	// retryAfter is the wait before such a conversation is tried again.
	retryAfter = 10 * time.Second

	// maxRecovered bounds the conversations that the searches within retryAfter start.
	maxRecovered = 256
)

// topicKey is the context key of the topic whose run is driven.
type topicKey struct{}

// startDriving starts a goroutine that drives a run until it ends or waits, and counts the work.
func (s *Service) startDriving(key run.Key) {
	s.countWork(key, 1)
	if !s.startUncounted(key) {
		s.countWork(key, -1)
	}
}

// startUncounted is startDriving for work that the caller has counted. It reports whether it started a goroutine, which
// subtracts the work at its end. A goroutine that drives the run already looks once more before it ends.
func (s *Service) startUncounted(key run.Key) bool {
	t, err := s.acquire(s.ctx, key)
	if err != nil {
		s.o.Logger.Warn("a conversation cannot continue", "error", err)
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.working || s.ctx.Err() != nil {
		t.again = true
		s.release(t)
		return false
	}
	t.working, t.again = true, false
	t.replies, t.awaited = map[string]run.Reply{}, map[string]bool{}
	s.running.Go(func() {
		defer s.release(t)
		s.drive(t)
		s.countWork(key, -1)
		s.Changed(key.Tenant)
	})
	return true
}

// countWork adds n to the number of a user's conversations at work. It does not count calls of views.
func (s *Service) countWork(key run.Key, n int) {
	if isViewCall(key) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.atWork[key.Tenant] += n; s.atWork[key.Tenant] == 0 {
		delete(s.atWork, key.Tenant)
	}
}

// drive resumes the run as long as there is something to do. It logs errors, unless the user or the program has ended the
// turn, or another process holds the run. It returns none: windows get the end of a turn from the store.
func (s *Service) drive(t *topic) {
	for {
		ctx, cancel := context.WithCancelCause(context.WithValue(hosting.WithUser(s.ctx, t.key.Tenant), topicKey{}, t))
		t.mu.Lock()
		t.cancel, t.again = cancel, false
		t.changed.Fire()
		t.mu.Unlock()
		err := s.resumeRun(ctx, t)
		stopped := errors.Is(err, agent.ErrCancelled) || context.Cause(ctx) == errStopped
		cancel(errEnded)
		if err != nil && !stopped && !errors.Is(err, record.ErrHeld) && s.ctx.Err() == nil {
			what := "a turn is interrupted, and continues later" // by a failure of the store
			if errors.Is(err, agent.ErrFailed) {
				what = "a turn has failed"
			}
			s.o.Logger.Warn(what, "user", t.key.Tenant, "conversation", t.key.ID, "error", err)
		}
		if !t.driveAgain() {
			return
		}
	}
}

// driveAgain reports whether the run must be resumed again. If not, it ends the work.
func (t *topic) driveAgain() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clearStepLocked()
	if t.again {
		return true
	}
	t.working, t.cancel, t.replies, t.awaited = false, nil, nil, nil
	t.changed.Fire()
	return false
}

// clearStepLocked drops the draft, the reasoning and the progress of the current step.
func (t *topic) clearStepLocked() {
	t.draft, t.reasoning, t.progress, t.thinking = prose.Draft{}, nil, nil, false
	t.generation++
}

// resumeRun resumes the run until it ends or waits, unless it has ended. Before that, and afterwards even after an
// error, windows get the records of other processes.
func (s *Service) resumeRun(ctx context.Context, t *topic) (err error) {
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_, catchErr := s.catchUp(ctx, t)
		err = errors.Join(err, catchErr)
	}()
	if status, err := s.catchUp(ctx, t); err != nil || status.Ended() {
		return err
	}
	a := s.agentOf(t.key)
	if s.o.Personal != nil && a == s.agent {
		s.o.Personal.Connect(ctx, t.key.Tenant)
		a = s.agentFor(t.key.Tenant)
	}
	for e, err := range a.ResumeEvents(s.withView(ctx, t.key), t.key) {
		if err != nil {
			return err
		}
		s.showEvent(t, e)
	}
	return nil
}

// showEvent passes an event to the windows.
func (s *Service) showEvent(t *topic, e agent.Event) {
	switch e := e.(type) {
	case *agent.ReasoningDelta:
		if len(e.Path) == 0 {
			t.addReasoning(e.Text)
		}
		return
	case *agent.TextDelta:
		if len(e.Path) == 0 { // the text of a sub-agent is not shown
			t.addDraft(e.Text)
		}
		return
	case *agent.ToolProgress:
		t.setProgress(e)
		return
	}
	entry := s.entryOf(t.key, e)
	t.updateStep(e)
	if s.append(t, entry) && slices.Contains([]string{"asked", "answered", "ended"}, entry.kind) {
		s.Changed(t.key.Tenant) // the list shows the state of the conversation
	}
}

// addReasoning adds a piece of the model's reasoning. What is too long is left out: the reply says how much it is.
func (t *topic) addReasoning(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	room := maxReasoning - len(t.reasoning)
	if t.thinking && room == 0 {
		return
	}
	t.thinking = true
	t.reasoning = append(t.reasoning, text[:min(len(text), room)]...)
	t.changed.Fire()
}

// addDraft adds a piece of the model's text to the draft.
func (t *topic) addDraft(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.draft.Add(text)
	t.thinking = false
	t.changed.Fire()
}

// setProgress sets the progress of a call. A progress that has no JSON, such as NaN, is dropped.
func (t *topic) setProgress(e *agent.ToolProgress) {
	data, err := json.Marshal(progressJSON{
		Done: e.Progress.Progress, Total: e.Progress.Total, Message: hosttext.Line(e.Progress.Message, 200),
	})
	if err != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.progress == nil {
		t.progress = map[string]json.RawMessage{}
	}
	t.progress[e.ID] = data
	t.changed.Fire()
}

// updateStep drops the draft or the progress that an event completes, and counts the usage that the event reports.
func (t *topic) updateStep(e agent.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e := e.(type) {
	case *agent.ModelStart:
		t.clearStepLocked()
	case *agent.ModelEnd:
		t.clearStepLocked()
		t.spent.Add(e.Usage)
		if e.Window != nil && len(e.Path) == 0 {
			t.contextUse = e.Window
		}
	case *agent.Sampled:
		t.spent.Add(e.Usage)
	case *agent.ToolEnd:
		delete(t.progress, e.ID)
	}
}

// catchUp adds the entries of the store that the topic does not have yet, and returns the status of the run. It reads
// the usage of the run from the store, because not all usage has an event.
func (s *Service) catchUp(ctx context.Context, t *topic) (run.Status, error) {
	t.mu.Lock()
	at := t.at
	t.mu.Unlock()
	log, err := s.o.Store.Load(ctx, t.key)
	if err != nil {
		return "", goneError(err)
	}
	entries, err := s.historyIn(ctx, t.key, log, at)
	for _, e := range entries {
		s.append(t, e)
	}
	if err != nil {
		return "", err
	}
	state, err := ledger.StateOf(log.Records)
	if err != nil {
		return "", err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spent = state.Spent
	t.changed.Fire()
	return state.Status, nil
}

// recover drives the conversations that are due, until the service is closed.
func (s *Service) recover() {
	last := map[run.Key]time.Time{}
	hosting.Every(s.ctx, dueInterval, func() {
		if err := s.startDue(last); err != nil && s.ctx.Err() == nil {
			s.o.Logger.Warn("the conversations that are due cannot be listed", "error", err)
		}
	})
}

// startDue drives the conversations that are due, except those that it tried within retryAfter.
// last has the times of the attempts.
func (s *Service) startDue(last map[run.Key]time.Time) error {
	for key, when := range last {
		if time.Since(when) > retryAfter {
			delete(last, key)
		}
	}
	due := record.Query{AllTenants: true, Agents: []string{AgentName, viewAgentName}, DueAt: time.Now(), Limit: 8 * maxRecovered}
	for head, err := range record.SkipDamaged(s.o.Store.List(s.ctx, due), nil) {
		if err != nil {
			return err
		}
		if _, tried := last[head.Key]; tried || len(last) >= maxRecovered {
			continue
		}
		last[head.Key] = time.Now()
		s.startDriving(head.Key)
	}
	return nil
}
