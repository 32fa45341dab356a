package main

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/evals/bench/rig"
)

// cellTimeout ends a cell with a hanging client.
const cellTimeout = 5 * time.Minute

// measure compares the clients in one cell.
func measure(ctx context.Context, l *lab, s settings, at cell) (results []result, err error) {
	ctx, cancel := context.WithTimeout(ctx, cellTimeout)
	defer cancel()
	if at.weigh != nil {
		for _, c := range s.clients {
			f, err := weigh(ctx, l, c, at)
			if err != nil {
				return nil, err
			}
			results = append(results, result{at.String(), c.name, f})
		}
		return results, nil
	}

	subjects := make([]*subject, 0, len(s.clients))
	defer func() {
		for _, one := range subjects {
			err = errors.Join(err, one.named(ctx, func(context.Context) error { return one.close() }))
		}
	}()
	for _, c := range s.clients {
		one := &subject{lab: l, client: c, cell: at}
		if err := one.named(ctx, one.open); err != nil {
			return nil, err
		}
		subjects = append(subjects, one)
		if err := one.named(ctx, func(ctx context.Context) error { return one.calibrate(ctx, s.Length) }); err != nil {
			return nil, err
		}
	}
	samples := make([][]sample, len(subjects))
	of := func(name string) []sample {
		if i := slices.IndexFunc(s.clients, func(c client) bool { return c.name == name }); i >= 0 {
			return samples[i]
		}
		return nil
	}
	take := func(ctx context.Context, i int) error {
		return subjects[i].named(ctx, func(ctx context.Context) error {
			got, err := subjects[i].sample(ctx, subjects[i].count)
			samples[i] = append(samples[i], got)
			return err
		})
	}
	if err := s.Rounds(ctx, len(subjects), take, func() bool { return decided(at.String(), of("ours"), of(baseline)) }); err != nil {
		return nil, err
	}
	base := of(baseline)
	for i, c := range s.clients {
		results = append(results, result{at.String(), c.name, summarize(samples[i], base)})
	}
	return results, nil
}

// apart is how many standard errors a ratio stands off its target; checked after each round.
const apart = 3

// decided reports whether the samples show on which side of its target a cell's
// ratio is. It is true without a target.
func decided(cell string, ours, base []sample) bool {
	limit, ok := ratioLimit(cell)
	r := rig.Ratios(perOp(ours, cpuOf), perOp(base, cpuOf))
	if !ok || len(r) == 0 {
		return true
	}
	m := rig.Median(r)
	return math.Abs(m-limit) >= apart*m*rig.Uncertainty(r)
}
