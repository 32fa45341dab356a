package otelagent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// ObserveStore measures a store of runs whenever the meters are read: how many runs there are by
// status, how many are due, held, parked or damaged, and for how long the first due run has been
// due. A run becomes due by a change or a reply, at the end of its lease, or at its Wake time. A store
// does not tell when a reply came: its run counts from the first measurement that finds the reply.
// Each time it lists all runs of the query that are running, waiting or failed, so its cost grows with
// their number; q.Limit bounds it for each status, and the fields Status, DueAt, ChangedBefore and
// After are ignored. If a list fails, the meters have no values at that time, and the error goes to the
// reader of the meters. stop unregisters the meters. Of opts, only MeterProvider is used.
func ObserveStore(store record.Store, q record.Query, opts *Options) (stop func() error, err error) {
	provider := otel.GetMeterProvider()
	if opts != nil && opts.MeterProvider != nil {
		provider = opts.MeterProvider
	}
	in := &maker{meter: provider.Meter(scope)}
	runs := in.gauge("mcpchain.runs", "{run}", "Runs of the store that are running, waiting or failed.")
	const lagName = "mcpchain.runs.lag"
	lag, err := in.meter.Float64ObservableGauge(lagName, metric.WithUnit("s"),
		metric.WithDescription("For how long the first due run has been due."))
	in.addError(lagName, err)
	all := []metric.Observable{runs, lag}
	var gauges []metric.Int64ObservableGauge
	for _, g := range storeGauges {
		gauge := in.gauge(g.name, g.unit, g.description)
		gauges, all = append(gauges, gauge), append(all, gauge)
	}
	if in.err != nil {
		return nil, fmt.Errorf("observe a store: %w", in.err)
	}
	known := replied{}
	registration, err := in.meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		c, err := known.count(ctx, store, q)
		if err != nil {
			return fmt.Errorf("observe a store: %w", err)
		}
		for _, status := range observedStatuses {
			o.ObserveInt64(runs, c.status[status], metric.WithAttributes(attribute.String("mcpchain.run.status", string(status))))
		}
		for i, g := range storeGauges {
			o.ObserveInt64(gauges[i], g.of(&c))
		}
		o.ObserveFloat64(lag, c.lag.Seconds())
		return nil
	}, all...)
	if err != nil {
		return nil, fmt.Errorf("observe a store: %w", err)
	}
	return registration.Unregister, nil
}

var storeGauges = []struct {
	name, unit, description string
	of                      func(*counts) int64
}{
	{"mcpchain.runs.due", "{run}", "Runs that can continue and that no process holds.", func(c *counts) int64 { return c.due }},
	{"mcpchain.runs.held", "{run}", "Runs that a process holds.", func(c *counts) int64 { return c.held }},
	{"mcpchain.runs.parked", "{run}", "Runs that failed because their processes ended repeatedly.", func(c *counts) int64 { return c.parked }},
	{"mcpchain.runs.takeovers", "{process}", "Consecutive processes that ended without progress while they worked on unfinished runs.",
		func(c *counts) int64 { return c.takeovers }},
	{"mcpchain.runs.damaged", "{run}", "Runs that cannot be read.", func(c *counts) int64 { return c.damaged }},
}

// counts are the measurements of a store at one time, in runs unless they say otherwise.
type counts struct {
	status    map[run.Status]int64
	due       int64
	lag       time.Duration // for how long the first due run has been due
	held      int64
	parked    int64
	takeovers int64 // processes that ended while they worked on runs that have not ended, since their last progress
	damaged   int64
}

// observedStatuses are the statuses of runs that may need attention.
var observedStatuses = []run.Status{run.StatusRunning, run.StatusWaiting, run.StatusFailed}

// replied tells when a measurement first found a reply to each due run that waits.
type replied struct {
	mu    sync.Mutex // guards the following field
	since map[waiting]time.Time
}

// waiting is the time in which a run waits: until it has another record.
type waiting struct {
	key run.Key
	seq uint64
}

// count lists the runs that a query selects. A damaged run is counted once, and not by status.
func (r *replied) count(ctx context.Context, store record.Store, q record.Query) (c counts, err error) {
	r.mu.Lock()
	before := r.since
	r.mu.Unlock()
	since := map[waiting]time.Time{}
	c.status = map[run.Status]int64{}
	q.DueAt, q.ChangedBefore, q.After = time.Time{}, time.Time{}, nil
	damaged := map[string]bool{} // by their keys and errors: they are listed with each status, some without a key
	for _, status := range observedStatuses {
		q.Status = status
		for head, err := range store.List(ctx, q) {
			if errors.Is(err, record.ErrDamaged) {
				damaged[fmt.Sprint(head.Key, err)] = true
				continue
			}
			if err != nil {
				return c, err
			}
			now := time.Now()
			at := waiting{head.Key, head.Seq}
			first, isKnown := before[at]
			if !isKnown {
				first = now
			}
			if head.Status == run.StatusWaiting && head.ReplyCount > 0 && head.Due(now) {
				since[at] = first
			}
			c.add(head, first, now)
		}
	}
	r.mu.Lock()
	r.since = since
	r.mu.Unlock()
	c.damaged = int64(len(damaged))
	return c, nil
}

// add counts a run. If it has a reply, replied is when a measurement first found one.
func (c *counts) add(h run.Head, replied, now time.Time) {
	c.status[h.Status]++
	if h.HeldAt(now) {
		c.held++
	}
	if h.Status == run.StatusFailed && h.Takeovers > 0 {
		c.parked++
	}
	if !h.Status.Ended() {
		c.takeovers += int64(h.Takeovers)
	}
	if h.Due(now) {
		c.due++
		c.lag = max(c.lag, now.Sub(dueSince(h, replied)))
	}
}

// dueSince returns since when a due run could have continued.
func dueSince(h run.Head, replied time.Time) time.Time {
	switch since := h.DueSince(); {
	case h.Status == run.StatusWaiting && h.ReplyCount > 0 && (h.Wake.IsZero() || replied.Before(h.Wake)):
		return replied
	case h.Status == run.StatusWaiting:
		return h.Wake
	case h.HeldUntil.After(since):
		return h.HeldUntil
	default:
		return since
	}
}
