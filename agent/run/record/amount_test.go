package record_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// TestTaken counts reservations until they are settled, and for good if their end is
// unknown.
func TestTaken(t *testing.T) {
	usd := func(micro int64) map[string]int64 { return map[string]int64{"USD": micro} }
	calling := with(begun, &record.Called{Reserved: record.Amount{Tokens: 100, Cost: usd(10)}})
	sampling := with(begun, &record.Reserved{Key: "a", Amount: record.Amount{Tokens: 7}}, &record.Reserved{Key: "b", Amount: record.Amount{Tokens: 8}})
	used := run.Spent{Total: 30, Cost: usd(3)}
	child := with(called, &record.Responded{Calls: []record.Call{call("1")}},
		nested(1, &record.Begun{V: record.Version, ID: "c"}), nested(2, &record.Called{Reserved: record.Amount{Tokens: 50, Cost: usd(5)}}))
	ended := &record.Ended{Status: run.StatusFailed}
	for name, tt := range map[string]struct {
		changes []record.Change
		want    record.Amount
		lost    int
	}{
		"nothing":               {begun, record.Amount{}, 0},
		"a call":                {calling, record.Amount{Tokens: 100, Cost: usd(10)}, 0},
		"a reply":               {with(calling, &record.Responded{Usage: used}), record.Amount{Tokens: 30, Cost: usd(3)}, 0},
		"a lost reply":          {with(calling, &record.Called{Lost: true, Reserved: record.Amount{Tokens: 5}}), record.Amount{Tokens: 105, Cost: usd(10)}, 1},
		"a failed call":         {with(calling, ended), record.Amount{Tokens: 100, Cost: usd(10)}, 1},
		"a call without limits": {with(called, ended), record.Amount{}, 0},
		"the next input":        {with(calling, ended, &record.Said{}), record.Amount{Cost: usd(0)}, 1},
		"completions":           {sampling, record.Amount{Tokens: 15}, 0},
		"one is over":           {with(sampling, &record.Charged{Spent: used, Settles: new("a")}), record.Amount{Tokens: 38, Cost: usd(3)}, 0},
		"one is unknown":        {with(sampling, &record.Charged{Spent: used, Settles: new("c")}), record.Amount{Tokens: 15}, 0},
		"the run ends":          {with(sampling, ended, &record.Charged{Spent: used, Settles: new("a")}), record.Amount{Tokens: 15}, 2},
		"a sub-agent's call":    {child, record.Amount{Tokens: 50, Cost: usd(5)}, 0},
		"a sub-agent's reply":   {with(child, nested(3, &record.Responded{Usage: used})), record.Amount{Tokens: 30, Cost: usd(3)}, 0},
		"a sub-agent's failure": {with(child, nested(3, ended)), record.Amount{Tokens: 50, Cost: usd(5)}, 1},
		"a sub-agent is gone":   {with(child, &record.Outcome{Call: "1", Result: result("1")}), record.Amount{Tokens: 50, Cost: usd(5)}, 1},
		"all are gone":          {with(child, ended), record.Amount{Tokens: 50, Cost: usd(5)}, 1},
	} {
		s := fold(t, tt.changes)
		if diff := cmp.Diff(tt.want, s.Taken()); diff != "" || s.Spent.Lost != tt.lost {
			t.Errorf("%s: got +, want -:\n%s%d lost, want %d", name, diff, s.Spent.Lost, tt.lost)
		}
	}
}
