package temporal

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// TenantLimits bound the steps of each tenant in one worker. Zero means no limit. A step beyond
// them waits at Temporal without occupying the worker.
type TenantLimits struct {
	Steps     int     // concurrent steps
	PerSecond float64 // steps per second, on average
	Burst     int     // steps above PerSecond that may start together; default 1
}

// tenants counts the steps of tenants. It keeps only tenants that have steps now or had some
// recently.
type tenants struct {
	limits TenantLimits

	mu  sync.Mutex         // guards the following fields
	all map[string]*tenant // by name
}

// tenant counts the steps of one tenant.
type tenant struct {
	steps int // under way
	rate  *rate.Limiter
}

func newTenants(l TenantLimits) *tenants {
	l.Burst = max(l.Burst, 1)
	return &tenants{limits: l, all: map[string]*tenant{}}
}

// enter reports whether a step of a tenant may start: ok is false if the tenant is at a limit, and
// leave is nil then. Otherwise leave must be called when the step ends.
func (t *tenants) enter(name string) (leave func(), ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.all[name]
	if one == nil {
		t.forget()
		one = &tenant{rate: rate.NewLimiter(rate.Inf, 0)}
		if t.limits.PerSecond > 0 {
			one.rate = rate.NewLimiter(rate.Limit(t.limits.PerSecond), t.limits.Burst)
		}
		t.all[name] = one
	}
	if t.limits.Steps > 0 && one.steps >= t.limits.Steps || !one.rate.Allow() {
		return nil, false
	}
	one.steps++
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		one.steps--
	}, true
}

// forget removes tenants without steps, whenever the number of tenants has doubled.
func (t *tenants) forget() {
	if n := len(t.all); n < 64 || n&(n-1) != 0 {
		return
	}
	now := time.Now()
	for name, one := range t.all {
		if one.steps == 0 && (t.limits.PerSecond <= 0 || one.rate.TokensAt(now) >= float64(t.limits.Burst)) {
			delete(t.all, name)
		}
	}
}
