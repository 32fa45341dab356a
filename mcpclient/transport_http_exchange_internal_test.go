package mcpclient

import (
	"context"
	"testing"
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
