package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/mcpchain/mcpchain/agent/run"
)

// verdict counts calls.
type verdict struct {
	calls, lost, doubled, silent, doubts, keyed int
	examples                                    []string
}

// judge compares what each call was told with its effects.
func judge(ctx context.Context, store run.Store, w *world, runs int) (*verdict, error) {
	v := new(verdict)
	for i := range runs {
		log, err := store.Load(ctx, keyOf(i))
		if err != nil {
			return nil, err
		}
		s, err := run.Fold(log.Records)
		if err != nil {
			return nil, err
		}
		if s.Status != run.StatusFinished {
			return nil, fmt.Errorf("%s is %s: %s", s.ID, s.Status, s.Error)
		}
		told := map[string]string{}
		for _, m := range s.History {
			for _, p := range m.Parts {
				if p.Type == run.PartResult {
					told[p.ID] = p.Text
				}
			}
		}
		for turn := range turns {
			for c := range 2 {
				v.call(kindOf(i), callOf(s.ID, turn, c), told[fmt.Sprintf("c%d_%d", turn, c)], w)
			}
		}
	}
	return v, nil
}

func (v *verdict) call(kind, call, told string, w *world) {
	effects, ran := w.count(call), told == did+call
	doubt := strings.Contains(told, "may or may not") || strings.Contains(told, "unknown whether")
	v.calls++
	what := ""
	switch {
	case effects > 1:
		v.doubled++
		what = "doubled"
	case ran && effects == 0, told == "":
		v.lost++
		what = "lost"
	case !ran && !doubt:
		v.silent++
		what = "silent"
	case doubt && kind == "keys":
		v.keyed++
		what = "in doubt"
	case doubt:
		v.doubts++
	}
	if what != "" && len(v.examples) < 10 {
		v.examples = append(v.examples, fmt.Sprintf("%s: %s has %d effects, the model was told %q", what, call, effects, told))
	}
}

func (v *verdict) print(out io.Writer) {
	fmt.Fprintf(out, "%d calls, of these in doubt: %d at the server with keys, %d at the plain one\n", v.calls, v.keyed, v.doubts)
	for _, e := range v.examples {
		fmt.Fprintln(out, e)
	}
	fmt.Fprintf(out, "lost %d doubled %d silent %d\n", v.lost, v.doubled, v.silent)
}

// clean reports whether nothing went wrong. A server with keys leaves no doubt.
func (v *verdict) clean() bool { return v.lost+v.doubled+v.silent+v.keyed == 0 }
