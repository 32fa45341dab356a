package service

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
)

// activeRun is a run that this process works on.
type activeRun struct {
	cancel context.CancelFunc
	done   chan struct{}
	calls  map[string]bool // current tool calls; guarded by local.mu
}

// handleEvent passes an event of a run to its readers, and tracks the current calls. A call begins after the event of
// its start, and its result is stored before the event of its end.
func (l *local) handleEvent(key run.Key, e agent.Event) {
	l.feed.Publish(key, e)
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.working[key]
	if a == nil {
		return
	}
	switch e := e.(type) {
	case *agent.ToolStart:
		a.calls[callName(e.EventInfo, e.Call)] = true
	case *agent.ToolEnd:
		delete(a.calls, callName(e.EventInfo, e.Call))
		l.endIfIdleLocked(a)
	}
}

// callName distinguishes the calls of a run and of its sub-agents.
func callName(m agent.EventInfo, c agent.Call) string {
	return strings.Join(append(slices.Clone(m.Path), c.ID), "\x00")
}

// endIfIdleLocked ends the work on a run if the process is stopping and the run has no current call.
func (l *local) endIfIdleLocked(a *activeRun) {
	if l.draining && len(a.calls) == 0 {
		a.cancel()
	}
}

// drain ends the work on all runs, and waits for its end. Current calls have the time -grace, because interrupted calls
// are in doubt.
func (l *local) drain() {
	l.mu.Lock()
	l.draining = true
	runs, calls := len(l.working), 0
	var doneChannels []chan struct{}
	for _, a := range l.working {
		calls += len(a.calls)
		doneChannels = append(doneChannels, a.done)
		l.endIfIdleLocked(a)
	}
	l.mu.Unlock()
	l.logger.Info("the service stops, and its runs continue later", "runs", runs, "calls under way", calls, "grace", l.grace)
	late := time.After(l.grace)
	for _, done := range doneChannels {
		select {
		case <-done:
		case <-late:
			l.warnOfCalls()
			return
		}
	}
}

// warnOfCalls logs the runs with current calls, which are interrupted.
func (l *local) warnOfCalls() {
	l.mu.Lock()
	interrupted := map[run.Key]int{}
	for key, a := range l.working {
		if len(a.calls) > 0 {
			interrupted[key] = len(a.calls)
		}
	}
	l.mu.Unlock()
	for key, n := range interrupted {
		l.logger.Warn("calls under way are interrupted, and in doubt", "run", key.ID, "tenant", key.Tenant, "calls", n)
	}
}
