package service

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/temporal"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
)

// remote lets Temporal drive the runs.
type remote struct {
	store  record.Store
	client *temporal.Client
	worker func(context.Context) error // executes steps; nil in a process that only serves HTTP
	logger *slog.Logger
	pauses map[run.Key]pause // of the runs that the last search has found; used by resume
}

// newRemote returns an engine, with a worker unless the process only serves HTTP.
func newRemote(service client.Client, a *agent.Agent, store record.Store, o *options, logger *slog.Logger) *remote {
	r := &remote{store: store, logger: logger}
	r.client = temporal.NewClient(service, store, &temporal.ClientOptions{Queue: o.queue, SearchAttributes: o.attributes})
	if o.role != front {
		r.worker = func(ctx context.Context) error {
			return temporal.Work(ctx, service, []*agent.Agent{a}, o.forWorker(logger))
		}
	}
	return r
}

// forWorker returns the options of a worker.
func (o *options) forWorker(logger *slog.Logger) *temporal.WorkerOptions {
	return &temporal.WorkerOptions{
		Queue: o.queue, Steps: o.parallel, TenantSteps: o.running, Logger: logger,
		Context: func(ctx context.Context, key run.Key) context.Context { return hosting.WithUser(ctx, key.Tenant) },
	}
}

// drive implements [engine], also for a client that has left. If Temporal cannot be reached, a worker finds the run later.
func (r *remote) drive(ctx context.Context, key run.Key) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestWait)
	defer cancel()
	if err := r.client.Drive(ctx, key); err != nil {
		r.logger.Warn("a run waits for Temporal", "run", key.ID, "tenant", key.Tenant, "error", err)
	}
}

// answer implements [engine].
func (r *remote) answer(ctx context.Context, key run.Key, answers []run.Reply) error {
	return r.client.Reply(ctx, key, answers...)
}

// stop implements [engine]. It does not wait for the end of the run.
func (r *remote) stop(ctx context.Context, key run.Key) error { return r.client.Cancel(ctx, key) }

// sweepInterval is the interval between searches for runs without a workflow.
const sweepInterval = time.Minute

// work implements [engine].
func (r *remote) work(ctx context.Context) error {
	if r.worker == nil {
		<-ctx.Done()
		return ctx.Err()
	}
	var sweeping sync.WaitGroup
	defer sweeping.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sweeping.Go(func() {
		hosting.Every(ctx, sweepInterval, func() { r.resume(ctx, time.Now().Add(-sweepInterval)) })
	})
	err := r.worker(ctx)
	if ctx.Err() != nil {
		r.logger.Info("the service stops, and its runs continue later")
	}
	return err
}

// resume starts workflows for due runs that have not changed since a time: their process may have died before it
// reached Temporal. A workflow that runs gets a signal, and looks for replies once more. It may only wait
// for a worker, so a run that does not change is left alone for a growing time. Runs that cannot be read are logged.
func (r *remote) resume(ctx context.Context, since time.Time) {
	now, found := time.Now(), map[run.Key]pause{}
	defer func() { r.pauses = found }()
	isNext := func(key run.Key, updated time.Time) (ok bool) {
		found[key], ok = r.pauses[key].next(updated, now)
		return ok
	}
	unreadable := func(key run.Key, err error) {
		if isNext(key, time.Time{}) {
			r.warn(ctx, "a run cannot be read, and is left alone", err, "run", key.ID, "tenant", key.Tenant)
		}
	}
	due := r.store.List(ctx, record.Query{AllTenants: true, DueAt: now, ChangedBefore: since})
	for head, err := range record.SkipDamaged(due, unreadable) {
		if err != nil {
			r.warn(ctx, "the runs that are due cannot be listed", err)
			return
		}
		if !isNext(head.Key, head.Updated) {
			continue
		}
		if err := r.client.Drive(ctx, head.Key); err != nil {
			r.warn(ctx, "a run cannot be given to Temporal", err, "run", head.Key.ID, "tenant", head.Key.Tenant)
			if isUnreachable(err) {
				delete(found, head.Key)
				return
			}
		}
	}
}

// pause is the time for which resume leaves a run alone.
type pause struct {
	updated, until time.Time // the run's last change, and the end of the pause
	length         time.Duration
}

// maxPause is the longest pause. It also bounds how late a run continues whose workflow somebody has ended.
const maxPause = 10 * time.Minute

// next returns the pause of a run that is found again. If the earlier one is over, or the run has changed, ok is
// true and the pause is a new one.
func (p pause) next(updated, now time.Time) (_ pause, ok bool) {
	if !updated.Equal(p.updated) {
		p = pause{updated: updated}
	}
	if now.Before(p.until) {
		return p, false
	}
	p.length = min(max(2*p.length, sweepInterval), maxPause)
	p.until = now.Add(p.length)
	return p, true
}

// warn logs an error, unless the process stops.
func (r *remote) warn(ctx context.Context, text string, err error, attributes ...any) {
	if ctx.Err() == nil {
		r.logger.Warn(text, append(attributes, "error", err)...)
	}
}

// isUnreachable reports whether an error means that Temporal cannot be reached, did not answer in time, or was
// not waited for.
func isUnreachable(err error) bool {
	_, gone := errors.AsType[*serviceerror.Unavailable](err)
	_, late := errors.AsType[*serviceerror.DeadlineExceeded](err)
	return gone || late || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}
