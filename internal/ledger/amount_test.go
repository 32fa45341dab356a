package ledger_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// TestTaken counts reservations until they are settled, or for good if their outcome is
// unknown.
func TestTaken(t *testing.T) {
	usd := func(micro int64) map[string]int64 { return map[string]int64{"USD": micro} }
	calling := with(begun, &ledger.Called{Reserved: ledger.Amount{Tokens: 100, Cost: usd(10)}})
	sampling := with(begun, &ledger.Reserved{Key: "a", Amount: ledger.Amount{Tokens: 7}}, &ledger.Reserved{Key: "b", Amount: ledger.Amount{Tokens: 8}})
	used := run.Spent{Total: 30, Cost: usd(3)}
	child := with(called, &ledger.Responded{Calls: []ledger.Call{call("1")}},
		nested(1, &ledger.Begun{V: ledger.Version, ID: "c"}), nested(2, &ledger.Called{Reserved: ledger.Amount{Tokens: 50, Cost: usd(5)}}))
	ended := &ledger.Ended{Status: run.StatusFailed}
	for name, tt := range map[string]struct {
		changes []ledger.Change
		want    ledger.Amount
		lost    int
	}{
		"nothing":               {begun, ledger.Amount{}, 0},
		"a call":                {calling, ledger.Amount{Tokens: 100, Cost: usd(10)}, 0},
		"a reply":               {with(calling, &ledger.Responded{Usage: used}), ledger.Amount{Tokens: 30, Cost: usd(3)}, 0},
		"a lost reply":          {with(calling, &ledger.Called{Lost: true, Reserved: ledger.Amount{Tokens: 5}}), ledger.Amount{Tokens: 105, Cost: usd(10)}, 1},
		"a failed call":         {with(calling, ended), ledger.Amount{Tokens: 100, Cost: usd(10)}, 1},
		"a call without limits": {with(called, ended), ledger.Amount{}, 0},
		"the next input":        {with(calling, ended, &ledger.Said{}), ledger.Amount{Cost: usd(0)}, 1},
		"completions":           {sampling, ledger.Amount{Tokens: 15}, 0},
		"one is over":           {with(sampling, &ledger.Charged{Spent: used, Settles: new("a")}), ledger.Amount{Tokens: 38, Cost: usd(3)}, 0},
		"one is unknown":        {with(sampling, &ledger.Charged{Spent: used, Settles: new("c")}), ledger.Amount{Tokens: 15}, 0},
		"the run ends":          {with(sampling, ended, &ledger.Charged{Spent: used, Settles: new("a")}), ledger.Amount{Tokens: 15}, 2},
		"a sub-agent's call":    {child, ledger.Amount{Tokens: 50, Cost: usd(5)}, 0},
		"a sub-agent's reply":   {with(child, nested(3, &ledger.Responded{Usage: used})), ledger.Amount{Tokens: 30, Cost: usd(3)}, 0},
		"a sub-agent's failure": {with(child, nested(3, ended)), ledger.Amount{Tokens: 50, Cost: usd(5)}, 1},
		"a sub-agent is gone":   {with(child, &ledger.Outcome{Call: "1", Result: result("1")}), ledger.Amount{Tokens: 50, Cost: usd(5)}, 1},
		"all are gone":          {with(child, ended), ledger.Amount{Tokens: 50, Cost: usd(5)}, 1},
	} {
		s := fold(t, tt.changes)
		if diff := cmp.Diff(tt.want, s.Taken()); diff != "" || s.Spent.Lost != tt.lost {
			t.Errorf("%s: got +, want -:\n%s%d lost, want %d", name, diff, s.Spent.Lost, tt.lost)
		}
	}
}
