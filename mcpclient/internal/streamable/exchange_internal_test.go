package streamable

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
)

func messageThat(awaitsAnswer bool) *message {
	return &message{sent: new(wire.Message), awaitsAnswer: awaitsAnswer}
}

// An exchange that begins too late is over at once, and one that ends twice ends once.
func TestLateExchanges(t *testing.T) {
	late := func(e *exchanges, asks bool) error {
		x := e.begin(t.Context(), messageThat(asks))
		defer x.end()
		defer x.end()
		return x.Err()
	}
	e := &exchanges{done: make(chan struct{})}
	e.endCalls()
	check.NoError(t, late(e, false), "one that tells, after the calls")
	check.Fails(t, late(e, true), "one that asks, after the calls")
	e.close()
	check.Fails(t, late(e, false), "after the end")
	check.Equal(t, "exchanges", len(e.open), 0)
}

// stuck is a body that says nothing until the exchange ends.
type stuck struct{ x *exchange }

func (s *stuck) Read([]byte) (int, error) {
	<-s.x.Done()
	return 0, s.x.Err()
}
func (s *stuck) Close() error { return nil }

// What is being drained ends neither with its caller nor with the calls, and gets a
// moment when the connection is closed, after which nothing is drained any more.
func TestDrainOutlivesCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &exchanges{done: make(chan struct{})}
		caller, leave := context.WithCancel(t.Context())
		x, late := e.begin(caller, messageThat(true)), e.begin(t.Context(), messageThat(false))
		x.drainBody(&stuck{x})
		x.end() // as the caller does
		leave()
		synctest.Wait()
		e.endCalls()
		start := time.Now()
		e.close()
		check.NoError(t, x.Err(), "a drain that continues")
		check.Equal(t, "a drain began after the end", late.startDrain(&stuck{late}), false)
		late.end()
		e.drains.wait(time.Minute)
		check.Equal(t, "the drain ended after", time.Since(start), drainGrace)
		check.Equal(t, "exchanges", len(e.open), 0)
	})
}

func TestReadSized(t *testing.T) {
	for _, size := range []int{0, 1, 511, trustedSize - 1, trustedSize, trustedSize + 1, 3 << 20, trustedRatio*trustedSize + 5} {
		want := bytes.Repeat([]byte("0123456789"), size/10+1)[:size]
		for name, r := range map[string]io.Reader{
			"whole":             bytes.NewReader(want),
			"end with the last": iotest.DataErrReader(bytes.NewReader(want)),
			"in halves":         iotest.HalfReader(bytes.NewReader(want)),
		} {
			got, err := readSized(r, size)
			check.That(t, err == nil && bytes.Equal(got, want), "%d bytes, %s: got %d, %v", size, name, len(got), err)
		}
	}
	check.Text(t, check.Err(readSized(strings.NewReader("0123456789"), 9)), "Content-Length of 9", "more than claimed")
}

// What a server claims costs no memory that it does not fill.
func TestClaimedSizeIsNotTrusted(t *testing.T) {
	cut := errors.New("cut")
	for _, sent := range []int{10, trustedSize + 1} {
		n := check.Allocated(func() {
			got, err := readSized(io.MultiReader(bytes.NewReader(make([]byte, sent)), iotest.ErrReader(cut)), 1<<30)
			check.Equal(t, sent, err, cut)
			check.Equal(t, "bytes", len(got), sent)
		})
		check.That(t, n <= uint64(trustedSize+trustedRatio*sent+sent+1<<18), "got %d bytes allocated for %d that came", n, sent)
	}
}
