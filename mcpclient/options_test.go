package mcpclient

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// The defaults are those that the documentation names, for nil, for zero, and
// where it does not mean something else for what is negative.
func TestDefaults(t *testing.T) {
	want := Options{
		SubscriptionIdle:  5 * time.Minute,
		ElicitationWait:   5 * time.Minute,
		ProbeTimeout:      5 * time.Second,
		CloseTimeout:      5 * time.Second,
		MaxRetries:        3,
		MaxServerRequests: 16,
		MaxNotifications:  1024,
		MaxRounds:         10,
		MaxPages:          1000,
		MaxCache:          4 << 20,
	}
	negative := Options{ProbeTimeout: -1, CloseTimeout: -1, MaxServerRequests: -1, MaxNotifications: -1, MaxRounds: -1, MaxPages: -1}
	for name, o := range map[string]*Options{"nil": nil, "zero": {}, "negative": &negative} {
		got := o.withDefaults()
		if diff := cmp.Diff(want, *got, cmpopts.IgnoreFields(Options{}, "Client", "Logger")); diff != "" {
			t.Errorf("%s: got +, want -:\n%s", name, diff)
		}
		if got.Client.Name != "mcpchain" || got.Client.Version == "" || got.Logger == nil {
			t.Errorf("%s: got client %+v and logger %v", name, got.Client, got.Logger)
		}
	}
	off := (&Options{ElicitationWait: -1, MaxRetries: -1, MaxCache: -1}).withDefaults()
	if off.ElicitationWait >= 0 || off.MaxRetries >= 0 || off.MaxCache >= 0 {
		t.Errorf("got %v, %d, %d for what is negative, want it negative", off.ElicitationWait, off.MaxRetries, off.MaxCache)
	}
}
