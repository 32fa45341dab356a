package parallel

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestDo(t *testing.T) {
	for _, tt := range []struct{ n, limit, most int }{{0, 4, 0}, {3, 8, 3}, {10, 4, 4}, {3, 0, 1}} {
		synctest.Test(t, func(t *testing.T) {
			var running, most atomic.Int32
			ran := make([]atomic.Int32, tt.n)
			Do(tt.n, tt.limit, func(i int) {
				most.Store(max(most.Load(), running.Add(1)))
				ran[i].Add(1)
				time.Sleep(time.Second)
				running.Add(-1)
			})
			for i := range ran {
				if got := ran[i].Load(); got != 1 {
					t.Errorf("%+v: got %d calls with %d, want 1", tt, got, i)
				}
			}
			if got := int(most.Load()); got != tt.most {
				t.Errorf("%+v: got %d at a time, want %d", tt, got, tt.most)
			}
		})
	}
}
