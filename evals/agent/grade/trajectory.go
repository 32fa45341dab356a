package grade

import (
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"reflect"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/evals/agent/suite"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// Calls returns the tool calls that the models of a run asked for, in order.
func Calls(log []run.Record) (made []suite.Call) {
	for c := range changes(log) {
		replied, ok := c.(*ledger.Responded)
		if !ok {
			continue
		}
		for _, p := range replied.Message.Parts {
			if p.Type == run.PartCall {
				made = append(made, suite.Call{Tool: p.Name, Args: json.RawMessage(p.Arguments)})
			}
		}
	}
	return made
}

// changes yields the changes of records, including those of sub-agents.
func changes(log []run.Record) iter.Seq[ledger.Change] {
	return func(yield func(ledger.Change) bool) {
		for _, r := range log {
			c := ledger.ChangeOf(r)
			for nested, ok := c.(*ledger.Nested); ok; nested, ok = c.(*ledger.Nested) {
				c = nested.Record.Change
			}
			if !yield(c) {
				return
			}
		}
	}
}

// multiset scores the F1 of the names of tools, as multisets.
func multiset(want, got []suite.Call) (string, float64, string) {
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
	if len(want)+len(got) == 0 {
		return "calls", 1, ""
	}
	f1 := 2 * float64(hits) / float64(len(want)+len(got))
	return "calls", f1, fmt.Sprintf("%d of %d calls made are of the %d wanted", hits, len(got), len(want))
}

// order scores the longest common subsequence of the names of tools, relative to the longer
// list.
func order(want, got []suite.Call) (string, float64, string) {
	longest := make([][]int, len(want)+1)
	for i := range longest {
		longest[i] = make([]int, len(got)+1)
	}
	for i := range want {
		for j := range got {
			longest[i+1][j+1] = max(longest[i][j+1], longest[i+1][j])
			if want[i].Tool == got[j].Tool {
				longest[i+1][j+1] = max(longest[i+1][j+1], longest[i][j]+1)
			}
		}
	}
	if len(want)+len(got) == 0 {
		return "order", 1, ""
	}
	return "order", float64(longest[len(want)][len(got)]) / float64(max(len(want), len(got))), ""
}

// arguments matches wanted and made calls so that their arguments agree best, and scores the
// mean agreement over the longer list.
func arguments(want, got []suite.Call) (string, float64, string) {
	n := max(len(want), len(got))
	if n == 0 {
		return "arguments", 1, ""
	}
	costs := make([][]float64, n)
	for i := range costs {
		costs[i] = make([]float64, n)
		for j := range costs[i] {
			costs[i][j] = 1
			if i < len(want) && j < len(got) {
				costs[i][j] = 1 - agreement(want[i], got[j])
			}
		}
	}
	return "arguments", 1 - assign(costs)/float64(n), ""
}

// agreement returns the share of members that two calls of one tool have with equal values.
func agreement(a, b suite.Call) float64 {
	if a.Tool != b.Tool {
		return 0
	}
	if a.Accept != nil {
		return accepted(a.Accept, b.Args)
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

// accepted returns the share of arguments that have an accepted value.
func accepted(want map[string][]json.RawMessage, args json.RawMessage) float64 {
	var got map[string]any
	if json.Unmarshal(orEmpty(args), &got) != nil {
		return 0
	}
	same, all := 0, len(want)
	for name := range got {
		if _, ok := want[name]; !ok {
			all++
		}
	}
	for name, values := range want {
		v, ok := got[name]
		for _, raw := range values {
			var right any
			if json.Unmarshal(raw, &right) == nil && (ok && reflect.DeepEqual(v, right) || !ok && right == "") {
				same++
				break
			}
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

// assign returns the least total cost of assigning a distinct column to each row, by the
// Hungarian method.
func assign(costs [][]float64) float64 {
	n := len(costs)
	u, v := make([]float64, n+1), make([]float64, n+1) // potentials of rows and columns
	row, way := make([]int, n+1), make([]int, n+1)
	for i := 1; i <= n; i++ {
		row[0] = i
		column := 0
		least, used := make([]float64, n+1), make([]bool, n+1)
		for j := range least {
			least[j] = math.Inf(1)
		}
		for row[column] != 0 {
			used[column] = true
			at, delta, next := row[column], math.Inf(1), 0
			for j := 1; j <= n; j++ {
				if used[j] {
					continue
				}
				if c := costs[at-1][j-1] - u[at] - v[j]; c < least[j] {
					least[j], way[j] = c, column
				}
				if least[j] < delta {
					delta, next = least[j], j
				}
			}
			for j := 0; j <= n; j++ {
				if used[j] {
					u[row[j]] += delta
					v[j] -= delta
				} else {
					least[j] -= delta
				}
			}
			column = next
		}
		for column != 0 {
			row[column] = row[way[column]]
			column = way[column]
		}
	}
	total := 0.0
	for j := 1; j <= n; j++ {
		total += costs[row[j]-1][j-1]
	}
	return total
}
