package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/evals/bench/rig"
	"github.com/mcpchain/mcpchain/internal/check"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	// The cells have less text, also in child processes: with the race detector megabytes are slow.
	textLength[mibTool], textLength[mib10Tool] = 64<<10, 1<<20
	runRole(os.Args)
	// Under the race detector every child process would sleep for a second at its end.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE")); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// TestEveryCell runs every client through every cell once and checks each
// answer. It asserts no time and no size.
func TestEveryCell(t *testing.T) {
	c, err := startChild()
	check.Must(t, err)
	t.Cleanup(func() {
		check.NoError(t, c.close())
	})
	l, err := newLab(c.address)
	check.Must(t, err)
	l.sessions = 2
	compared := comparison(l)
	seen := map[string]bool{}
	for _, at := range cells() {
		t.Run(at.String(), func(t *testing.T) {
			if seen[at.String()] {
				t.Error("two cells have this name")
			}
			seen[at.String()] = true
			c, err := compared.Measure(t.Context(), &rig.Settings{Samples: 1, Subjects: compared.Subjects}, at.String())
			check.Must(t, err)
			for _, client := range clients {
				if timed := len(c.Of(client.name, rig.CPU)) == 1 && len(c.Of(client.name, rig.Allocs)) == 1; timed != (at.do != nil) {
					t.Errorf("%s: got timed %v, want %v", client.name, timed, at.do != nil)
				}
				if got := c.Of(client.name, copies); at.name == "alive" && (len(got) != 1 || got[0] < 0.9) {
					t.Errorf("%s: got %v copies of a result alive, want at least one", client.name, got)
				}
				weighed := slices.ContainsFunc([]rig.Figure{sessionBytes, kept, copies}, func(f rig.Figure) bool { return len(c.Of(client.name, f)) == 1 })
				if weighed != (at.weigh != nil) {
					t.Errorf("%s: got weighed %v, want %v", client.name, weighed, at.weigh != nil)
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
		check.Text(t, test.do(t.Context(), s), test.want, test.name)
	}
}

type wrongSession struct{}

func (wrongSession) call(context.Context, string) (string, error) { return "odd", nil }
func (wrongSession) list(context.Context) (int, error)            { return 7, nil }
func (wrongSession) close() error                                 { return nil }

// quick measures one sample of one operation.
var quick = []string{"-run", "^pipe/small/legacy", "-samples", "1", "-time", "1ns"}

func TestBenchPrints(t *testing.T) {
	var out bytes.Buffer
	check.Must(t, bench(t.Context(), append(quick, "-only", "floor,ours"), &out))
	for _, want := range []string{"pipe/small/legacy ", "\n  floor ", "\n  ours ", "\n| | floor | ours |\n", "\ntargets\n", " allocations "} {
		check.Contains(t, "", out.String(), want)
	}
}

// TestCheckNeedsTargets: a check without a target fails.
func TestCheckNeedsTargets(t *testing.T) {
	check.Text(t, bench(t.Context(), append(quick, "-only", "floor", "-check"), io.Discard), "no target")
}

func TestWrongFlags(t *testing.T) {
	for _, args := range []string{"-only nobody", "-run [", "-samples 0", "-time 0s", "more", "-run ^nothing$ -check"} {
		check.Fails(t, bench(t.Context(), strings.Fields(args), io.Discard), args)
	}
}
