package child

import (
	"testing"
	"testing/synctest"
	"time"
)

// Stop waits for killed processes, and reports a process that does not end.
func TestAwaitEnd(t *testing.T) {
	for name, test := range map[string]struct {
		exits bool
		runs  time.Duration
		want  string
	}{
		"all has ended":      {true, 0, ""},
		"a slow descendant":  {true, killTimeout - time.Second, ""},
		"a descendant stays": {true, time.Hour, "a descendant did not end within 5s of being killed"},
		"the process stays":  {false, 0, "it did not end within 5s of being killed"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				exited := make(chan struct{})
				if test.exits {
					close(exited)
				}
				start, got := time.Now(), ""
				err := awaitEnd(exited, func() bool { return time.Since(start) < test.runs })
				if err != nil {
					got = err.Error()
				}
				if got != test.want {
					t.Errorf("got %q, want %q", got, test.want)
				}
			})
		})
	}
}
