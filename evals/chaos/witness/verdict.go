package witness

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// Counts are numbers of calls. The lost, doubled and silent ones are errors.
type Counts struct {
	Calls   int
	Lost    int // the model was told of a result, and there was no effect
	Doubled int // there was more than one effect
	Silent  int // there was an effect, and the model was told that there was none
	Doubts  int // the model was told that the call may or may not have run
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
	Alive bool // no worker was killed: no result may be in doubt

	kinds    []string
	counts   map[string]*Counts
	examples []string // of errors, the first ten
}

func newVerdict(kinds []string) *Verdict {
	v := &Verdict{kinds: kinds, counts: map[string]*Counts{}}
	for _, kind := range kinds {
		v.counts[kind] = &Counts{}
	}
	return v
}

// Judge compares what the model was told of each call of the first n runs with the effects of
// the call. The error says so if one of these runs is not finished.
func (s *Script) Judge(ctx context.Context, store record.Store, w *World, n int) (*Verdict, error) {
	v := newVerdict(s.Kinds)
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
			return nil, fmt.Errorf("%s is %s: %s", state.ID, state.Status, state.Error)
		}
		told := toldOf(state.History)
		for turn := range s.Turns {
			for c := range s.Fan {
				v.call(s.Kind(i), callOf(state.ID, turn, c), told[idOf(turn, c)], w)
			}
		}
	}
	return v, nil
}

// toldOf returns the results that a model was told, by the id of the call.
func toldOf(history []run.Message) map[string]string {
	told := map[string]string{}
	for _, m := range history {
		for _, p := range m.Parts {
			if p.Type == run.PartResult {
				told[p.ID] = p.Text
			}
		}
	}
	return told
}

// call counts a call to a server of a kind. told is the result that the model was told, "" for none.
func (v *Verdict) call(kind, call, told string, w *World) {
	effects := w.Count(call)
	ran := told == did+call
	doubt := strings.Contains(told, "may or may not") || strings.Contains(told, "unknown whether")
	n := v.counts[kind]
	n.Calls++
	what := ""
	switch {
	case effects > 1:
		n.Doubled++
		what = "doubled"
	case ran && effects == 0:
		n.Lost++
		what = "lost"
	case !ran && !doubt && (effects > 0 || told == ""):
		n.Silent++
		what = "silent"
	case doubt:
		n.Doubts++
		if kind == Keys {
			what = "in doubt"
		}
	}
	if what != "" && len(v.examples) < 10 {
		v.examples = append(v.examples, fmt.Sprintf("%s: %s has %d effects, the model was told %q", what, call, effects, told))
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

// Clean reports whether there were no errors. Calls of a server with keys are never in doubt,
// nor is any call if no worker was killed.
func (v *Verdict) Clean() bool {
	all := v.All()
	doubts := all.Doubts
	if !v.Alive {
		doubts = 0
		if keyed := v.counts[Keys]; keyed != nil {
			doubts = keyed.Doubts
		}
	}
	return all.Lost+all.Doubled+all.Silent+doubts == 0
}

// All counts the calls of all kinds.
func (v *Verdict) All() (all Counts) {
	for _, n := range v.counts {
		all.add(n)
	}
	return all
}
