package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/evals/bench/rig"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	// The cells have less text, also in child processes: with the race detector
	// megabytes are slow.
	textLength[mibTool], textLength[mib10Tool] = 64<<10, 1<<20
	child(os.Args)
	// Under the race detector every child process would sleep for a second at
	// its end.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE")); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// TestEveryCell runs every client through every cell once and checks each
// answer. It asserts no time and no size.
func TestEveryCell(t *testing.T) {
	l, err := newLab()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.close(); err != nil {
			t.Error(err)
		}
	})
	l.sessions, l.large = 2, mibTool
	s := settings{Settings: rig.Settings{Samples: 1}, clients: clients}
	seen := map[string]bool{}
	for _, at := range cells() {
		t.Run(at.String(), func(t *testing.T) {
			if seen[at.String()] {
				t.Error("two cells have this name")
			}
			seen[at.String()] = true
			results, err := measure(t.Context(), l, s, at)
			if err != nil {
				t.Fatal(err)
			}
			if len(results) != len(clients) {
				t.Fatalf("got %d results, want %d", len(results), len(clients))
			}
			for i, r := range results {
				if r.Cell != at.String() || r.Client != clients[i].name {
					t.Errorf("got a result of %s in %s, want one of %s", r.Client, r.Cell, clients[i].name)
				}
				if timed := r.Samples == 1 && r.CPU != nil && r.Wall != nil && r.Allocs != nil; timed != (at.do != nil) {
					t.Errorf("%s: got timed %v, want %v", r.Client, timed, at.do != nil)
				}
				if weighed := r.SessionBytes != nil || r.Kept != nil || r.Alive != nil; weighed != (at.weigh != nil) {
					t.Errorf("%s: got weighed %v, want %v", r.Client, weighed, at.weigh != nil)
				}
			}
		})
	}
}

// TestOperationsAreChecked: a client with another answer is not measured.
func TestOperationsAreChecked(t *testing.T) {
	for _, test := range []struct {
		name string
		do   func(context.Context, *subject) error
		want string
	}{
		{"call", callTool(smallTool), "a text of 3 bytes, want 102"},
		{"list", listTools, "7 tools, want 1000"},
	} {
		s := &subject{connection: &connection{session: wrongSession{}}}
		if err := test.do(t.Context(), s); err == nil || err.Error() != test.want {
			t.Errorf("%s: got error %v, want %q", test.name, err, test.want)
		}
	}
}

type wrongSession struct{}

func (wrongSession) call(context.Context, string) (string, error) { return "odd", nil }
func (wrongSession) list(context.Context) (any, int, error)       { return nil, 7, nil }
func (wrongSession) close() error                                 { return nil }

func TestBenchPrints(t *testing.T) {
	var out bytes.Buffer
	args := []string{"-run", "^pipe/small/legacy", "-clients", "floor,ours", "-samples", "1", "-time", "1ms", "-ballast", "0"}
	if err := bench(t.Context(), args, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"pipe/small/legacy ", "\n  floor ", "\n  ours ", "\nsummary ", "\ntargets\n", " allocations "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got no %q in\n%s", want, &out)
		}
	}

	out.Reset()
	if err := bench(t.Context(), append(args, "-json"), &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(&out)
	for _, want := range []string{"floor", "ours"} {
		var r result
		if err := d.Decode(&r); err != nil || r.Client != want || r.Ratio == nil {
			t.Errorf("got %+v, %v, want a ratio of %s", r, err, want)
		}
	}
	if _, err := d.Token(); err != io.EOF {
		t.Errorf("got %v after the results, want EOF", err)
	}
}

// TestBenchSaysHowLong: a full run announces its duration beforehand, apart
// from the results.
func TestBenchSaysHowLong(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for args, want := range map[string]string{
		"-json":           "bench: this takes about 10 minutes; -quick is a first look, in under a minute\n",
		"-quick":          "",
		"-run pipe/small": "",
	} {
		var out, notes bytes.Buffer
		if err := bench(ctx, append(strings.Fields(args), "-ballast", "0"), &out, &notes); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, want the end of the context", args, err)
		}
		if out.Len() > 0 || notes.String() != want {
			t.Errorf("%s: got %q and the notes %q, want nothing and %q", args, &out, &notes, want)
		}
	}
}

// TestCheckNeedsTargets: a check without a target fails.
func TestCheckNeedsTargets(t *testing.T) {
	args := []string{"-check", "-run", "^pipe/small/legacy", "-clients", "floor", "-samples", "1", "-time", "1ms", "-ballast", "0"}
	if err := bench(t.Context(), args, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "no target") {
		t.Errorf("got %v, want an error that no target applies", err)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, args := range []string{"-clients nobody", "-run [", "-samples 0", "-time 0s", "-ballast -1", "more"} {
		if _, err := parse(strings.Fields(args)); err == nil {
			t.Errorf("%s: got no error", args)
		}
	}
	if err := bench(t.Context(), []string{"-run", "^nothing$", "-ballast", "0"}, io.Discard, io.Discard); err == nil {
		t.Error("a -run without a cell: got no error")
	}
}
