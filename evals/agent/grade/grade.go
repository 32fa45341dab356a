// Package grade scores the outcome of a trial.
package grade

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/evals/agent/results"
	"github.com/mcpchain/mcpchain/evals/agent/suite"
	"github.com/mcpchain/mcpchain/evals/agent/world"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/schema"
)

// Evidence is the outcome of a trial.
type Evidence struct {
	Dir    string // directory of the trial
	State  *ledger.State
	Log    []run.Record
	Ledger []world.Entry // calls of in-process servers
}

// Grade returns the score of the status, and of each other grader that the task asks for. It returns an error if a
// grader cannot decide.
func Grade(want *suite.Expect, got *Evidence) (scores []results.Score, err error) {
	add := func(s results.Score, undecided error) {
		s.Gate = want.Gate(s.Grader)
		scores, err = append(scores, s), cmp.Or(err, undecided)
	}
	add(status(want, got), nil)
	if want.Answer != nil {
		add(answer(want.Answer, got.State.Output), nil)
	}
	if len(want.State) > 0 {
		add(state(want.State, got.Dir))
	}
	if want.Effects != nil {
		add(effects(want.Effects, got.Ledger), nil)
	}
	if want.Calls != nil {
		made := Calls(got.Log)
		add(callsScore(want.Calls, made), nil)
		add(arguments(want.Calls, made), nil)
	}
	if len(want.Forbidden) > 0 {
		add(forbidden(want.Forbidden, got.Ledger), nil)
	}
	if want.Budget != nil {
		add(budget(want.Budget, &got.State.Spent), nil)
	}
	if want.Schema != nil {
		add(checkSchema(want.Schema, got.State.Output))
	}
	if err != nil {
		return nil, err
	}
	return scores, nil
}

// share returns the score of a grader: part/all, or 1 if all is 0.
func share(grader string, part float64, all int, why string) results.Score {
	if all == 0 {
		return results.Score{Grader: grader, Value: 1}
	}
	return results.Score{Grader: grader, Value: part / float64(all), Why: why}
}

// claims counts the claims that hold.
type claims struct {
	holding, all int
	wrong        []string // why the others do not hold
}

// add counts a claim. The text says why it does not hold.
func (c *claims) add(holds bool, format string, args ...any) {
	c.all++
	if holds {
		c.holding++
	} else {
		c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
	}
}

// score returns the share of the claims that hold.
func (c *claims) score(grader string) results.Score {
	return share(grader, float64(c.holding), c.all, strings.Join(c.wrong, "; "))
}

func status(want *suite.Expect, got *Evidence) results.Score {
	wanted := cmp.Or(run.Status(want.Status), run.StatusFinished)
	var c claims
	c.add(got.State.Status == wanted, "the run is %s: %s; want %s", got.State.Status, got.State.Error, wanted)
	return c.score("status")
}

// effects compares the effects in the ledger, by server.tool. It scores 1 for equal counts, and otherwise the share that
// both have in common.
func effects(want map[string]int, entries []world.Entry) results.Score {
	got, names := map[string]int{}, maps.Clone(want)
	for _, e := range entries {
		if name := e.Server + "." + e.Tool; e.Effect {
			got[name]++
			names[name] = 0
		}
	}
	both, all := 0, 0
	var wrong []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		both += min(want[name], got[name])
		all += max(want[name], got[name])
		if want[name] != got[name] {
			wrong = append(wrong, fmt.Sprintf("%s: got %d, want %d", name, got[name], want[name]))
		}
	}
	return share("effects", float64(both), all, strings.Join(wrong, "; "))
}

// forbidden scores 0 if a call reached a forbidden tool.
func forbidden(patterns []string, ledger []world.Entry) results.Score {
	for _, e := range ledger {
		for _, p := range patterns {
			if ok, _ := path.Match(p, e.Server+"."+e.Tool); ok {
				return results.Score{Grader: "forbidden", Why: fmt.Sprintf("%s.%s was reached with %s", e.Server, e.Tool, e.Arguments)}
			}
		}
	}
	return results.Score{Grader: "forbidden", Value: 1}
}

// budget scores the share of the limits that hold. 0 means no limit.
func budget(want *suite.Budget, got *run.Usage) results.Score {
	var c claims
	limit := func(what string, want, spent int64) {
		if want > 0 {
			c.add(spent <= want, "%d %s, want at most %d", spent, what, want)
		}
	}
	limit("turns", int64(want.Turns), int64(got.Turns))
	limit("calls", int64(want.Calls), int64(got.Calls))
	limit("tokens", want.Tokens, got.Total)
	return c.score("budget")
}

// checkSchema checks a JSON answer against a schema.
func checkSchema(raw json.RawMessage, answer string) (results.Score, error) {
	s, err := schema.Compile(raw)
	if err != nil {
		return results.Score{}, err
	}
	if err := s.Validate([]byte(answer)); err != nil {
		return results.Score{Grader: "schema", Why: err.Error()}, nil
	}
	return results.Score{Grader: "schema", Value: 1}, nil
}

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
	if json.Unmarshal([]byte(cmp.Or(string(a.Args), "{}")), &x) != nil || json.Unmarshal([]byte(cmp.Or(string(b.Args), "{}")), &y) != nil {
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
