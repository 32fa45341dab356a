package otelagent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// counts are what a store has at one time.
type counts struct {
	status  map[run.Status]int64
	due     int64
	lag     time.Duration // of the run that is due for the longest time
	held    int64
	parked  int64
	taken   int64 // processes in a row that have ended with runs that are not over
	damaged int64
}

// ObserveStore measures what is in a store of runs, whenever the meters are read: runs by status, which are due and for how long,
// held, parked and damaged. Each time it lists the runs of the query that run, wait or have failed; its fields Status, DueAt and Before do not
// count, and Limit bounds the runs of each status. stop ends it.
func ObserveStore(store record.Store, q record.Query, opts *Options) (stop func() error, err error) {
	provider := otel.GetMeterProvider()
	if opts != nil && opts.MeterProvider != nil {
		provider = opts.MeterProvider
	}
	meter := provider.Meter(scope)
	var all []metric.Observable
	gauge := func(name, unit, description string) metric.Int64ObservableGauge {
		g, failed := meter.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(description))
		err = errors.Join(err, failed)
		all = append(all, g)
		return g
	}
	runs := gauge("mcpchain.runs", "{run}", "Runs of the store that run, wait or have failed.")
	due := gauge("mcpchain.runs.due", "{run}", "Runs that can go on, and that nobody holds.")
	held := gauge("mcpchain.runs.held", "{run}", "Runs that a process holds.")
	parked := gauge("mcpchain.runs.parked", "{run}", "Runs that have failed as their processes ended again and again.")
	takeovers := gauge("mcpchain.runs.takeovers", "{process}", "Processes in a row that have ended with runs that are not over, without progress.")
	damaged := gauge("mcpchain.runs.damaged", "{run}", "Runs that cannot be read.")
	lag, failed := meter.Float64ObservableGauge("mcpchain.runs.lag", metric.WithUnit("s"), metric.WithDescription("How long the first run that is due has been so."))
	if err = errors.Join(err, failed); err != nil {
		return nil, fmt.Errorf("observe a store: %w", err)
	}
	registered, err := meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		c, err := count(ctx, store, q)
		if err != nil {
			return fmt.Errorf("observe a store: %w", err)
		}
		for _, status := range observed {
			o.ObserveInt64(runs, c.status[status], metric.WithAttributes(attribute.String("mcpchain.run.status", string(status))))
		}
		o.ObserveInt64(due, c.due)
		o.ObserveInt64(held, c.held)
		o.ObserveInt64(parked, c.parked)
		o.ObserveInt64(takeovers, c.taken)
		o.ObserveInt64(damaged, c.damaged)
		o.ObserveFloat64(lag, c.lag.Seconds())
		return nil
	}, append(all, lag)...)
	if err != nil {
		return nil, fmt.Errorf("observe a store: %w", err)
	}
	return registered.Unregister, nil
}

// observed are the statuses of runs that somebody may have to look after.
var observed = []run.Status{run.StatusRunning, run.StatusWaiting, run.StatusFailed}

func count(ctx context.Context, store record.Store, q record.Query) (c counts, err error) {
	c.status = map[run.Status]int64{}
	q.DueAt, q.Before, q.After = time.Time{}, time.Time{}, nil
	seen := map[run.Key]bool{} // damaged runs come with each status
	for _, q.Status = range observed {
		for head, err := range store.List(ctx, q) {
			if d, ok := errors.AsType[*record.DamagedError](err); ok {
				if !seen[d.Key] {
					seen[d.Key] = true
					c.damaged++
				}
				continue
			}
			if err != nil {
				return c, err
			}
			c.add(head, time.Now())
		}
	}
	return c, nil
}

func (c *counts) add(h run.Head, now time.Time) {
	c.status[h.Status]++
	if h.HeldAt(now) {
		c.held++
	}
	if h.Status == run.StatusFailed && h.Takeovers > 0 {
		c.parked++
	}
	if !h.Status.Ended() {
		c.taken += int64(h.Takeovers)
	}
	if h.Due(now) {
		c.due++
		since := h.Updated
		if h.Status != run.StatusRunning && h.Replies == 0 {
			since = h.Wake
		}
		c.lag = max(c.lag, now.Sub(since))
	}
}
