package lifecycle

import (
	"runtime"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
)

// Callbacks run in their order. Beyond the bounds the oldest is dropped, a panic ends no
// other, and what waits when the client closes is not run.
func TestCallbackQueue(t *testing.T) {
	const maxBytes = 1 << 20
	for name, test := range map[string]struct {
		limit, size int
		close       bool
		want        []int
	}{
		"all":          {limit: 5, want: []int{0, 1, 2, 3, 4}},
		"too many":     {limit: 2, want: []int{0, 3, 4}},
		"too large":    {limit: 5, size: maxBytes / 3, want: []int{0, 2, 3, 4}},
		"one is kept":  {limit: 5, size: 2 * maxBytes, want: []int{0, 4}},
		"closed early": {limit: 5, close: true, want: []int{0}},
	} {
		t.Run(name, func(t *testing.T) {
			inLife(t, func(t *testing.T, l *Lifecycle) {
				q := NewCallbackQueue(l, test.limit, maxBytes, silent)
				var got []int
				for i := range 5 {
					q.Add(func() {
						got = append(got, i)
						time.Sleep(time.Second)
						if i%2 == 1 {
							runtime.Goexit() // as t.FailNow does
						}
						panic("oops")
					}, test.size)
					if i == 0 {
						time.Sleep(time.Millisecond) // it runs
					}
				}
				if !test.close {
					time.Sleep(time.Minute)
				}
				l.Close(func() {}, func() error { return nil })
				<-l.Done()
				check.Same(t, "", got, test.want)
			})
		})
	}
}

// A drop is reported at the first and when nothing waits any more.
func TestDropCount(t *testing.T) {
	d := dropCount{count: 1}
	got := []int{d.report(false)}
	d.count = 5
	got = append(got, d.report(false), d.report(true), d.report(true))
	d.count = 2
	check.Same(t, "", append(got, d.report(false)), []int{1, 0, 5, 0, 2})
}
