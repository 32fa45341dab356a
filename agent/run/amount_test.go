package run_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/agent/run"
)

// TestTaken counts reservations until they are settled, and for good if their end is
// unknown.
func TestTaken(t *testing.T) {
	usd := func(micro int64) map[string]int64 { return map[string]int64{"USD": micro} }
	calling := with(begun, &run.Called{Reserved: run.Amount{Tokens: 100, Cost: usd(10)}})
	sampling := with(begun, &run.Reserved{Key: "a", Amount: run.Amount{Tokens: 7}}, &run.Reserved{Key: "b", Amount: run.Amount{Tokens: 8}})
	used := run.Spent{Total: 30, Cost: usd(3)}
	child := with(called, &run.Replied{Calls: []run.Call{call("1")}},
		nested(1, &run.Begun{V: run.Version, ID: "c"}), nested(2, &run.Called{Reserved: run.Amount{Tokens: 50, Cost: usd(5)}}))
	ended := &run.Ended{Status: run.StatusFailed}
	for name, tt := range map[string]struct {
		changes []run.Change
		want    run.Amount
		lost    int
	}{
		"nothing":               {begun, run.Amount{}, 0},
		"a call":                {calling, run.Amount{Tokens: 100, Cost: usd(10)}, 0},
		"a reply":               {with(calling, &run.Replied{Usage: used}), run.Amount{Tokens: 30, Cost: usd(3)}, 0},
		"a lost reply":          {with(calling, &run.Called{Lost: true, Reserved: run.Amount{Tokens: 5}}), run.Amount{Tokens: 105, Cost: usd(10)}, 1},
		"a failed call":         {with(calling, ended), run.Amount{Tokens: 100, Cost: usd(10)}, 1},
		"a call without limits": {with(called, ended), run.Amount{}, 0},
		"the next input":        {with(calling, ended, &run.Said{}), run.Amount{Cost: usd(0)}, 1},
		"completions":           {sampling, run.Amount{Tokens: 15}, 0},
		"one is over":           {with(sampling, &run.Charged{Spent: used, Settles: new("a")}), run.Amount{Tokens: 38, Cost: usd(3)}, 0},
		"one is unknown":        {with(sampling, &run.Charged{Spent: used, Settles: new("c")}), run.Amount{Tokens: 15}, 0},
		"the run ends":          {with(sampling, ended, &run.Charged{Spent: used, Settles: new("a")}), run.Amount{Tokens: 15}, 2},
		"a sub-agent's call":    {child, run.Amount{Tokens: 50, Cost: usd(5)}, 0},
		"a sub-agent's reply":   {with(child, nested(3, &run.Replied{Usage: used})), run.Amount{Tokens: 30, Cost: usd(3)}, 0},
		"a sub-agent's failure": {with(child, nested(3, ended)), run.Amount{Tokens: 50, Cost: usd(5)}, 1},
		"a sub-agent is gone":   {with(child, &run.Outcome{Call: "1", Result: result("1")}), run.Amount{Tokens: 50, Cost: usd(5)}, 1},
		"all are gone":          {with(child, ended), run.Amount{Tokens: 50, Cost: usd(5)}, 1},
	} {
		s := fold(t, tt.changes)
		if diff := cmp.Diff(tt.want, s.Taken()); diff != "" || s.Spent.Lost != tt.lost {
			t.Errorf("%s: got +, want -:\n%s%d lost, want %d", name, diff, s.Spent.Lost, tt.lost)
		}
	}
}
