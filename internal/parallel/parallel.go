// Package parallel runs the body of a loop several times at once.
package parallel

import (
	"sync"
	"sync/atomic"
)

// Do calls body with 0 to n-1, begun in this order and at most limit at a time, and
// returns when all calls have returned. A limit below 1 counts as 1.
func Do(n, limit int, body func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, max(limit, 1)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				body(int(i))
			}
		})
	}
	wg.Wait()
}
