package main

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/testenv"
)

// TestMain lets the test binary be a worker.
func TestMain(m *testing.M) {
	if os.Getenv(asWorker) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestChaos kills workers a few times with each store, and compares what the tools did with
// what the model was told.
func TestChaos(t *testing.T) {
	for _, store := range []string{"file", "sqlite", "postgres"} {
		t.Run(store, func(t *testing.T) {
			var out strings.Builder
			o := options{runs: 6, kills: 15, store: store, slow: 15 * time.Millisecond}
			v, err := o.play(t.Context(), &out)
			if errors.Is(err, testenv.ErrNoPostgres) && os.Getenv("CI") == "" {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Log(out.String())
			if !v.Clean() || v.All() < 6*5*4 {
				t.Errorf("got\n%s", out.String())
			}
		})
	}
}

// TestFault lets a disk be full for a second and a server be down for five. A result that the
// process had is not in doubt afterwards.
func TestFault(t *testing.T) {
	for _, store := range []string{"file", "sqlite", "postgres"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			o := options{runs: 9, store: store, slow: faultSlow, fault: true}
			v, err := o.play(t.Context(), &out)
			if errors.Is(err, testenv.ErrNoPostgres) && os.Getenv("CI") == "" {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Log(out.String())
			if !v.Clean() || v.All() != 9*5*4 {
				t.Errorf("got\n%s", out.String())
			}
		})
	}
}
