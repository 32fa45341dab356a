//go:build unix

package adapter

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// quick is a server with one tool, t0, that costs nothing but its answer, so that the client is
// measured.
type quick struct {
	answers chan []byte
	closed  chan struct{}
	once    sync.Once
}

func (q *quick) Dial(context.Context) (mcpclient.Conn, error) { return q, nil }

func (q *quick) Send(_ context.Context, message []byte) error {
	_, id, ok := bytes.Cut(message, []byte(`"id":`))
	if !ok {
		return nil // a notification
	}
	id = id[:bytes.IndexAny(id, ",}")]
	result := `{"content":[{"type":"text","text":"ok"}]}`
	switch {
	case bytes.Contains(message, []byte(`"initialize"`)):
		result = handshake
	case bytes.Contains(message, []byte(`"tools/list"`)):
		result = `{"tools":[{"name":"t0","description":"Does it.","inputSchema":` + benchSchema + `}]}`
	}
	answer := make([]byte, 0, 64+len(id)+len(result))
	answer = append(append(answer, `{"jsonrpc":"2.0","id":`...), id...)
	answer = append(append(append(answer, `,"result":`...), result...), '}')
	select {
	case q.answers <- answer:
		return nil
	case <-q.closed:
		return errors.New("closed")
	}
}

func (q *quick) Recv() ([]byte, error) {
	select {
	case answer := <-q.answers:
		return answer, nil
	case <-q.closed:
		return nil, io.EOF
	}
}

func (q *quick) Close() error {
	q.once.Do(func() { close(q.closed) })
	return nil
}

// bothWays has a bare call with the necessary validation, and a call through the adapter.
func bothWays(t testing.TB) (bare, through func()) {
	server := &quick{answers: make(chan []byte, 1), closed: make(chan struct{})}
	ts := open(t, &Options{Client: &legacy}, Server{Name: "s", Transport: server})
	tool, _ := ts.Catalog(profile.Plain).Lookup("t0")
	bare = func() {
		check(t, tool.valid([]byte(benchArguments)))
		if _, err := tool.Client().CallTool(t.Context(), "t0", json.RawMessage(benchArguments)); err != nil {
			t.Fatal(err)
		}
	}
	c := call("1", "t0", benchArguments)
	through = func() {
		if r := ts.Catalog(profile.Plain).Call(t.Context(), c); r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	return bare, through
}

// cpuTime returns the user and system time of this process.
func cpuTime(t testing.TB) time.Duration {
	var u syscall.Rusage
	check(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// cost returns the CPU time of n calls.
func cost(t testing.TB, n int, call func()) time.Duration {
	before := cpuTime(t)
	for range n {
		call()
	}
	return cpuTime(t) - before
}

// timesBare measures rounds of n calls of either kind, in alternating order. It returns the median
// ratio of CPU time, adapter to bare.
func timesBare(t testing.TB, rounds, n int, bare, through func()) float64 {
	cost(t, n, bare) // to warm up
	cost(t, n, through)
	var ratios []float64
	for i := range rounds {
		var with, without time.Duration
		if i%2 == 0 {
			without, with = cost(t, n, bare), cost(t, n, through)
		} else {
			with, without = cost(t, n, through), cost(t, n, bare)
		}
		ratios = append(ratios, with.Seconds()/max(without, time.Microsecond).Seconds())
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/2]
}

// A call through the adapter needs little more CPU time and allocations than a bare call with
// validation.
func TestOverhead(t *testing.T) {
	bare, through := bothWays(t)
	without, with := testing.AllocsPerRun(200, bare), testing.AllocsPerRun(200, through)
	times := timesBare(t, 21, 200, bare, through)
	t.Logf("%.2f times the CPU time; %.0f allocations of a bare call, %.0f through the adapter: %.2f times", times, without, with, with/without)
	if with > 1.5*without {
		t.Errorf("got %.0f allocations, want at most 1.5 times the %.0f of a bare call", with, without)
	}
	if times > 1.5 {
		t.Errorf("got %.2f times the CPU time of a bare call, want at most 1.5", times)
	}
}

// BenchmarkOverhead reports the CPU time of a call through the adapter, as a multiple of a bare
// call with validation.
func BenchmarkOverhead(b *testing.B) {
	bare, through := bothWays(b)
	b.ReportMetric(timesBare(b, 101, max(b.N/100, 100), bare, through), "times-bare")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkCall measures each kind of call.
func BenchmarkCall(b *testing.B) {
	bare, through := bothWays(b)
	for name, call := range map[string]func(){"bare": bare, "adapter": through} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				call()
			}
		})
	}
}
