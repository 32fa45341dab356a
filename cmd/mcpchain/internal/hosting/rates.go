package hosting

import (
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxRated bounds the senders whose rates are remembered.
const maxRated = 10_000

// Rates limit requests by sender. Its methods may be called concurrently.
type Rates struct {
	perSecond rate.Limit
	burst     int

	mu       sync.Mutex // guards the following field
	limiters map[string]*rate.Limiter
}

// NewRates allows perMinute requests a minute on average, and burst at once.
func NewRates(perMinute float64, burst int) *Rates {
	return &Rates{perSecond: rate.Limit(perMinute / 60), burst: burst, limiters: map[string]*rate.Limiter{}}
}

// Allow counts a request of a sender, unless there were too many: then it returns a [Refusal], and the response says when
// to try again.
func (r *Rates) Allow(w http.ResponseWriter, who string) error {
	wait := r.take(who)
	if wait == 0 {
		return nil
	}
	seconds := int(math.Ceil(wait.Seconds()))
	w.Header().Set("Retry-After", strconv.Itoa(seconds))
	return Refuse(http.StatusTooManyRequests, "too many requests; try again in %d s", seconds)
}

// take counts a request. If there were too many, it does not count, and wait says how long the sender has to wait.
func (r *Rates) take(who string) (wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.limiters[who]
	if l == nil {
		if len(r.limiters) >= maxRated {
			r.removeQuietLocked()
		}
		l = rate.NewLimiter(r.perSecond, r.burst)
		r.limiters[who] = l
	}
	now := time.Now()
	next := l.ReserveN(now, 1)
	if wait = next.DelayFrom(now); wait > 0 {
		next.CancelAt(now)
	}
	return wait
}

// removeQuietLocked removes senders that may send a full burst again, or all if there are none of these.
func (r *Rates) removeQuietLocked() {
	for who, l := range r.limiters {
		if l.Tokens() >= float64(r.burst) {
			delete(r.limiters, who)
		}
	}
	if len(r.limiters) >= maxRated {
		clear(r.limiters)
	}
}
