package temporal

import "sync"

type tenants struct {
	limit int // concurrent steps of one tenant; 0: no limit

	mu    sync.Mutex     // guards the following field
	steps map[string]int // by the name of the tenant, without those that have none
}

func newTenants(limit int) *tenants { return &tenants{limit: limit, steps: map[string]int{}} }

// acquire reserves a step of a tenant: ok is false if the tenant is at its limit, and release is nil
// then. Otherwise release must be called when the step ends.
func (t *tenants) acquire(name string) (release func(), ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.limit > 0 && t.steps[name] >= t.limit {
		return nil, false
	}
	t.steps[name]++
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.steps[name]--; t.steps[name] == 0 {
			delete(t.steps, name)
		}
	}, true
}
