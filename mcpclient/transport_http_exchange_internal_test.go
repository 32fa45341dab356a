package mcpclient

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// The life of an exchange goes on with the next one, unless something has ended
// it, or may yet, or knows it. Nothing is kept where no exchange is under way.
func TestLives(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	caller, leave := context.WithCancel(t.Context())
	defer leave()
	for name, c := range map[string]struct {
		caller  context.Context
		private bool
		before  func(x *exchange) // it ends
		again   bool
	}{
		"a caller that stays":  {caller, true, func(*exchange) {}, true},
		"a caller that leaves": {ended, true, func(*exchange) {}, false},
		"an exchange cut off":  {caller, true, func(x *exchange) { x.cancel() }, false},
		"one that others know": {caller, false, func(*exchange) {}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var e exchanges
			other, x, next := new(exchange), new(exchange), new(exchange)
			e.begin(other, caller, true)
			e.begin(x, c.caller, c.private)
			first := x.life
			c.before(x)
			x.end()
			e.begin(next, caller, true)
			if got := next.life == first; got != c.again {
				t.Errorf("got the life again: %t, want %t", got, c.again)
			}
			if !c.again && first.Err() == nil {
				t.Error("a life that does not go on has not been ended")
			}
			if next.Err() != nil {
				t.Errorf("got an exchange that is over: %v", next.Err())
			}
			next.end()
			other.end()
			if e.spares.first != nil || e.first != nil {
				t.Error("something is kept when no exchange is under way")
			}
		})
	}
}

// Who keeps an exchange that has ended, as the context of what it dialed, keeps no
// others: each is part of its message, and the chain would have no end.
func TestEndedExchangesAreApart(t *testing.T) {
	var e exchanges
	all := make([]exchange, 3)
	for i := range all {
		e.begin(&all[i], t.Context(), true)
	}
	for _, i := range []int{1, 0, 2} {
		all[i].end()
	}
	for i := range all {
		if all[i].prev != nil || all[i].next != nil {
			t.Errorf("exchange %d has a neighbour", i)
		}
	}
}

// An exchange has the values of its caller, and ends with it.
func TestExchangeIsItsContext(t *testing.T) {
	type key struct{}
	caller, leave := context.WithCancel(context.WithValue(t.Context(), key{}, "a"))
	var e exchanges
	x := new(exchange)
	e.begin(x, caller, true)
	defer x.end()
	if v := x.Value(key{}); v != "a" {
		t.Errorf("got value %v, want a", v)
	}
	within, cancel := context.WithCancel(x)
	defer cancel()
	leave()
	<-within.Done()
	if x.Err() != context.Canceled {
		t.Errorf("got %v, want %v", x.Err(), context.Canceled)
	}
}

// An exchange that begins too late is over at once, and one that ends twice ends once.
func TestLateExchanges(t *testing.T) {
	late := func(e *exchanges, asks bool) error {
		x := &exchange{asks: asks}
		e.begin(x, t.Context(), true)
		defer x.end()
		defer x.end()
		return x.Err()
	}
	var e exchanges
	e.endAsking()
	if tells, asks := late(&e, false), late(&e, true); tells != nil || asks == nil {
		t.Errorf("when none asks any more: got %v for one that tells and %v for one that asks", tells, asks)
	}
	e.close()
	if tells := late(&e, false); tells == nil {
		t.Error("after the end: got an exchange that goes on")
	}
	if e.size != 0 {
		t.Errorf("got %d exchanges, want none", e.size)
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
		var e exchanges
		x, late := &exchange{asks: true}, new(exchange)
		caller, leave := newCaller(t)
		e.begin(x, caller, true)
		e.begin(late, t.Context(), true)
		x.drainOff(&stuck{x})
		leave()
		synctest.Wait()
		e.endAsking()
		start := time.Now()
		e.close()
		if x.Err() != nil {
			t.Errorf("got %v, want a drain that goes on", x.Err())
		}
		if late.startDrain(&stuck{late}) {
			t.Error("a drain began after the end")
		}
		late.end()
		e.drains.wait(time.Minute)
		if took := time.Since(start); took != drainGrace {
			t.Errorf("the drain ended after %v, want %v", took, drainGrace)
		}
	})
}
