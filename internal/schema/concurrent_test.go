package schema

import (
	"sync"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// One schema may check many values at a time, even while its validator compiles patterns.
func TestConcurrentChecks(t *testing.T) {
	s := mustCompile(t, `{"patternProperties":{"^a":{"pattern":"^x+$"},"^b":{"type":"integer"}},"additionalProperties":false}`)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				check.NoError(t, s.Validate([]byte(`{"a":"xx","b":1}`)))
				check.Text(t, s.Validate([]byte(`{"a":"y"}`)), "")
			}
		})
	}
	wg.Wait()
}
