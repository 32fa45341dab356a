package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/evals/bench/rig"
	"github.com/mcpchain/mcpchain/internal/check"
)

// TestEveryCell makes two runs of every framework in every cell: each run calls the tool ten times
// the calls of a turn, asks the model once more, and ends with the same answer.
func TestEveryCell(t *testing.T) {
	ran, seen := map[string]bool{}, map[string]bool{}
	for _, at := range cells() {
		check.That(t, !seen[at.String()], "two cells have the name %s", at)
		seen[at.String()] = true
		for _, f := range frameworks {
			if !f.can(at) {
				continue
			}
			ran[f.name] = true
			t.Run(at.String()+"/"+f.name, func(t *testing.T) { runTwice(t, f, at) })
		}
	}
	for _, f := range frameworks {
		check.That(t, ran[f.name], "%s runs in no cell", f.name)
	}
}

func runTwice(t *testing.T, f framework, at cell) {
	s := check.Value(newSubject(t.Context(), f, at))(t)
	defer func() { check.NoError(t, s.close()) }()
	for i := range 2 {
		text, err := s.run(t.Context())
		check.Require(t, err == nil && text == answer, "got the answer %q, %v, want %q", text, err, answer)
		got, want := s.ran.Load(), int64((i+1)*at.turns*at.calls)
		check.Require(t, got == want, "got %d calls of the tool, want %d", got, want)
	}
}

// TestScript: the model asks for the calls of each turn, then answers, and then begins again.
func TestScript(t *testing.T) {
	s := newScript(2, 2)
	var got []string
	for range 4 {
		got = append(got, strings.Join(s.next(), " "))
	}
	check.Same(t, "replies", got, []string{"call_0_0 call_0_1", "call_1_0 call_1_1", "", "call_0_0 call_0_1"})
}

// TestRunsAreChecked: what ends with another answer, or without the calls of the tool, is not measured.
func TestRunsAreChecked(t *testing.T) {
	at := cell{kind: native, calls: 1, turns: turns}
	for says, want := range map[string]string{
		"odd":  `got the answer "odd", want "done"`,
		answer: "the tool ran 0 times in 3 runs, want 30",
	} {
		fake := func(context.Context) (string, error) { return says, nil }
		f := framework{name: "fake", open: func(context.Context, *subject) (runner, error) { return fake, nil }}
		s := check.Value(newSubject(t.Context(), f, at))(t)
		check.Equal(t, "", fmt.Sprint(s.measure(t.Context(), 3, &rig.Meter{})), want)
	}
}

// counted is a store that counts its commits.
type counted struct {
	record.Store
	commits atomic.Int64
}

func (c *counted) Create(ctx context.Context, h record.Holder, head run.Head, records []run.Record) (record.Lease, error) {
	c.commits.Add(1)
	return c.Store.Create(ctx, h, head, records)
}

func (c *counted) Append(ctx context.Context, l record.Lease, head run.Head, records []run.Record, answers ...run.Reply) error {
	c.commits.Add(1)
	return c.Store.Append(ctx, l, head, records, answers...)
}

// TestCommits: a turn adds at most three commits to a run, at any number of parallel calls. A store of files syncs once for each.
func TestCommits(t *testing.T) {
	commits := func(at cell) int64 {
		store := &counted{Store: record.NewMemory()}
		s, err := newSubject(t.Context(), framework{open: func(ctx context.Context, s *subject) (runner, error) { return openOurs(ctx, s, 0, store) }}, at)
		check.Must(t, err)
		check.Must(t, errors.Join(s.measure(t.Context(), 1, &rig.Meter{}), s.close()))
		return store.commits.Load()
	}
	for _, k := range []kind{native, static} {
		for _, calls := range []int{1, 8, 64} {
			n := commits(cell{kind: k, calls: calls, turns: turns}) - commits(cell{kind: k, calls: calls})
			check.That(t, n >= turns && n <= 3*turns, "%s, %d calls: got %d commits in %d turns, want 1 to 3 in each", k, calls, n, turns)
		}
	}
}

func TestComparePrints(t *testing.T) {
	var out strings.Builder
	args := []string{"-run", "^static/1$", "-only", "ours,ours-stored,eino", "-samples", "1", "-time", "1ns"}
	check.Must(t, comparison().Run(t.Context(), args, &out))
	for _, want := range []string{"static/1 ", "\n  ours ", "\n  eino ", "\ntargets\n  static/1 ", "CPU ÷ the best peer's"} {
		check.Contains(t, "", out.String(), want)
	}
	check.Text(t, comparison().Run(t.Context(), append(args, "-only", "eino", "-check"), &out), "no target applies")
}

func TestTargets(t *testing.T) {
	history := cell{kind: static, calls: 1, turns: 10, history: 1000}
	for _, test := range []struct {
		at   cell
		cpu  map[string]float64
		want string // figure and limit; "" if no target applies
	}{
		{cell{kind: native, calls: 1, turns: 10}, map[string]float64{oursName: 50, "eino": 90, "langchaingo": 100}, "0.56 of 0.50"},
		{cell{kind: native, calls: 8, turns: 10}, map[string]float64{oursName: 80, "eino": 100}, "0.80 of 0.80"},
		{cell{kind: native, calls: 64, turns: 10}, map[string]float64{oursName: 81, "eino": 100}, "0.81 of 0.80"},
		{cell{kind: native, calls: 8, turns: 10}, map[string]float64{"eino": 100}, ""},
		{cell{kind: native, calls: 8, turns: 10}, map[string]float64{oursName: 50}, ""},
		{cell{kind: static, calls: 1, turns: 10}, map[string]float64{oursName: 70, "eino": 100}, "0.70 of 0.70"},
		{history, map[string]float64{oursName: 43e3, freshName: 10e3, "eino": 1}, "30000.00 of 30000.00"},
		{history, map[string]float64{oursName: 54e3, freshName: 10e3}, "40000.00 of 30000.00"},
	} {
		c := rig.NewCell(test.at.String())
		for name, cpu := range test.cpu {
			c.Add(name, rig.Sample{rig.CPU: cpu})
		}
		got := ""
		for _, target := range targets {
			if v := target.Of(c); target.Cells.MatchString(c.Name) && len(v) > 0 {
				got += fmt.Sprintf("%.2f of %.2f", v[0], target.Limit)
			}
		}
		check.That(t, got == test.want, "%s %v: got %q, want %q", test.at, test.cpu, got, test.want)
	}
}
