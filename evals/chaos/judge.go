package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/mcpchain/mcpchain/agent/run"
)

// verdict counts calls by the kind of their server.
type verdict struct {
	calls, lost, doubled, silent, doubts map[string]int
	examples                             []string
	alive                                bool // the worker was: no result may be in doubt
}

// judge compares what each call was told with its effects.
func judge(ctx context.Context, store run.Store, w *world, runs int) (*verdict, error) {
	v := &verdict{calls: map[string]int{}, lost: map[string]int{}, doubled: map[string]int{}, silent: map[string]int{}, doubts: map[string]int{}}
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
			for c := range fan {
				v.call(kindOf(i), callOf(s.ID, turn, c), told[fmt.Sprintf("c%d_%d", turn, c)], w)
			}
		}
	}
	return v, nil
}

func (v *verdict) call(kind, call, told string, w *world) {
	effects, ran := w.count(call), told == did+call
	doubt := strings.Contains(told, "may or may not") || strings.Contains(told, "unknown whether")
	v.calls[kind]++
	what := ""
	switch {
	case effects > 1:
		v.doubled[kind]++
		what = "doubled"
	case ran && effects == 0:
		v.lost[kind]++
		what = "lost"
	case !ran && !doubt && (effects > 0 || told == ""):
		v.silent[kind]++
		what = "silent"
	case doubt:
		v.doubts[kind]++
		if kind == "keys" {
			what = "in doubt"
		}
	}
	if what != "" && len(v.examples) < 10 {
		v.examples = append(v.examples, fmt.Sprintf("%s: %s has %d effects, the model was told %q", what, call, effects, told))
	}
}

func (v *verdict) print(out io.Writer) {
	for _, kind := range kinds {
		fmt.Fprintf(out, "%-6s %5d calls: lost %d doubled %d silent %d, in doubt %d\n",
			kind, v.calls[kind], v.lost[kind], v.doubled[kind], v.silent[kind], v.doubts[kind])
	}
	for _, e := range v.examples {
		fmt.Fprintln(out, e)
	}
	fmt.Fprintf(out, "lost %d doubled %d silent %d\n", sum(v.lost), sum(v.doubled), sum(v.silent))
}

// clean reports whether nothing went wrong. A server with keys leaves no doubt, and a process that lives knows its results.
func (v *verdict) clean() bool {
	doubts := v.doubts["keys"]
	if v.alive {
		doubts = sum(v.doubts)
	}
	return sum(v.lost)+sum(v.doubled)+sum(v.silent)+doubts == 0
}

func sum(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}
