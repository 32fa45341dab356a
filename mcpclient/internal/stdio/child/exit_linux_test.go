package child

import (
	"io"
	"strings"
	"testing"
)

// A process costs one goroutine, which blocks no thread, also after output and the end of its stderr; with a writer it costs two.
func TestIdleGoroutines(t *testing.T) {
	for role, stderr := range map[string]string{"echo": "", "greet": "hello", "mute": ""} {
		t.Run(role, func(t *testing.T) {
			p := start(t, role)
			echo(t, p)
			eventually(t, "one goroutine waits", func() bool { return p.StderrExcerpt() == stderr && waiting() == 1 })
		})
	}
	t.Run("writer", func(t *testing.T) {
		p := start(t, "greet", func(s *Spec) { s.Stderr = io.Discard })
		echo(t, p)
		eventually(t, "two goroutines wait", func() bool { return p.StderrExcerpt() == "hello" && waiting() == 2 })
	})
}

// waiting returns the number of goroutines if all of them wait for files, otherwise 0.
func waiting() int {
	all := goroutines()
	for _, stack := range all {
		if !strings.Contains(stack, "[IO wait") {
			return 0
		}
	}
	return len(all)
}
