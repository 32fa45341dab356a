package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/pprof"
	"time"

	"github.com/mcpchain/mcpchain/evals/bench/rig"
)

// subject is one framework in one cell. Its agent lives during the measurement
// of the cell.
type subject struct {
	framework
	*place
	loop  loop
	count int // runs in one sample
}

func newSubject(ctx context.Context, f framework, c cell) (_ *subject, err error) {
	s := &subject{framework: f, place: &place{cell: c}, count: 1}
	if err := s.place.open(); err != nil {
		return nil, s.wrap(err)
	}
	err = s.labelled(ctx, func(ctx context.Context) (err error) {
		s.loop, err = s.framework.open(ctx, s.place)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, s.place.close())
	}
	return s, nil
}

func (s *subject) close() error { return s.wrap(errors.Join(s.loop.close(), s.place.close())) }

func (s *subject) wrap(err error) error {
	if err != nil {
		return fmt.Errorf("%s: %s: %w", s.cell, s.name, err)
	}
	return nil
}

// labelled runs f with a label for profiles.
func (s *subject) labelled(ctx context.Context, f func(context.Context) error) (err error) {
	pprof.Do(ctx, pprof.Labels("framework", s.name), func(ctx context.Context) { err = f(ctx) })
	return s.wrap(err)
}

// once makes a run and checks the answer.
func (s *subject) once(ctx context.Context) error {
	text, err := s.loop.run(ctx)
	if err == nil && text != answer {
		err = fmt.Errorf("got the answer %q, want %q", text, answer)
	}
	return err
}

// sample is the cost of some runs, for each turn.
type sample struct {
	cpu, wall     float64 // ns
	bytes, allocs float64
}

// sample makes n runs, after a garbage collection, and checks that all tool
// calls have run.
func (s *subject) sample(ctx context.Context, n int) (got sample, err error) {
	runtime.GC()
	var m rig.Meter
	ran := s.ran.Load()
	m.Start()
	err = s.labelled(ctx, func(ctx context.Context) error {
		for range n {
			if err := s.once(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	m.Stop()
	if ran := int(s.ran.Load() - ran); err == nil && ran != n*s.turns*s.calls {
		err = s.wrap(fmt.Errorf("the tool ran %d times in %d runs, want %d", ran, n, n*s.turns*s.calls))
	}
	per := float64(n * s.per())
	return sample{
		cpu: float64(m.CPU) / per, wall: float64(m.Wall) / per, bytes: float64(m.Bytes) / per, allocs: float64(m.Allocs) / per,
	}, err
}

// calibrate finds the number of runs for a sample of about that length.
func (s *subject) calibrate(ctx context.Context, length time.Duration) (err error) {
	s.count, err = rig.Calibrate(length, func(n int) (time.Duration, error) {
		got, err := s.sample(ctx, n)
		return time.Duration(got.wall * float64(n*s.per())), err
	})
	return err
}
