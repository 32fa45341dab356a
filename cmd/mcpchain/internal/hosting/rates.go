package hosting

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxRated bounds the users and addresses whose rates are remembered.
const maxRated = 10_000

// Rates limit requests by sender.
type Rates struct {
	every rate.Limit
	burst int

	mu sync.Mutex // guards the following field
	of map[string]*rate.Limiter
}

// NewRates allows perMinute requests a minute on average, and burst at once.
func NewRates(perMinute float64, burst int) *Rates {
	return &Rates{every: rate.Limit(perMinute / 60), burst: burst, of: map[string]*rate.Limiter{}}
}

// Take counts a request. wait is not 0 if the request has to wait.
func (r *Rates) Take(who string) (wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.of[who]
	if l == nil {
		if len(r.of) >= maxRated {
			r.forgetLocked()
		}
		l = rate.NewLimiter(r.every, r.burst)
		r.of[who] = l
	}
	now := time.Now()
	next := l.ReserveN(now, 1)
	if wait = next.DelayFrom(now); wait > 0 {
		next.CancelAt(now)
	}
	return wait
}

// forgetLocked removes senders that have been quiet for a while, or all if there are none.
func (r *Rates) forgetLocked() {
	for who, l := range r.of {
		if l.Tokens() >= float64(r.burst) {
			delete(r.of, who)
		}
	}
	if len(r.of) >= maxRated {
		clear(r.of)
	}
}
