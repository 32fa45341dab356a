package temporal

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	temporalsdk "go.temporal.io/sdk/temporal"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// activities implements the activities of a worker.
type activities struct {
	opts    WorkerOptions // completed
	agents  map[string]*agent.Agent
	tenants *tenants
	pulse   time.Duration // time between heartbeats
}

// errStopping ends the steps of a worker that stops.
var errStopping = errors.New("worker stops; another one continues the step")

// step advances a run by one turn at most. An error makes Temporal repeat the step, unless it is a
// refusal; a run that has failed is not an error of the step.
func (a *activities) step(ctx context.Context, t target) (progress, error) {
	release, ok := a.tenants.acquire(t.Tenant)
	if !ok {
		return progress{}, later(errors.New("tenant is at its limit in this worker"), "TenantLimit", backoff(ctx))
	}
	defer release()
	helper, err := a.agent(t)
	if err != nil {
		return progress{}, err
	}
	work, end := a.keepAlive(ctx)
	defer end()
	if a.opts.Context != nil {
		work = a.opts.Context(work, t.key())
	}
	next, err := a.advance(work, helper, t.key())
	if err != nil && !next.Status.Ended() {
		return progress{}, a.stepError(ctx, work, err)
	}
	if err != nil {
		a.opts.Logger.Warn("a run has failed", "run", t.ID, "tenant", t.Tenant, "error", err)
	}
	p := progress{Status: next.Status}
	for _, q := range next.Questions {
		p.Asks = append(p.Asks, q.ID)
		if !q.Expires.IsZero() && (p.Wake.IsZero() || q.Expires.Before(p.Wake)) {
			p.Wake = q.Expires
		}
	}
	return p, nil
}

// advance lets the agent take a step. It waits for the lease of a dead worker itself, because
// Temporal would add a second for each attempt.
func (a *activities) advance(ctx context.Context, helper *agent.Agent, key run.Key) (*agent.Result, error) {
	lease := helper.LeaseTTL()
	for until := time.Now().Add(lease); ; {
		next, err := helper.Advance(ctx, key, a.events(key))
		if !errors.Is(err, record.ErrHeld) || time.Now().After(until) {
			return next, err
		}
		select {
		case <-time.After(heldWait(err, lease)):
		case <-ctx.Done():
			return next, err
		}
	}
}

// heldWait returns how long to wait for a held run: until its lease ends, but at most a sixth of it,
// because the holder may release it, and a fiftieth if the end is unknown. Each attempt costs the
// store a write.
func heldWait(err error, lease time.Duration) time.Duration {
	if held, ok := errors.AsType[*record.HeldError](err); ok {
		if remaining := time.Until(held.Until); remaining > 0 { // otherwise the store has another clock
			return min(remaining+time.Millisecond, lease/6)
		}
	}
	return lease / 50
}

func (a *activities) agent(t target) (*agent.Agent, error) {
	if helper := a.agents[t.Agent]; helper != nil {
		return helper, nil
	}
	// Another worker, which has the agent, may take the next attempt.
	return nil, fmt.Errorf("this worker has no agent %q", t.Agent)
}

func (a *activities) events(key run.Key) func(agent.Event) {
	if a.opts.OnEvent == nil {
		return nil
	}
	return func(e agent.Event) { a.opts.OnEvent(key, e) }
}

// keepAlive returns the context of a step, and sends heartbeats until it ends: if the run is
// cancelled, when the grace of a worker that stops is over, or when end is called, which waits for
// the last heartbeat.
func (a *activities) keepAlive(ctx context.Context) (work context.Context, end func()) {
	work, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if a.sendHeartbeats(ctx, work) {
			cancel(errStopping)
		}
	}()
	return work, func() {
		cancel(nil)
		<-done
	}
}

// sendHeartbeats sends heartbeats until the work is over. It reports whether the worker has been
// stopping for longer than the work may continue.
func (a *activities) sendHeartbeats(ctx, work context.Context) (mustStop bool) {
	tick := time.NewTicker(a.pulse)
	defer tick.Stop()
	stopping := activity.GetWorkerStopChannel(ctx)
	var grace <-chan time.Time // nil until the worker is told to stop
	for {
		activity.RecordHeartbeat(ctx)
		select {
		case <-work.Done():
			return false
		case <-tick.C:
		case <-stopping:
			stopping = nil
			grace = time.After(a.opts.Grace)
		case <-grace:
			return true
		}
	}
}

// stepError returns the error of a step that was not completed: it tells Temporal when to repeat the
// step, that the run was cancelled, or that the step is refused.
func (a *activities) stepError(ctx, work context.Context, err error) error {
	switch {
	case errors.Is(context.Cause(work), errStopping):
		return later(errStopping, "Stopping", handOver)
	case ctx.Err() != nil:
		return ctx.Err() // the run was cancelled
	case errors.Is(err, record.ErrHeld):
		return later(err, "Held", retryHeld)
	}
	return refusal(err)
}

// Waits before a step is repeated.
const (
	handOver  = time.Millisecond // after a worker that stops
	retryHeld = time.Second      // while another process holds the run
)

// later returns an error after which Temporal tries again with that delay.
func later(err error, kind string, delay time.Duration) error {
	options := temporalsdk.ApplicationErrorOptions{NextRetryDelay: delay}
	return temporalsdk.NewApplicationErrorWithOptions(err.Error(), kind, options)
}

// backoff returns a wait that doubles with each attempt, which Temporal counts from 1: from 200 ms to
// 12.8 s.
func backoff(ctx context.Context) time.Duration {
	return 100 * time.Millisecond << min(activity.GetInfo(ctx).Attempt, 7)
}

// reply stores replies to questions of a run. Temporal repeats it unless the error is a refusal.
func (a *activities) reply(ctx context.Context, t target, replies []run.Reply) error {
	helper, err := a.agent(t)
	if err != nil {
		return err
	}
	return refusal(helper.Reply(ctx, t.key(), replies...))
}

// cancel cancels a run and returns its status, which is another one if the run had ended before.
func (a *activities) cancel(ctx context.Context, t target) (run.Status, error) {
	helper, err := a.agent(t)
	if err != nil {
		return "", err
	}
	status, err := helper.Cancel(ctx, t.key())
	if errors.Is(err, record.ErrHeld) {
		return "", later(err, "Held", retryHeld)
	}
	return status, refusal(err)
}

// tenants bounds the steps of each tenant in a worker.
type tenants struct {
	limit int // concurrent steps of one tenant; 0: no limit

	mu    sync.Mutex     // guards the following field
	steps map[string]int // by the name of the tenant, without those that have none
}

// acquire reserves a step of a tenant: ok is false if the tenant is at its limit, and release is nil
// then. Otherwise release must be called when the step ends.
func (t *tenants) acquire(name string) (release func(), ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.limit > 0 && t.steps[name] >= t.limit {
		return nil, false
	}
	t.steps[name]++
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.steps[name]--; t.steps[name] == 0 {
			delete(t.steps, name)
		}
	}, true
}
