package witness

import (
	"context"
	"fmt"
	"io"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
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

func (c *Counts) add(more *Counts) {
	c.Calls += more.Calls
	c.Lost += more.Lost
	c.Doubled += more.Doubled
	c.Silent += more.Silent
	c.Doubts += more.Doubts
}

// Verdict counts calls by the kind of their server.
type Verdict struct {
	kills    bool // workers were killed
	kinds    []string
	counts   map[string]*Counts
	errors   int
	examples []string // texts of the first ten errors
}

func newVerdict(kinds []string, kills bool) *Verdict {
	v := &Verdict{kills: kills, kinds: kinds, counts: map[string]*Counts{}}
	for _, kind := range kinds {
		v.counts[kind] = &Counts{}
	}
	return v
}

// Judge compares the result of each call of the first n runs with the effects of the call. kills says that workers were
// killed: otherwise a doubt is an error. Judge returns an error if one of these runs is not finished.
func (s *Script) Judge(ctx context.Context, store record.Store, w *World, n int, kills bool) (*Verdict, error) {
	v := newVerdict(s.Kinds, kills)
	for i := range n {
		log, err := store.Load(ctx, s.Key(i))
		if err != nil {
			return nil, err
		}
		state, err := ledger.StateOf(log.Records)
		if err != nil {
			return nil, err
		}
		if state.Status != run.StatusFinished {
			return nil, fmt.Errorf("run %s is %s, want finished: %s", state.ID, state.Status, state.Error)
		}
		results := resultsByID(state.History)
		for turn := range s.Turns {
			for c := range s.Fan {
				name := callName(state.ID, turn, c)
				v.count(s.Kind(i), name, results[callID(turn, c)], w.Count(name))
			}
		}
	}
	return v, nil
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

// count counts a call to a server of a kind. result is the one that the model got, "" for none.
func (v *Verdict) count(kind, call, result string, effects int) {
	ran := result == did+call
	inDoubt := doubttext.In(result)
	n := v.counts[kind]
	n.Calls++
	mistake := ""
	switch {
	case effects > 1:
		n.Doubled++
		mistake = "doubled"
	case ran && effects == 0:
		n.Lost++
		mistake = "lost"
	case !ran && !inDoubt && (effects > 0 || result == ""):
		n.Silent++
		mistake = "silent"
	case inDoubt:
		n.Doubts++
		if !v.kills || kind == Keys {
			mistake = "in doubt"
		}
	}
	if mistake == "" {
		return
	}
	v.errors++
	if len(v.examples) < 10 {
		v.examples = append(v.examples, fmt.Sprintf("%s: %s has %d effects, the model got the result %q", mistake, call, effects, result))
	}
}

// Print writes a line for each kind, examples of errors, and the sums.
func (v *Verdict) Print(out io.Writer) {
	for _, kind := range v.kinds {
		n := v.counts[kind]
		fmt.Fprintf(out, "%-6s %5d calls: lost %d doubled %d silent %d, in doubt %d\n", kind, n.Calls, n.Lost, n.Doubled, n.Silent, n.Doubts)
	}
	for _, e := range v.examples {
		fmt.Fprintln(out, e)
	}
	all := v.All()
	fmt.Fprintf(out, "lost %d doubled %d silent %d\n", all.Lost, all.Doubled, all.Silent)
}

// Clean reports whether there were no errors. A doubt is an error for a server with keys, and for
// every server if no worker was killed.
func (v *Verdict) Clean() bool { return v.errors == 0 }

// All counts the calls of all kinds.
func (v *Verdict) All() (all Counts) {
	for _, n := range v.counts {
		all.add(n)
	}
	return all
}
