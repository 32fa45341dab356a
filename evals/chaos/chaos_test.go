package main

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/pgtest"
)

// TestMain makes the test binary a worker.
func TestMain(m *testing.M) {
	if os.Getenv(asWorker) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// A few kills for each store: what the tools did and what the model was told agree.
func TestChaos(t *testing.T) {
	for _, store := range []string{"file", "sqlite", "postgres"} {
		t.Run(store, func(t *testing.T) {
			var out strings.Builder
			o := options{runs: 6, kills: 15, store: store, slow: 15 * time.Millisecond}
			v, err := o.play(t.Context(), &out)
			if errors.Is(err, pgtest.ErrNone) && os.Getenv("CI") == "" {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Log(out.String())
			if !v.clean() || sum(v.calls) < 6*turns*fan {
				t.Errorf("got\n%s", out.String())
			}
		})
	}
}

// A disk that is full for a second, and a server that is down for five, leave no call in doubt whose result the process had.
func TestFault(t *testing.T) {
	for _, store := range []string{"file", "sqlite", "postgres"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			o := options{runs: 9, store: store, slow: faultSlow, fault: true}
			v, err := o.play(t.Context(), &out)
			if errors.Is(err, pgtest.ErrNone) && os.Getenv("CI") == "" {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Log(out.String())
			if !v.clean() || sum(v.calls) != 9*turns*fan {
				t.Errorf("got\n%s", out.String())
			}
		})
	}
}

// The judge finds what is wrong.
func TestJudge(t *testing.T) {
	w := newWorld(time.Millisecond)
	w.effects["two"], w.effects["one"] = 2, 1
	v := &verdict{calls: map[string]int{}, lost: map[string]int{}, doubled: map[string]int{}, silent: map[string]int{}, doubts: map[string]int{}}
	v.call("plain", "two", did+"two", w)
	v.call("plain", "none", did+"none", w)
	v.call("plain", "one", "Error: nothing was done", w)
	v.call("plain", "one", "", w)
	v.call("plain", "one", "It is unknown whether the call ran", w)
	if v.clean() || v.doubled["plain"] != 1 || v.lost["plain"] != 1 || v.silent["plain"] != 2 || v.doubts["plain"] != 1 {
		t.Errorf("got %+v", v)
	}
	v = &verdict{doubts: map[string]int{"plain": 1}}
	if !v.clean() {
		t.Error("a doubt after a kill counts, want only that of a process that lives")
	}
	if v.alive = true; v.clean() {
		t.Error("a doubt of a process that lives does not count")
	}
}
