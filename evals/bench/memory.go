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
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mcpchain/mcpchain/evals/bench/rig"
)

// memoryInChild measures the memory of a client in a process of its own: leftovers of others, such as
// pooled buffers and partly used spans of stacks, would hide or increase it.
func (s *subject) memoryInChild(ctx context.Context) (got rig.Sample, err error) {
	cmd := exec.CommandContext(ctx, os.Args[0], measureMemory, s.cell.String(), s.client.name, s.lab.address, strconv.Itoa(s.lab.sessions))
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

// memoryHere measures the memory of a client in this process and prints the sample.
func memoryHere(cellName, clientName, address, sessions string, out io.Writer) (err error) {
	l, all := newLab(address), cells()
	if l.sessions, err = strconv.Atoi(sessions); err != nil {
		return err
	}
	at := slices.IndexFunc(all, func(c cell) bool { return c.String() == cellName })
	i := slices.IndexFunc(clients, func(c client) bool { return c.name == clientName })
	s := &subject{lab: l, client: clients[i], cell: all[at]}
	ctx := context.Background()
	if s.session, err = s.another(ctx); err != nil {
		return err
	}
	got, err := s.cell.memory(ctx, s)
	err = errors.Join(err, s.close())
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(got)
}

// holding is what this process holds after garbage collection.
type holding struct {
	heap, stacks int64 // bytes
	goroutines   int
}

// Bounds of settle, which collects garbage until that frees no more.
const (
	mostCollections = 100
	steady          = 4                    // collections in succession that free no more
	noise           = 256                  // bytes that do not count as freed
	moment          = 2 * time.Millisecond // wait for goroutines that end
)

// settle collects garbage until the memory stops shrinking and no goroutine ends: collections shrink stacks and empty
// pools step by step. It returns what is left. The shared HTTP client's connections are closed first.
func settle() holding {
	sharedClient.CloseIdleConnections()
	var left holding
	for i, same := 0, 0; i < mostCollections && same < steady; i++ {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		now := holding{int64(m.HeapAlloc), int64(m.StackInuse), runtime.NumGoroutine()}
		if i == 0 || now.heap+now.stacks < left.heap+left.stacks-noise || now.goroutines < left.goroutines {
			left, same = now, 0
		} else {
			same++
		}
		time.Sleep(moment)
	}
	return left
}

// idleMemory measures sessions after one call each. The responders have answered before, so that they do not count.
func idleMemory(ctx context.Context, s *subject) (_ rig.Sample, err error) {
	n := s.lab.sessions
	if overHTTP(s.cell.transport) {
		n *= 10 // a session is as small as the noise of pooled buffers
	}
	places, open := make([]endpoint, n), make([]session, 0, n) // both live until the end, and so do not count
	defer runtime.KeepAlive(places)
	for i := range places {
		places[i] = s.lab.newEndpoint(s.cell.transport, s.cell.revision)
		if err := askOnce(places[i]); err != nil {
			return nil, err
		}
	}
	before := settle()
	defer func() {
		var all errgroup.Group
		for _, c := range open {
			all.Go(c.close)
		}
		err = errors.Join(err, all.Wait())
	}()
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
	after := settle()
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

// keptMemory measures a session's heap after it has listed all tools, without the list.
func keptMemory(ctx context.Context, s *subject) (rig.Sample, error) {
	s.lab.pipe[s.cell.revision].pages() // are made now
	if _, err := s.call(ctx, smallTool); err != nil {
		return nil, err
	}
	before := settle()
	if err := listTools(ctx, s); err != nil {
		return nil, err
	}
	return rig.Sample{kept: float64(settle().heap - before.heap)}, nil
}

// aliveMemory measures the memory of a large result while it is received: the largest heap at frequent
// collections during three calls, less the heap before. The collections stop the world.
func aliveMemory(ctx context.Context, s *subject) (rig.Sample, error) {
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
	settle()
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
