package main

import (
	"context"
	"errors"
	"time"
)

// cellTimeout ends a cell with a hanging framework.
const cellTimeout = 5 * time.Minute

// measured is the samples of a cell.
type measured struct {
	cell    cell
	names   []string // of the frameworks, in order
	samples map[string][]sample
}

// of returns a figure of a framework, round by round.
func (m *measured) of(name string, figure func(sample) float64) []float64 {
	out := make([]float64, len(m.samples[name]))
	for i, s := range m.samples[name] {
		out[i] = figure(s)
	}
	return out
}

func (m *measured) cpu(name string) []float64 {
	return m.of(name, func(s sample) float64 { return s.cpu })
}

// measure compares the frameworks in one cell. Each round samples every
// framework once. It takes more rounds while a verdict would be chance.
func measure(ctx context.Context, s settings, at cell) (_ *measured, err error) {
	ctx, cancel := context.WithTimeout(ctx, cellTimeout)
	defer cancel()
	var subjects []*subject
	defer func() {
		for _, one := range subjects {
			err = errors.Join(err, one.close())
		}
	}()
	m := &measured{cell: at, samples: map[string][]sample{}}
	for _, f := range s.frameworks {
		if !f.can(at) {
			continue
		}
		one, err := newSubject(ctx, f, at)
		if err != nil {
			return nil, err
		}
		subjects, m.names = append(subjects, one), append(m.names, f.name)
		if err := one.calibrate(ctx, s.Length); err != nil {
			return nil, err
		}
	}
	return m, s.Rounds(ctx, len(subjects), func(ctx context.Context, i int) error {
		one := subjects[i]
		got, err := one.sample(ctx, one.count)
		m.samples[one.name] = append(m.samples[one.name], got)
		return err
	}, func() bool { return decided(m) })
}
