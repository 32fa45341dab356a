package mcpclient

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// The defaults are those that the documentation names, for nil, for zero, and
// where it does not mean something else for what is negative.
func TestDefaults(t *testing.T) {
	want := terms{
		introduction:      fmt.Sprintf(`{"name":"mcpchain","version":%q}`, moduleVersion()),
		subscriptionIdle:  5 * time.Minute,
		elicitationWait:   5 * time.Minute,
		probeTimeout:      5 * time.Second,
		closeTimeout:      5 * time.Second,
		maxRetries:        3,
		maxServerRequests: 16,
		maxNotifications:  1024,
		maxRounds:         10,
		maxPages:          1000,
		maxCache:          4 << 20,
	}
	negative := Options{ProbeTimeout: -1, CloseTimeout: -1, MaxServerRequests: -1, MaxNotifications: -1, MaxRounds: -1, MaxPages: -1}
	for name, o := range map[string]*Options{"nil": nil, "zero": {}, "negative": &negative} {
		got, err := o.settle()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got.terms(), cmp.AllowUnexported(terms{})); diff != "" {
			t.Errorf("%s: got +, want -:\n%s", name, diff)
		}
	}
	if got := (&Options{KeepAlive: 1}).terms().keepAlive; got != time.Second {
		t.Errorf("got %v between two signs of life, want 1 s at least", got)
	}
	off := (&Options{SubscriptionIdle: -1, ElicitationWait: -1, MaxRetries: -1, MaxCache: -1}).terms()
	if off.subscriptionIdle >= 0 || off.elicitationWait >= 0 || off.maxRetries >= 0 || off.maxCache >= 0 {
		t.Errorf("got %+v for what is negative, want it negative", off)
	}
}

// What a client says of itself is its Implementation as encoding/json has it.
func TestIntroduction(t *testing.T) {
	for _, i := range []Implementation{
		{Name: "a"},
		{Name: "a <b> & \"c\"", Version: "1\n2"},
		{Name: "a", Title: "A", Version: "1", Description: "d é", WebsiteURL: "https://a.test/?b&c", Icons: []Icon{{Src: "data:,", Sizes: []string{"48x48"}}}},
	} {
		got, err := (&Options{Client: i}).introduction()
		if err != nil {
			t.Fatal(err)
		}
		want, err := jsonrpc.Marshal(i)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
