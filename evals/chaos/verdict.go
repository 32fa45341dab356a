package chaos

import (
	"testing"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/doubttext"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// Counts counts calls by what became of them. Lost, Doubled and Silent are errors.
type Counts struct {
	Calls   int
	Lost    int // the model got the result of an effect that did not happen
	Doubled int // there was more than one effect
	Silent  int // the model got no result, or one that denies an effect that happened
	Doubts  int // the model got a result that leaves open whether there was an effect
}

// Judge compares the result of each call of the first n runs with the effects of the call, and logs the counts by the kind
// of server. It fails the test for each error, and unless these runs are finished. A doubt is an error for a server with
// keys, and for every server if kills is false: no worker was killed.
func (s *Script) Judge(t *testing.T, store record.Store, w *World, n int, kills bool) {
	t.Helper()
	counts := map[string]*Counts{}
	for _, kind := range s.Kinds {
		counts[kind] = &Counts{}
	}
	for i := range n {
		log := check.Value(store.Load(t.Context(), s.Key(i)))(t)
		state := check.Value(ledger.StateOf(log.Records))(t)
		check.Require(t, state.Status == run.StatusFinished, "run %s is %s, want finished: %s", state.ID, state.Status, state.Error)
		results, kind := resultsByID(state.History), s.Kind(i)
		for turn := range s.Turns {
			for c := range s.Fan {
				call := callName(state.ID, turn, c)
				result, effects := results[callID(turn, c)], w.Count(call)
				mistake := counts[kind].add(call, result, effects, kills && kind != Keys)
				check.That(t, mistake == "", "%s: %s has %d effects, the model got the result %q", mistake, call, effects, result)
			}
		}
	}
	for _, kind := range s.Kinds {
		t.Logf("%s: %+v", kind, *counts[kind])
	}
}

// resultsByID returns the results in the history that the model got, by the id of the call.
func resultsByID(history []run.Message) map[string]string {
	results := map[string]string{}
	for _, m := range history {
		for _, p := range m.Parts {
			if p.Type == run.PartResult {
				results[p.ID] = p.Text
			}
		}
	}
	return results
}

// add counts a call, and returns the name of an error. result is the one that the model got, "" for none.
func (n *Counts) add(call, result string, effects int, mayDoubt bool) (mistake string) {
	ran := result == did+call
	inDoubt := doubttext.In(result)
	n.Calls++
	switch {
	case effects > 1:
		n.Doubled++
		return "doubled"
	case ran && effects == 0:
		n.Lost++
		return "lost"
	case !ran && !inDoubt && (effects > 0 || result == ""):
		n.Silent++
		return "silent"
	case inDoubt:
		n.Doubts++
		if !mayDoubt {
			return "in doubt"
		}
	}
	return ""
}
