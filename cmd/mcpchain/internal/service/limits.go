package service

import (
	"sync"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
)

// limits bound what each user does in this process.
type limits struct {
	running, open, stored int // maximum number of active, waiting and stored runs
	streams               int // maximum number of open event streams
	rates                 *hosting.Rates

	mu      sync.Mutex // guards the following field and the tenants
	tenants map[string]*tenant
}

// newLimits returns the limits of the flags.
func newLimits(o *options) *limits {
	return &limits{
		running: o.running, open: o.open, stored: o.stored, streams: o.streams,
		rates: hosting.NewRates(o.rate, max(1, int(burst*o.rate/60))), tenants: map[string]*tenant{},
	}
}

// tenant is a user with requests. limits.mu guards the numbers.
type tenant struct {
	uses      int           // requests in progress
	streams   int           // open event streams
	beginning chan struct{} // has a value while a run begins; room for one
}

// burst is how many seconds' worth of the allowed requests may come at once.
const burst = 3

// beginRequest begins a request of a user; leave ends it.
func (l *limits) beginRequest(user string) (t *tenant, leave func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t = l.tenants[user]; t == nil {
		t = &tenant{beginning: make(chan struct{}, 1)}
		l.tenants[user] = t
	}
	t.uses++
	return t, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if t.uses--; t.uses == 0 {
			delete(l.tenants, user)
		}
	}
}

// openStream opens an event stream of a user if another is allowed; end closes it.
func (l *limits) openStream(t *tenant) (end func(), ok bool) {
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
