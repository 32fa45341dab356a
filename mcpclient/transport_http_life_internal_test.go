package mcpclient

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
)

// counted is a context that counts who watches it.
type counted struct {
	context.Context
	watched, watching int // in all, and now
}

// Value hides the context within, which package context would ask instead.
func (c *counted) Value(any) any { return nil }

// AfterFunc is what package context asks a context that is not its own.
func (c *counted) AfterFunc(fn func()) (stop func() bool) {
	c.watched++
	c.watching++
	detach := context.AfterFunc(c.Context, fn)
	return func() bool {
		if !detach() {
			return false
		}
		c.watching--
		return true
	}
}

// newCaller returns a context that can end.
func newCaller(t *testing.T) (caller *counted, leave context.CancelFunc) {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	t.Cleanup(leave)
	return &counted{Context: ctx}, leave
}

func begun(e *exchanges, caller context.Context) *exchange {
	x := new(exchange)
	e.begin(x, caller, true)
	return x
}

// A life watches its caller as long as it has the same one, and no other.
func TestLifeFollowsItsCaller(t *testing.T) {
	var e exchanges
	a, leaveA := newCaller(t)
	b, leaveB := newCaller(t)
	stays := begun(&e, context.Background())
	defer stays.end()

	x := begun(&e, a)
	first := x.life
	x.end()
	x = begun(&e, a)
	if x.life != first || a.watched != 1 || a.watching != 1 {
		t.Errorf("the same caller: got another life: %t, watched %d times, %d now", x.life != first, a.watched, a.watching)
	}
	x.end()
	x = begun(&e, b)
	if x.life != first || a.watching != 0 || b.watching != 1 {
		t.Errorf("another caller: got another life: %t, the old one watched by %d, the new by %d", x.life != first, a.watching, b.watching)
	}
	leaveA()
	if x.Err() != nil {
		t.Errorf("ended with a caller that it does not have: %v", x.Err())
	}
	leaveB()
	<-x.Done()
	x.end()
	if y := begun(&e, context.Background()); y.life == first || y.Err() != nil {
		t.Error("got a life that has ended")
	}
}

// There are as many spare lives as exchanges at most, and nobody is watched by more.
func TestSparesAreBounded(t *testing.T) {
	var e exchanges
	caller, _ := newCaller(t)
	all := make([]*exchange, 100)
	for i := range all {
		all[i] = begun(&e, caller)
	}
	for i, x := range all {
		x.end()
		left := len(all) - i - 1
		if e.spares.size > left || caller.watching > 2*left {
			t.Fatalf("%d exchanges: got %d spare lives, the caller watched by %d", left, e.spares.size, caller.watching)
		}
	}
	if e.spares.first != nil {
		t.Error("a life is kept when no exchange is under way")
	}
}

// The end of a connection leaves nobody watched.
func TestClosedLivesWatchNobody(t *testing.T) {
	var e exchanges
	caller, _ := newCaller(t)
	x, y := begun(&e, caller), begun(&e, caller)
	y.end()
	if e.spares.size != 1 {
		t.Fatalf("got %d spare lives, want 1", e.spares.size)
	}
	e.close()
	if caller.watching != 1 {
		t.Errorf("the caller is watched by %d, want the exchange that has not left", caller.watching)
	}
	x.end()
	if caller.watching != 0 {
		t.Errorf("the caller is watched by %d", caller.watching)
	}
}

// What drains has no caller, and its life goes on with the next exchange of the same
// caller as with any other.
func TestDrainedLifeFollowsItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e exchanges
		caller, leave := newCaller(t)
		stays, x := begun(&e, context.Background()), begun(&e, caller)
		first := x.life
		x.drainOff(io.NopCloser(strings.NewReader("rest")))
		x.end()
		synctest.Wait()
		next := begun(&e, caller)
		if next.life != first || caller.watching != 1 {
			t.Errorf("got another life: %t, watched by %d, want the same, watching", next.life != first, caller.watching)
		}
		leave()
		synctest.Wait()
		if next.Err() == nil {
			t.Error("its caller has left, and it goes on")
		}
		next.end()
		stays.end()
		e.close()
	})
}

// A life that its caller is about to end goes on with nobody else.
func TestDoomedLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e exchanges
		caller, _ := newCaller(t)
		stays := begun(&e, context.Background())
		for name, end := range map[string]func(x *exchange){
			"at once": (*exchange).end,
			"drained": func(x *exchange) { x.drainOff(io.NopCloser(strings.NewReader("rest"))) },
		} {
			x := begun(&e, caller)
			x.detach = func() bool { return false } // as when the caller has ended, and x will
			end(x)
			synctest.Wait()
			next := begun(&e, context.Background())
			if next.life == x.life || x.life.Err() == nil {
				t.Errorf("%s: got its life again: %t, ended: %v", name, next.life == x.life, x.life.Err())
			}
			next.end()
		}
		stays.end()
		e.close()
	})
}

// A life that its caller is about to end goes to no other exchange.
func TestLifeOfACallerThatLeft(t *testing.T) {
	for name, full := range map[string]int{"drained": 0, "not drained": maxDraining} {
		t.Run(name, func(t *testing.T) {
			var e exchanges
			e.drains.size = full
			stays := begun(&e, context.Background())
			defer stays.end()
			caller, leave := context.WithCancel(t.Context())
			x := begun(&e, caller)
			left := x.life
			leave()
			x.drainOff(io.NopCloser(strings.NewReader("rest")))
			x.end()
			if y := begun(&e, context.Background()); y.life == left || left.Err() == nil {
				t.Errorf("got the life again: %t, ended: %v", y.life == left, left.Err())
			}
		})
	}
}
