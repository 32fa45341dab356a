package schema

import (
	"sync"
	"testing"
)

// One schema may check many values at a time, even while its validator compiles patterns.
func TestConcurrentChecks(t *testing.T) {
	s := mustCompile(t, `{"patternProperties":{"^a":{"pattern":"^x+$"},"^b":{"type":"integer"}},"additionalProperties":false}`)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if err := s.Validate([]byte(`{"a":"xx","b":1}`)); err != nil {
					t.Errorf("got %v, want it valid", err)
				}
				if err := s.Validate([]byte(`{"a":"y"}`)); err == nil {
					t.Error("got no error, want the pattern to hold")
				}
			}
		})
	}
	wg.Wait()
}
