package main

import (
	"context"
	"errors"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/evals/chaos/witness"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

// TestMain lets the test binary be a worker.
func TestMain(m *testing.M) {
	if worker, _ := witness.Settings(new(harness)); worker {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestFlags refuses flags that would divide by zero.
func TestFlags(t *testing.T) {
	good := harness{Store: witness.Store{Kind: "file"}, Runs: 1, slow: time.Second}
	check.NoError(t, good.check())
	for name, change := range map[string]func(*harness){
		"no runs": func(h *harness) { h.Runs = 0 }, "negative kills": func(h *harness) { h.kills = -1 },
		"calls without a time": func(h *harness) { h.slow = 0 }, "a fault of files": func(h *harness) { h.Fault = true },
	} {
		h := good
		change(&h)
		check.That(t, h.check() != nil, "%s: got no error", name)
	}
}

// TestChaos kills workers a few times with each store, and compares what the tools did with what the model was told.
func TestChaos(t *testing.T) {
	for _, store := range []string{"file", "sqlite", "postgres"} {
		t.Run(store, func(t *testing.T) { play(t, &harness{Runs: 6, kills: 15, slow: 15 * time.Millisecond}, store) })
	}
}

// TestFault lets a disk be full for a second and a server be down for five. A result that the
// process had is not in doubt afterwards.
func TestFault(t *testing.T) {
	for _, store := range []string{"sqlite", "postgres"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			play(t, &harness{Runs: 9, slow: faultSlow, Fault: true}, store)
		})
	}
}

// play wants all calls of all runs, and no error.
func play(t *testing.T, h *harness, store string) {
	t.Helper()
	var out strings.Builder
	h.Kind = store
	v, err := h.play(t.Context(), &out)
	if errors.Is(err, testenv.ErrNoPostgres) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	check.Must(t, err)
	t.Log(out.String())
	want := h.Runs * script.Turns * script.Fan
	check.That(t, v.Clean() && v.All().Calls == want, "got\n%swant %d calls", out.String(), want)
}

// TestDriveAfterFailures drives runs whose store fails before they exist.
func TestDriveAfterFailures(t *testing.T) {
	for _, method := range []string{"load", "create"} {
		world := httptest.NewServer(witness.New(time.Millisecond, "effect"))
		defer world.Close()
		var mu sync.Mutex
		failures := 2
		store := ledgertest.Watch(record.NewMemory(), func(c *ledgertest.Call) error {
			mu.Lock()
			mustFail := c.Method == method && failures > 0
			if mustFail {
				failures--
			}
			mu.Unlock()
			if mustFail {
				return errors.New("the store is down")
			}
			return c.Do()
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		h := &harness{Runs: 2, URL: world.URL}
		check.NoError(t, h.drive(ctx, store), method)
	}
}
