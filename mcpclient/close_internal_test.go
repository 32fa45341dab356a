package mcpclient

import "testing"

// What the runtime prints of a goroutine is its number.
func TestGoroutine(t *testing.T) {
	seen := map[uint64]bool{0: true}
	for range 100 {
		twice := make(chan uint64)
		go func() {
			for range 2 {
				twice <- goroutine()
			}
		}()
		first, second := <-twice, <-twice
		if seen[first] || first != second {
			t.Errorf("got %d and %d, want one number of its own", first, second)
		}
		seen[first] = true
	}
}

// What it takes that Close can tell who calls it.
func BenchmarkCrew(b *testing.B) {
	var c crew
	for name, start := range map[string]func(func()){"Go": c.Go, "GoHost": c.GoHost} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				over := make(chan bool)
				start(func() { close(over) })
				<-over
			}
		})
	}
}
