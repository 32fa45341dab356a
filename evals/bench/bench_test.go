package main

import (
	"bytes"
	"context"
	"encoding/json"
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

// TestEveryCell runs every client through every cell once and checks each answer. It asserts no time and no size.
func TestEveryCell(t *testing.T) {
	address, stop, err := startResponder()
	check.Must(t, err)
	t.Cleanup(func() { check.NoError(t, stop()) })
	l := newLab(address)
	l.sessions = 2
	compared := comparison(l)
	seen := map[string]bool{}
	for _, at := range cells() {
		t.Run(at.String(), func(t *testing.T) {
			check.That(t, !seen[at.String()], "two cells have this name")
			seen[at.String()] = true
			c := check.Value(compared.Measure(t.Context(), &rig.Settings{Samples: 1}, at))(t)
			for _, client := range clients {
				check.Equal(t, client.name, len(c.Of(client.name, rig.CPU)) == 1 && len(c.Of(client.name, rig.Allocs)) == 1, (at.do != nil))
				if got := c.Of(client.name, copies); at.name == "alive" && (len(got) != 1 || got[0] < 0.9) {
					t.Errorf("%s: got %v copies of a result alive, want at least one", client.name, got)
				}
				hasMemory := slices.ContainsFunc([]rig.Figure{sessionBytes, kept, copies}, func(f rig.Figure) bool { return len(c.Of(client.name, f)) == 1 })
				check.That(t, hasMemory == (at.memory != nil), "%s: got a sample of memory: %v, want %v", client.name, hasMemory, at.memory != nil)
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
		s := &subject{session: wrongSession{}}
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
	for _, want := range []string{"pipe/small/legacy ", "\n  floor ", "\n  ours ", "\ntargets\n", " allocations "} {
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

func TestFloorRequestsAreJSON(t *testing.T) {
	for _, r := range []floorRequest{
		{method: "initialize"}, {method: "server/discover", modern: true}, {method: "tools/call", tool: smallTool},
		{method: "tools/call", tool: smallTool, modern: true}, {method: "tools/list"},
		{method: "tools/list", cursor: "page_01"}, {method: "tools/list", cursor: "page_01", modern: true},
		{method: "notifications/initialized"},
	} {
		b := r.appendTo(nil, 1)
		check.That(t, json.Valid(b), "%+v: got %s, want JSON", r, b)
	}
}

// TestLeads: ours must not take more than a peer, beyond the ± of both.
func TestLeads(t *testing.T) {
	c := rig.NewCell("pipe/small/legacy")
	for round := range 5 {
		c.Add(baseline, rig.Sample{rig.CPU: 1000})
		c.Add(oursName, rig.Sample{rig.CPU: 1200 + 50*float64(round-2)})
		c.Add(goSDKName, rig.Sample{rig.CPU: 1100})
		c.Add(mcpGoName, rig.Sample{rig.CPU: 5000})
	}
	wantVerdicts(t, c,
		"cpu, go-sdk's                          1.20 µs ≤ 1.15 µs    MISSED",
		"cpu, mcp-go's                          1.20 µs ≤ 5.05 µs    ok",
	)
}

// Without the floor the ± of the CPU times themselves counts.
func TestLeadsWithoutTheFloor(t *testing.T) {
	c := rig.NewCell("pipe/small/legacy")
	for round := range 5 {
		c.Add(oursName, rig.Sample{rig.CPU: 1200 + 50*float64(round-2)})
		c.Add(goSDKName, rig.Sample{rig.CPU: 1180})
	}
	wantVerdicts(t, c, "cpu, go-sdk's                          1.20 µs ≤ 1.23 µs    ok")
}

func wantVerdicts(t *testing.T, c *rig.Cell, lines ...string) {
	t.Helper()
	var out strings.Builder
	judgePeers([]*rig.Cell{c}, rig.NewVerdicts(&out))
	for _, want := range lines {
		check.Contains(t, "verdicts", out.String(), want)
	}
}

func TestToolsAreOfTheSizeTheySay(t *testing.T) {
	a := newAnswers(legacy)
	total := 0
	for _, page := range a.pages() {
		total += len(page)
	}
	check.Equal(t, "bytes of tools", total, rawList)
	got := total / toolCount
	check.That(t, got >= 1500 && got <= 1700, "got %d bytes a tool, want about 1600", got)
}

// TestResponderAllocatesNothing: serve's allocations do not depend on the number of requests.
func TestResponderAllocatesNothing(t *testing.T) {
	a := newAnswers(modern)
	for _, r := range []floorRequest{
		{method: "tools/call", tool: smallTool, modern: true}, {method: "tools/call", tool: mibTool, modern: true},
		{method: "tools/list", cursor: "page_07", modern: true}, {method: "server/discover", modern: true},
	} {
		line := append(r.appendTo(nil, 12345), '\n')
		serve := func(times int) float64 {
			requests := bytes.Repeat(line, times)
			return testing.AllocsPerRun(5, func() { check.NoError(t, a.serve(bytes.NewReader(requests), io.Discard, 4<<10)) })
		}
		few, many := serve(10), serve(1000)
		check.That(t, many <= few, "%s: got %v allocations for 1000 requests, want the %v for 10", r.method, many, few)
	}
}

func TestResponderAnswersWhatCameTogether(t *testing.T) {
	var in, out bytes.Buffer
	for _, r := range []floorRequest{{method: "initialize"}, {method: "tools/list", cursor: "page_19"}, {method: "tools/call", tool: smallTool}} {
		in.Write(append(r.appendTo(nil, int64(in.Len()+1)), '\n'))
	}
	in.WriteString(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
	check.Must(t, newAnswers(legacy).serve(&in, &out, 4<<10))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	check.Require(t, len(lines) == 3, "got %d answers, want 3:\n%s", len(lines), &out)
	for i, want := range []string{`"protocolVersion"`, `"tools":[`, `"text":`} {
		check.That(t, json.Valid([]byte(lines[i])) && strings.Contains(lines[i], want), "got answer %.200s, want one with %s", lines[i], want)
	}
}
