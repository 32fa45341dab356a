package main

import (
	"context"
	"errors"
	"runtime"
	"runtime/metrics"
	"sync"
	"time"
)

// sessions is how many idle sessions are weighed together.
const sessions = 99

// weight is the heap and the stacks after garbage is collected.
type weight struct {
	bytes      int64
	goroutines int
}

// weighNow collects garbage until nothing more goes away: collections shrink
// stacks and empty pools step by step, and goroutines that end need a moment.
func weighNow() weight {
	var least weight
	for i, same := 0, 0; i < 50 && same < 3; i++ {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		now := weight{int64(m.HeapAlloc + m.StackInuse), runtime.NumGoroutine()}
		if i == 0 || now.bytes < least.bytes-1<<10 || now.goroutines < least.goroutines {
			least, same = now, 0
		} else {
			same++
		}
		time.Sleep(5 * time.Millisecond)
	}
	return least
}

// weighIdle weighs sessions that made one call each. What the responders in this
// process weigh is taken off.
func weighIdle(ctx context.Context, s *subject) (f figures, err error) {
	own, err := weighResponders(s)
	if err != nil {
		return f, err
	}
	before := weighNow()
	open := make([]*connection, 0, sessions)
	defer func() { err = errors.Join(err, closeAll(open)) }()
	for range sessions {
		c, err := s.another(ctx)
		if err != nil {
			return f, err
		}
		open = append(open, c)
		if _, err := c.call(ctx, smallTool); err != nil {
			return f, err
		}
	}
	after := weighNow()
	f.SessionBytes = new(float64(after.bytes-before.bytes-own.bytes) / sessions)
	f.Goroutines = new(float64(after.goroutines-before.goroutines-own.goroutines) / sessions)
	return f, nil
}

func closeAll(open []*connection) error {
	errs := make([]error, len(open))
	var all sync.WaitGroup
	for i, c := range open {
		all.Go(func() { errs[i] = c.close() })
	}
	all.Wait()
	return errors.Join(errs...)
}

// weighResponders weighs the pipes and responders of as many sessions, each after
// a call, without clients.
func weighResponders(s *subject) (weight, error) {
	if s.cell.transport != "pipe" {
		return weight{}, nil
	}
	before := weighNow()
	for range sessions {
		e, release := s.lab.endpoint(s.cell.transport, s.cell.revision)
		defer release()
		if _, err := e.writer.Write([]byte(`{"id":1,"method":"tools/call","params":{"name":"` + smallTool + `"}}` + "\n")); err != nil {
			return weight{}, err
		}
		if _, err := e.reader.Read(make([]byte, 4<<10)); err != nil {
			return weight{}, err
		}
	}
	after := weighNow()
	return weight{after.bytes - before.bytes, after.goroutines - before.goroutines}, nil
}

// weighKept weighs what a session keeps when it has listed all tools, without the
// list and with it.
func weighKept(ctx context.Context, s *subject) (f figures, err error) {
	if _, err := s.call(ctx, smallTool); err != nil {
		return f, err
	}
	before := weighNow()
	held, _, err := s.list(ctx)
	if err != nil {
		return f, err
	}
	f.Held = new(float64(weighNow().bytes - before.bytes))
	runtime.KeepAlive(held)
	held = nil
	f.Kept = new(float64(weighNow().bytes - before.bytes))
	return f, nil
}

// weighAlive finds out how much of a result of 10 MiB is alive at once: the most
// that collections, one after the other while calls go on, find alive, beyond
// what was before the first. Garbage that a collection made between its
// beginning and its end counts, so it is an upper bound.
func weighAlive(ctx context.Context, s *subject) (f figures, err error) {
	if _, err := s.call(ctx, smallTool); err != nil {
		return f, err
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	read := func() uint64 {
		runtime.GC()
		metrics.Read(live)
		return live[0].Value.Uint64()
	}
	weighNow()
	before := read()
	var most uint64
	stop := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				most = max(most, read())
			}
		}
	})
	check := callTool(mib10Tool)
	for range 3 {
		err = errors.Join(err, check(ctx, s))
	}
	close(stop)
	watch.Wait()
	f.Alive = new(float64(most-min(most, before)) / float64(textLength[mib10Tool]))
	return f, err
}
