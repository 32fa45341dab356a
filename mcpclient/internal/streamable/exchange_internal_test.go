package streamable

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// An exchange has the values of its caller, and ends with it.
func TestExchangeIsItsContext(t *testing.T) {
	type key struct{}
	caller, leave := context.WithCancel(context.WithValue(t.Context(), key{}, "a"))
	e := &exchanges{done: make(chan struct{})}
	x := e.begin(caller, false, false)
	defer x.end()
	if v := x.Value(key{}); v != "a" || x.Err() != nil {
		t.Errorf("got value %v and %v, want a and no error", v, x.Err())
	}
	leave()
	<-x.Done()
	if late := e.begin(caller, false, false); late.Err() == nil {
		t.Error("an exchange of a caller who has left continues")
	}
}

// An exchange that begins too late is over at once, and one that ends twice ends once.
func TestLateExchanges(t *testing.T) {
	late := func(e *exchanges, asks bool) error {
		x := e.begin(t.Context(), asks, false)
		defer x.end()
		defer x.end()
		return x.Err()
	}
	e := &exchanges{done: make(chan struct{})}
	e.endCalls()
	if tells, asks := late(e, false), late(e, true); tells != nil || asks == nil {
		t.Errorf("after the calls: got %v for one that tells and %v for one that asks", tells, asks)
	}
	e.close()
	if tells := late(e, false); tells == nil {
		t.Error("after the end: got an exchange that continues")
	}
	if n := len(e.open); n != 0 {
		t.Errorf("got %d exchanges, want none", n)
	}
}

// Exchanges end in any order; the end of the connection ends what is left.
func TestExchangesEndInAnyOrder(t *testing.T) {
	const n = 4
	for first := range n {
		e := &exchanges{done: make(chan struct{})}
		var all [n]*exchange
		for i := range all {
			all[i] = e.begin(t.Context(), true, false)
		}
		all[first].end()
		all[(first+2)%n].end()
		if n := len(e.open); n != 2 {
			t.Errorf("got %d exchanges, want 2", n)
		}
		e.endCalls()
		for i, x := range all {
			if x.Err() == nil {
				t.Errorf("exchange %d continues, after the end of %d", i, first)
			}
			x.end()
		}
		if n := len(e.open); n != 0 {
			t.Errorf("got %d exchanges, want none", n)
		}
	}
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
		x, late := e.begin(caller, true, false), e.begin(t.Context(), false, false)
		x.drainBody(&stuck{x})
		x.end() // as the caller does
		leave()
		synctest.Wait()
		e.endCalls()
		start := time.Now()
		e.close()
		if x.Err() != nil {
			t.Errorf("got %v, want a drain that continues", x.Err())
		}
		if late.startDrain(&stuck{late}) {
			t.Error("a drain began after the end")
		}
		late.end()
		e.drains.wait(time.Minute)
		if took := time.Since(start); took != drainGrace {
			t.Errorf("the drain ended after %v, want %v", took, drainGrace)
		}
		if n := len(e.open); n != 0 {
			t.Errorf("got %d exchanges, want none", n)
		}
	})
}
