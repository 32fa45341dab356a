package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mcpchain/mcpchain/evals/bench/rig"
)

// subject is one client in one cell. Its session lives while the cell is measured.
type subject struct {
	*connection
	lab    *lab
	client client
	cell   cell
}

// eachDoes is the least number of operations of each goroutine. With fewer, the
// start, when all send together, would be most of a sample.
const eachDoes = 8

// open prepares a client for a cell.
func (l *lab) open(ctx context.Context, cellName, clientName string) (_ *rig.Subject, err error) {
	s := l.subject(cellName, clientName)
	if s.cell.memory != nil {
		return &rig.Subject{Memory: s.memoryInChild}, nil
	}
	if s.connection, err = s.another(ctx); err != nil {
		return nil, err
	}
	if s.cell.together > 0 {
		return &rig.Subject{Do: s.together, Least: eachDoes * s.cell.together, Close: s.close}, nil
	}
	return &rig.Subject{Do: s.inTurn, Close: s.close}, nil
}

// subject returns a client in a cell, without a session. Both exist.
func (l *lab) subject(cellName, clientName string) *subject {
	all := cells()
	at := slices.IndexFunc(all, func(c cell) bool { return c.String() == cellName })
	i := slices.IndexFunc(clients, func(c client) bool { return c.name == clientName })
	return &subject{lab: l, client: clients[i], cell: all[at]}
}

// another opens another session of the same kind.
func (s *subject) another(ctx context.Context) (*connection, error) {
	return s.lab.connect(ctx, s.client, s.cell.transport, s.cell.revision)
}

// measure runs f between start and stop of the meter.
func (s *subject) measure(m *rig.Meter, f func() error) error {
	opened := func() (int, error) { return 0, nil }
	if overHTTP(s.cell.transport) {
		opened = s.lab.connections
	}
	before, err := opened()
	if err != nil {
		return err
	}
	m.Start()
	if err := f(); err != nil {
		return err
	}
	m.Stop()
	after, err := opened()
	m.Totals[connections] = float64(after - before)
	return err
}

// inTurn does n operations one after the other.
func (s *subject) inTurn(ctx context.Context, n int, m *rig.Meter) error {
	return s.measure(m, func() error {
		for range n {
			if err := s.cell.do(ctx, s); err != nil {
				return err
			}
		}
		return nil
	})
}

// together shares n operations among goroutines. Each does one before the
// measurement begins, so that stacks have grown and connections are open.
func (s *subject) together(ctx context.Context, n int, m *rig.Meter) error {
	var (
		left        atomic.Int64
		ready, done sync.WaitGroup
		gate        = make(chan struct{})
		failed      = make([]error, s.cell.together)
	)
	left.Store(int64(n))
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
