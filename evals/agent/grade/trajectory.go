package grade

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/evals/agent/results"
	"github.com/mcpchain/mcpchain/evals/agent/suite"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// Calls returns the tool calls that the models of a run asked for, in order.
func Calls(log []run.Record) (calls []suite.Call) {
	for _, r := range log {
		replied, ok := ledger.ChangeOf(r).(*ledger.Responded)
		if !ok {
			continue
		}
		for _, p := range replied.Message.Parts {
			if p.Type == run.PartCall {
				calls = append(calls, suite.Call{Tool: p.Name, Args: json.RawMessage(p.Arguments)})
			}
		}
	}
	return calls
}

// callsScore scores the F1 of the names of tools, as multisets.
func callsScore(want, got []suite.Call) results.Score {
	counts := map[string]int{}
	for _, c := range want {
		counts[c.Tool]++
	}
	hits := 0
	for _, c := range got {
		if counts[c.Tool] > 0 {
			counts[c.Tool]--
			hits++
		}
	}
	return share("calls", 2*float64(hits), len(want)+len(got), fmt.Sprintf("%d of %d calls made are of the %d wanted", hits, len(got), len(want)))
}

// arguments gives each wanted call, one after the other, the call made whose arguments agree best
// with its own, and scores the mean agreement over the longer list.
func arguments(want, got []suite.Call) results.Score {
	remaining, sum := slices.Clone(got), 0.0
	for _, w := range want {
		best, bestIndex := 0.0, -1
		for i, g := range remaining {
			if a := agreement(w, g); a > best {
				best, bestIndex = a, i
			}
		}
		if bestIndex >= 0 {
			sum, remaining = sum+best, slices.Delete(remaining, bestIndex, bestIndex+1)
		}
	}
	return share("arguments", sum, max(len(want), len(got)), "")
}

// agreement returns the share of arguments that two calls have with equal values: 1 for calls of one tool without
// arguments, 0 for calls of two tools, or with arguments that are not an object.
func agreement(a, b suite.Call) float64 {
	if a.Tool != b.Tool {
		return 0
	}
	var x, y map[string]any
	if json.Unmarshal(orEmpty(a.Args), &x) != nil || json.Unmarshal(orEmpty(b.Args), &y) != nil {
		return 0
	}
	same, all := 0, len(x)
	for name, v := range y {
		if w, ok := x[name]; !ok {
			all++
		} else if reflect.DeepEqual(v, w) {
			same++
		}
	}
	if all == 0 {
		return 1
	}
	return float64(same) / float64(all)
}

func orEmpty(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	return raw
}
