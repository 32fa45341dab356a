package mcpclient

import (
	"context"
	"testing"
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
	x.end()
	if caller.watching != 0 {
		t.Errorf("the caller is watched by %d", caller.watching)
	}
}
