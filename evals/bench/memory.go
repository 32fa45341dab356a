package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/evals/bench/rig"
)

// weighing names the cell and the client that a child process weighs.
type weighing struct {
	Cell, Client string
	Address      string // URL of the HTTP responder
	Sessions     int
}

// weighInChild measures the memory of a client in a process of its own: leftovers of others, such as
// pooled buffers and partly used spans of stacks, would hide or increase it.
func (s *subject) weighInChild(ctx context.Context) (got rig.Sample, err error) {
	what, err := json.Marshal(weighing{s.cell.String(), s.client.name, s.lab.address, s.lab.sessions})
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, s.lab.self, weighOne, string(what))
	cmd.Env = append(os.Environ(), "GODEBUG=gcstoptheworld=1") // nothing changes during the measurement
	out, err := cmd.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%w: %s", cmp.Or(context.Cause(ctx), err), bytes.TrimSpace(failed.Stderr))
	}
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal(out, &got)
	return got, err
}

// weighHere measures memory in this process and prints the sample.
func weighHere(what []byte, out io.Writer) error {
	var w weighing
	if err := json.Unmarshal(what, &w); err != nil {
		return err
	}
	l, err := newLab(w.Address)
	if err != nil {
		return err
	}
	l.sessions = w.Sessions
	s := l.subject(w.Cell, w.Client)
	ctx := context.Background()
	if s.connection, err = s.another(ctx); err != nil {
		return err
	}
	got, err := s.cell.weigh(ctx, s)
	err = errors.Join(err, s.close())
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(got)
}

// weight is the memory after garbage collection.
type weight struct {
	heap, stacks int64 // bytes
	goroutines   int
}

// Bounds of weighNow, which collects garbage until that frees no more.
const (
	mostCollections = 100
	steady          = 4                    // collections in succession that free no more
	noise           = 256                  // bytes that do not count as freed
	moment          = 2 * time.Millisecond // wait for goroutines that end
)

// weighNow collects garbage until the memory stops shrinking: collections shrink stacks and empty
// pools step by step. The shared HTTP client's connections are closed first.
func weighNow() weight {
	sharedClient.CloseIdleConnections()
	var least weight
	for i, same := 0, 0; i < mostCollections && same < steady; i++ {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		now := weight{int64(m.HeapAlloc), int64(m.StackInuse), runtime.NumGoroutine()}
		if i == 0 || now.heap+now.stacks < least.heap+least.stacks-noise || now.goroutines < least.goroutines {
			least, same = now, 0
		} else {
			same++
		}
		time.Sleep(moment)
	}
	return least
}

// weighIdle measures sessions after one call each. The responders have answered
// before, so that they do not count.
func weighIdle(ctx context.Context, s *subject) (_ rig.Sample, err error) {
	n := s.lab.sessions
	if overHTTP(s.cell.transport) {
		n *= 10 // a session is as small as the noise of pooled buffers
	}
	places, open := make([]endpoint, n), make([]session, 0, n) // both live until the end, and so do not count
	defer runtime.KeepAlive(places)
	for i := range places {
		e, release := s.lab.newEndpoint(s.cell.transport, s.cell.revision)
		defer release()
		places[i] = e
		if err := askOnce(e); err != nil {
			return nil, err
		}
	}
	before := weighNow()
	defer func() { err = errors.Join(err, closeAll(open)) }()
	for _, place := range places {
		c, err := s.client.dial(ctx, place)
		if err != nil {
			return nil, err
		}
		open = append(open, c)
		if _, err := c.call(ctx, smallTool); err != nil {
			return nil, err
		}
	}
	after := weighNow()
	return rig.Sample{
		sessionBytes: float64(after.heap+after.stacks-before.heap-before.stacks) / float64(n),
		goroutines:   float64(after.goroutines-before.goroutines) / float64(n),
	}, nil
}

// askOnce makes the responder at a pipe answer a call. It does nothing for other endpoints.
func askOnce(e endpoint) error {
	if e.reader == nil {
		return nil
	}
	if _, err := e.writer.Write([]byte(`{"id":1,"method":"tools/call","params":{"name":"` + smallTool + `"}}` + "\n")); err != nil {
		return err
	}
	_, err := e.reader.Read(make([]byte, rig.Copied))
	return err
}

// closeAll closes sessions concurrently.
func closeAll(open []session) error {
	errs := make([]error, len(open))
	var all sync.WaitGroup
	for i, c := range open {
		all.Go(func() { errs[i] = c.close() })
	}
	all.Wait()
	return errors.Join(errs...)
}

// weighKept measures a session's heap after it has listed all tools, without the list.
func weighKept(ctx context.Context, s *subject) (rig.Sample, error) {
	s.lab.pipe[s.cell.revision].pages() // are made now
	if _, err := s.call(ctx, smallTool); err != nil {
		return nil, err
	}
	before := weighNow()
	if err := listTools(ctx, s); err != nil {
		return nil, err
	}
	return rig.Sample{kept: float64(weighNow().heap - before.heap)}, nil
}

// weighAlive measures the memory of a large result while it is received: the largest heap at frequent
// collections during three calls, less the heap before. The collections stop the world.
func weighAlive(ctx context.Context, s *subject) (rig.Sample, error) {
	s.lab.pipe[s.cell.revision].texts[mib10Tool]() // is made now
	if _, err := s.call(ctx, smallTool); err != nil {
		return nil, err
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
		pause := time.NewTicker(200 * time.Microsecond)
		defer pause.Stop()
		for {
			select {
			case <-stop:
				return
			case <-pause.C:
				most = max(most, read())
			}
		}
	})
	check := callTool(mib10Tool)
	var err error
	for range 2 {
		err = errors.Join(err, check(ctx, s))
	}
	text, failed := s.call(ctx, mib10Tool)
	close(stop)
	watch.Wait()
	most = max(most, read()) // at least this result is alive
	runtime.KeepAlive(text)
	return rig.Sample{copies: (float64(most) - float64(before)) / float64(textLength[mib10Tool])}, errors.Join(err, failed)
}
