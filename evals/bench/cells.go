package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/mcpchain/mcpchain/evals/bench/rig"
)

// cell is a workload over a transport in an era.
type cell struct {
	transport string // pipe, stdio, json, sse; the last two also with ownClientSuffix
	revision  string
	*workload
}

func (c cell) String() string {
	era := "legacy"
	if c.revision == modern {
		era = "modern"
	}
	return c.transport + "/" + c.name + "/" + era
}

// overHTTP reports whether a transport of a cell is HTTP.
func overHTTP(transport string) bool { return transport != "pipe" && transport != "stdio" }

// workload is what happens in a cell. Either do or memory is set.
type workload struct {
	name     string
	bothEras bool
	defaults bool // the workload runs with each client's own HTTP client, too

	do       func(context.Context, *subject) error // one operation
	together int                                   // concurrent operations; 0 is one after the other

	memory func(context.Context, *subject) (rig.Sample, error) // measures memory
}

var workloads = []workload{
	{name: "small", bothEras: true, do: callTool(smallTool)},
	{name: "64", bothEras: true, defaults: true, do: callTool(smallTool), together: 64},
	{name: "512", bothEras: true, defaults: true, do: callTool(smallTool), together: 512},
	{name: "1mib", do: callTool(mibTool)},
	{name: "10mib", do: callTool(mib10Tool)},
	{name: "tools", do: listTools},
	{name: "connect", bothEras: true, do: connectAndClose},
	{name: "idle", bothEras: true, memory: idleMemory},
	{name: "kept", memory: keptMemory},
	{name: "alive", memory: aliveMemory},
}

func cells() (all []cell) {
	for _, transport := range []string{"pipe", "stdio", "json", "json" + ownClientSuffix, "sse", "sse" + ownClientSuffix} {
		for i := range workloads {
			w := &workloads[i]
			if strings.HasSuffix(transport, ownClientSuffix) && !w.defaults {
				continue
			}
			all = append(all, cell{transport, legacy, w})
			if w.bothEras {
				all = append(all, cell{transport, modern, w})
			}
		}
	}
	return all
}

// callTool calls a tool and checks the result.
func callTool(tool string) func(context.Context, *subject) error {
	return func(ctx context.Context, s *subject) error {
		text, err := s.call(ctx, tool)
		if want := textLength[tool]; err == nil && len(text) != want {
			err = fmt.Errorf("a text of %d bytes, want %d", len(text), want)
		}
		return err
	}
}

// listTools lists all tools and checks their number.
func listTools(ctx context.Context, s *subject) error {
	n, err := s.list(ctx)
	if err == nil && n != toolCount {
		err = fmt.Errorf("%d tools, want %d", n, toolCount)
	}
	return err
}

// connectAndClose opens another session and closes it.
func connectAndClose(ctx context.Context, s *subject) error {
	opened, err := s.another(ctx)
	if err != nil {
		return err
	}
	return opened.close()
}

// subject is one client in one cell. Its session lives while the cell is measured.
type subject struct {
	session
	lab    *lab
	client client
	cell   cell
}

// eachDoes is the least number of operations of each goroutine. With fewer, the
// start, when all send together, would be most of a sample.
const eachDoes = 8

// open prepares a client for a cell.
func (l *lab) open(ctx context.Context, at cell, c client) (_ *rig.Subject, err error) {
	s := &subject{lab: l, client: c, cell: at}
	if at.memory != nil {
		return &rig.Subject{Memory: s.memoryInChild}, nil
	}
	if s.session, err = s.another(ctx); err != nil {
		return nil, err
	}
	if s.cell.together > 0 {
		return &rig.Subject{Do: s.together, Least: eachDoes * s.cell.together, Close: s.close}, nil
	}
	return &rig.Subject{Do: s.inTurn, Close: s.close}, nil
}

// another opens another session of the same kind, over a new endpoint.
func (s *subject) another(ctx context.Context) (session, error) {
	opened, err := s.client.dial(ctx, s.lab.newEndpoint(s.cell.transport, s.cell.revision))
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return opened, nil
}

// measure runs f between start and stop of the meter.
func (s *subject) measure(m *rig.Meter, f func() error) error {
	opened := func() (int, error) { return 0, nil } // requests would leave allocations to the other transports
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
		left  atomic.Int64
		ready sync.WaitGroup
		done  errgroup.Group
		gate  = make(chan struct{})
	)
	left.Store(int64(n))
	ready.Add(s.cell.together)
	for range s.cell.together {
		done.Go(func() error {
			err := s.cell.do(ctx, s)
			ready.Done()
			<-gate
			for err == nil && left.Add(-1) >= 0 {
				err = s.cell.do(ctx, s)
			}
			return err
		})
	}
	ready.Wait()
	open := sync.OnceFunc(func() { close(gate) })
	defer func() { _ = done.Wait() }()
	defer open() // also if the measurement does not begin
	return s.measure(m, func() error {
		open()
		return done.Wait()
	})
}
