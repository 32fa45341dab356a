package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/evals/bench/rig"
)

// subject is one client in one cell. Its session lives during the measurement
// of the cell.
type subject struct {
	*connection
	lab    *lab
	client client
	cell   cell
	count  int // operations in one sample
}

// open opens the session.
func (s *subject) open(ctx context.Context) (err error) {
	s.connection, err = s.another(ctx)
	return err
}

// another opens another session of the same kind.
func (s *subject) another(ctx context.Context) (*connection, error) {
	return s.lab.connect(ctx, s.client, s.cell.transport, s.cell.revision)
}

// named runs f with a label for profiles and errors.
func (s *subject) named(ctx context.Context, f func(context.Context) error) (err error) {
	pprof.Do(ctx, pprof.Labels("client", s.client.name), func(ctx context.Context) { err = f(ctx) })
	if err != nil {
		return fmt.Errorf("%s: %s: %w", s.cell, s.client.name, err)
	}
	return nil
}

// sample is the cost of some operations.
type sample struct {
	rig.Cost
	ops    int
	opened int // HTTP connections
}

// meter measures a sample.
type meter struct {
	rig.Meter
	ops, opened int
}

// sample does n operations, after a garbage collection.
func (s *subject) sample(ctx context.Context, n int) (sample, error) {
	run := s.inTurn
	if s.cell.together > 0 {
		run = s.together
	}
	runtime.GC()
	m := &meter{ops: n}
	if err := run(ctx, m); err != nil {
		return sample{}, err
	}
	return sample{m.Cost, n, m.opened}, nil
}

// opened is the number of connections to the HTTP responder, zero for others.
func (s *subject) opened() (int, error) {
	if s.cell.transport == "pipe" || s.cell.transport == "stdio" {
		return 0, nil
	}
	return s.lab.connections()
}

// measure runs f between start and stop of the meter.
func (s *subject) measure(m *meter, f func() error) error {
	before, err := s.opened()
	if err != nil {
		return err
	}
	m.Start()
	if err := f(); err != nil {
		return err
	}
	m.Stop()
	after, err := s.opened()
	m.opened = after - before
	return err
}

func (s *subject) inTurn(ctx context.Context, m *meter) error {
	return s.measure(m, func() error {
		for range m.ops {
			if err := s.cell.do(ctx, s); err != nil {
				return err
			}
		}
		return nil
	})
}

// together shares the operations among goroutines. Each does one before the
// measurement begins, so that stacks have grown and connections are open.
func (s *subject) together(ctx context.Context, m *meter) error {
	var (
		left        atomic.Int64
		ready, done sync.WaitGroup
		gate        = make(chan struct{})
		failed      = make([]error, s.cell.together)
	)
	left.Store(int64(m.ops))
	for i := range failed {
		ready.Add(1)
		done.Go(func() {
			err := s.cell.do(ctx, s)
			ready.Done()
			<-gate
			for err == nil && left.Add(-1) >= 0 {
				err = s.cell.do(ctx, s)
			}
			failed[i] = err
		})
	}
	ready.Wait()
	open := sync.OnceFunc(func() { close(gate) })
	err := s.measure(m, func() error {
		open()
		done.Wait()
		return errors.Join(failed...)
	})
	open() // also if the measurement did not begin
	done.Wait()
	return err
}

// eachDoes is the least number of operations of each goroutine. With fewer, the
// start, when all send at once, would be most of a sample.
const eachDoes = 8

// calibrate returns the number of operations for a sample of about that length,
// one for no length.
func (s *subject) calibrate(ctx context.Context, length time.Duration) error {
	if length == 0 {
		s.count = 1
		return nil
	}
	n, err := rig.Calibrate(length, func(n int) (time.Duration, error) {
		got, err := s.sample(ctx, n)
		return got.Wall, err
	})
	s.count = max(n, eachDoes*s.cell.together)
	return err
}

// perOp divides a figure of each sample by its operations.
func perOp(samples []sample, of func(sample) float64) []float64 {
	out := make([]float64, len(samples))
	for i, s := range samples {
		out[i] = of(s) / float64(s.ops)
	}
	return out
}
