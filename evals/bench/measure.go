package main

import (
	"context"
	"errors"
	"slices"
	"time"
)

// cellTimeout ends a cell in which a client hangs.
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
		if err := one.named(ctx, func(ctx context.Context) error { return one.calibrate(ctx, s.length) }); err != nil {
			return nil, err
		}
	}
	samples, err := interleave(ctx, subjects, s.samples)
	if err != nil {
		return nil, err
	}
	var base []sample
	if i := slices.IndexFunc(s.clients, func(c client) bool { return c.name == baseline }); i >= 0 {
		base = samples[i]
	}
	for i, c := range s.clients {
		results = append(results, result{at.String(), c.name, summarize(samples[i], base)})
	}
	return results, nil
}

// interleave takes a sample of each subject in each round. The order is rotated
// from round to round, so that nobody always follows the same one.
func interleave(ctx context.Context, subjects []*subject, rounds int) ([][]sample, error) {
	samples := make([][]sample, len(subjects))
	for round := range rounds {
		for i := range subjects {
			i = (i + round) % len(subjects)
			one := subjects[i]
			err := one.named(ctx, func(ctx context.Context) error {
				got, err := one.sample(ctx, one.count)
				samples[i] = append(samples[i], got)
				return err
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return samples, nil
}
