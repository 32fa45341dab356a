package hosting

import (
	"testing"
	"time"
)

// Old runs are deleted soon after their time, and not more often than every second.
func TestTidyEvery(t *testing.T) {
	for kept, want := range map[time.Duration]time.Duration{
		time.Second: time.Second, time.Hour: 6 * time.Minute, 720 * time.Hour: time.Hour,
	} {
		if got := tidyEvery(kept); got != want {
			t.Errorf("kept %v: got %v, want %v", kept, got, want)
		}
	}
}
