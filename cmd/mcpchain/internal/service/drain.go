package service

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
)

// visit is the work on a run in this process.
type visit struct {
	cancel context.CancelFunc
	over   chan struct{}
	calls  map[string]bool // current tool calls; guarded by local.mu
}

// event passes an event of a run to its readers, and tracks the current calls. A call begins
// after the event of its start, and its result is stored before the event of its end.
func (l *local) event(key run.Key, e agent.Event) {
	l.feed.Publish(key, e)
	l.mu.Lock()
	defer l.mu.Unlock()
	v := l.working[key]
	if v == nil {
		return
	}
	switch e := e.(type) {
	case *agent.ToolStart:
		v.calls[callName(e.EventInfo, e.Call)] = true
	case *agent.ToolEnd:
		delete(v.calls, callName(e.EventInfo, e.Call))
		l.leaveLocked(v)
	}
}

// callName distinguishes the calls of a run and of its sub-agents.
func callName(m agent.EventInfo, c agent.Call) string {
	return strings.Join(append(slices.Clone(m.Path), c.ID), "\x00")
}

// leaveLocked ends the work on a run if the process is stopping and the run has no current
// call.
func (l *local) leaveLocked(v *visit) {
	if l.draining && len(v.calls) == 0 {
		v.cancel()
	}
}

// drain ends the work on all runs. Current calls have some time to end, because interrupted
// ones are in doubt.
func (l *local) drain() {
	l.mu.Lock()
	l.draining = true
	runs, calls := len(l.working), 0
	var ends []chan struct{}
	for _, v := range l.working {
		calls += len(v.calls)
		ends = append(ends, v.over)
		l.leaveLocked(v)
	}
	l.mu.Unlock()
	l.logger.Info("the service stops, and its runs continue later", "runs", runs, "calls under way", calls, "grace", l.grace)
	late := time.After(l.grace)
	for _, over := range ends {
		select {
		case <-over:
		case <-late:
			l.warnOfCalls()
			return
		}
	}
}

// warnOfCalls logs the runs whose calls are interrupted.
func (l *local) warnOfCalls() {
	l.mu.Lock()
	cut := map[run.Key]int{}
	for key, v := range l.working {
		if len(v.calls) > 0 {
			cut[key] = len(v.calls)
		}
	}
	l.mu.Unlock()
	for key, n := range cut {
		l.logger.Warn("calls under way are interrupted, and in doubt", "run", key.ID, "tenant", key.Tenant, "calls", n)
	}
}
