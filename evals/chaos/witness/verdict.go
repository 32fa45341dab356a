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

// Verdict counts calls by the kind of their server.
type Verdict struct {
	Calls, Lost, Doubled, Silent, Doubts map[string]int
	Alive                                bool // no worker was killed: no result may be in doubt

	kinds    []string
	examples []string
}

// Judge compares what the model was told of each call of the first n runs with the effects of
// the call.
func (s *Script) Judge(ctx context.Context, store record.Store, w *World, n int) (*Verdict, error) {
	v := &Verdict{kinds: s.Kinds, Calls: map[string]int{}, Lost: map[string]int{}, Doubled: map[string]int{}, Silent: map[string]int{}, Doubts: map[string]int{}}
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
		told := map[string]string{}
		for _, m := range state.History {
			for _, p := range m.Parts {
				if p.Type == run.PartResult {
					told[p.ID] = p.Text
				}
			}
		}
		for turn := range s.Turns {
			for c := range s.Fan {
				v.call(s.Kind(i), callOf(state.ID, turn, c), told[fmt.Sprintf("c%d_%d", turn, c)], w)
			}
		}
	}
	return v, nil
}

func (v *Verdict) call(kind, call, told string, w *World) {
	effects, ran := w.Count(call), told == did+call
	doubt := strings.Contains(told, "may or may not") || strings.Contains(told, "unknown whether")
	v.Calls[kind]++
	what := ""
	switch {
	case effects > 1:
		v.Doubled[kind]++
		what = "doubled"
	case ran && effects == 0:
		v.Lost[kind]++
		what = "lost"
	case !ran && !doubt && (effects > 0 || told == ""):
		v.Silent[kind]++
		what = "silent"
	case doubt:
		v.Doubts[kind]++
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
		fmt.Fprintf(out, "%-6s %5d calls: lost %d doubled %d silent %d, in doubt %d\n",
			kind, v.Calls[kind], v.Lost[kind], v.Doubled[kind], v.Silent[kind], v.Doubts[kind])
	}
	for _, e := range v.examples {
		fmt.Fprintln(out, e)
	}
	fmt.Fprintf(out, "lost %d doubled %d silent %d\n", sum(v.Lost), sum(v.Doubled), sum(v.Silent))
}

// Clean reports whether there were no errors. Calls of a server with keys are never in doubt,
// nor is any call if no worker was killed.
func (v *Verdict) Clean() bool {
	doubts := v.Doubts[Keys]
	if v.Alive {
		doubts = sum(v.Doubts)
	}
	return sum(v.Lost)+sum(v.Doubled)+sum(v.Silent)+doubts == 0
}

// All returns the number of calls.
func (v *Verdict) All() int { return sum(v.Calls) }

func sum(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}
