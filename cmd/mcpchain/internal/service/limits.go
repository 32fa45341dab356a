package service

import (
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// limits bound what each user does in this process.
type limits struct {
	running, open, stored, streams int
	rate                           float64 // requests in a second

	mu  sync.Mutex // guards the fields below
	all map[string]*tenant
}

func newLimits(o *options) *limits {
	return &limits{running: o.running, open: o.open, stored: o.stored, streams: o.streams, rate: o.rate / 60, all: map[string]*tenant{}}
}

// tenant is a user with requests.
type tenant struct {
	rate *rate.Limiter
	uses int // requests under way

	streams   int             // guarded by limits.mu
	beginning []chan struct{} // runs that begin, in their order, each closed at its end; guarded by limits.mu
}

// burst is how many requests may come at once, for each request in a second.
const burst = 3

// enter begins a request of a user; leave ends it. A request that comes too early has a wait.
func (l *limits) enter(user string) (t *tenant, leave func(), wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t = l.all[user]; t == nil {
		l.forgetLocked()
		t = &tenant{rate: rate.NewLimiter(rate.Limit(l.rate), max(1, int(burst*l.rate)))}
		l.all[user] = t
	}
	now := time.Now()
	r := t.rate.ReserveN(now, 1)
	if wait = r.DelayFrom(now); wait > 0 {
		r.CancelAt(now)
		return nil, nil, wait
	}
	t.uses++
	return t, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		t.uses--
	}, 0
}

// forgetLocked drops users who are as good as new, each time that the number of users has doubled.
func (l *limits) forgetLocked() {
	if n := len(l.all); n < 64 || n&(n-1) != 0 {
		return
	}
	now := time.Now()
	for user, t := range l.all {
		if t.uses == 0 && t.rate.TokensAt(now) >= float64(t.rate.Burst()) {
			delete(l.all, user)
		}
	}
}

// stream begins an event stream of a user if there may be one more.
func (l *limits) stream(t *tenant) (end func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.streams >= l.streams {
		return nil, false
	}
	t.streams++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		t.streams--
	}, true
}

// beginning says that a run of a user begins, and which ones began before and are not through with that: the store
// may have them, or not yet. The caller calls end.
func (l *limits) beginning(t *tenant) (before []chan struct{}, end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := make(chan struct{})
	before = slices.Clone(t.beginning)
	t.beginning = append(t.beginning, one)
	return before, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		t.beginning = slices.DeleteFunc(t.beginning, func(c chan struct{}) bool { return c == one })
		close(one)
	}
}
