// Package grade scores the outcome of a trial.
package grade

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
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
	add := func(s results.Score) {
		s.Gate = want.Gate(s.Grader)
		scores = append(scores, s)
	}
	add(status(want, got))
	if want.Answer != nil {
		add(answer(want.Answer, got.State.Output))
	}
	if len(want.State) > 0 {
		score, err := state(want.State, got.Dir)
		if err != nil {
			return nil, err
		}
		add(score)
	}
	if want.Effects != nil {
		add(effects(want.Effects, got.Ledger))
	}
	if want.Calls != nil {
		made := Calls(got.Log)
		add(callsScore(want.Calls, made))
		add(arguments(want.Calls, made))
	}
	if len(want.Forbidden) > 0 {
		add(forbidden(want.Forbidden, got.Ledger))
	}
	if want.Budget != nil {
		add(budget(want.Budget, &got.State.Spent))
	}
	if want.Schema != nil {
		score, err := checkSchema(want.Schema, got.State.Output)
		if err != nil {
			return nil, err
		}
		add(score)
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
