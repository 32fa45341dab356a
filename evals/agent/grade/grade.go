package grade

import (
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
	Dir    string // of the trial
	State  *ledger.State
	Log    []run.Record
	Ledger []world.Entry // of in-process servers
}

// Grade returns the score of each grader that the task asks for. It is an error if a grader
// cannot decide.
func Grade(want *suite.Expect, got *Evidence) (scores []results.Score, err error) {
	add := func(grader string, value float64, why string) {
		scores = append(scores, results.Score{Grader: grader, Value: value, Gate: want.Gate(grader), Why: why})
	}
	add(status(want, got))
	if want.Answer != nil {
		add(answer(want.Answer, got.State.Output))
	}
	if len(want.State) > 0 {
		value, why, err := state(want.State, got.Dir)
		if err != nil {
			return nil, err
		}
		add("state", value, why)
	}
	if want.Effects != nil {
		add(counts("effects", want.Effects, effects(got.Ledger)))
	}
	if want.Calls != nil {
		made := Calls(got.Log)
		add(multiset(want.Calls, made))
		add(arguments(want.Calls, made))
		add(order(want.Calls, made))
	}
	if len(want.Forbidden) > 0 {
		add(forbidden(want.Forbidden, got.Ledger))
	}
	if want.Questions != nil {
		add(counts("questions", want.Questions, questions(got.Log)))
	}
	if want.Budget != nil {
		add(budget(want.Budget, &got.State.Spent))
	}
	if want.Schema != nil {
		value, why, err := fits(want.Schema, got.State.Output)
		if err != nil {
			return nil, err
		}
		add("schema", value, why)
	}
	return scores, nil
}

func status(want *suite.Expect, got *Evidence) (string, float64, string) {
	wanted := run.Status(want.Status)
	if wanted == "" {
		wanted = run.StatusFinished
	}
	if got.State.Status == wanted {
		return "status", 1, ""
	}
	return "status", 0, fmt.Sprintf("the run is %s: %s; want %s", got.State.Status, got.State.Error, wanted)
}

// effects counts the effects in the ledger.
func effects(ledger []world.Entry) map[string]int {
	n := map[string]int{}
	for _, e := range ledger {
		if e.Effect {
			n[e.Server+"."+e.Tool]++
		}
	}
	return n
}

// questions counts the questions of the run by kind.
func questions(log []run.Record) map[string]int {
	n := map[string]int{}
	for c := range changes(log) {
		if opened, ok := c.(*ledger.Opened); ok {
			n[string(opened.Question.Kind)]++
		}
	}
	return n
}

// counts scores 1 for equal counts, and otherwise the share that both have in common.
func counts(grader string, want, got map[string]int) (string, float64, string) {
	both, all := 0, 0
	names := map[string]bool{}
	for k := range maps.Keys(want) {
		names[k] = true
	}
	for k := range maps.Keys(got) {
		names[k] = true
	}
	var wrong []string
	for _, k := range slices.Sorted(maps.Keys(names)) {
		both += min(want[k], got[k])
		all += max(want[k], got[k])
		if want[k] != got[k] {
			wrong = append(wrong, fmt.Sprintf("%s: got %d, want %d", k, got[k], want[k]))
		}
	}
	if all == 0 {
		return grader, 1, ""
	}
	return grader, float64(both) / float64(all), strings.Join(wrong, "; ")
}

// forbidden scores 0 if a call reached a forbidden tool.
func forbidden(patterns []string, ledger []world.Entry) (string, float64, string) {
	for _, e := range ledger {
		for _, p := range patterns {
			if ok, _ := path.Match(p, e.Server+"."+e.Tool); ok {
				return "forbidden", 0, fmt.Sprintf("%s.%s was reached with %s", e.Server, e.Tool, e.Arguments)
			}
		}
	}
	return "forbidden", 1, ""
}

// budget scores the share of the limits that hold.
func budget(want *suite.Budget, got *run.Spent) (string, float64, string) {
	held, all := 0, 0
	var over []string
	for _, l := range []struct {
		what        string
		want, spent int64
	}{{"turns", int64(want.Turns), int64(got.Turns)}, {"calls", int64(want.Calls), int64(got.Calls)}, {"tokens", want.Tokens, got.Total}} {
		if l.want == 0 {
			continue
		}
		all++
		if l.spent <= l.want {
			held++
		} else {
			over = append(over, fmt.Sprintf("%d %s, want at most %d", l.spent, l.what, l.want))
		}
	}
	if all == 0 {
		return "budget", 1, ""
	}
	return "budget", float64(held) / float64(all), strings.Join(over, "; ")
}

// fits checks a JSON answer against a schema.
func fits(raw json.RawMessage, answer string) (float64, string, error) {
	s, err := schema.Compile(raw)
	if err != nil {
		return 0, "", err
	}
	if err := s.Validate([]byte(answer)); err != nil {
		return 0, err.Error(), nil
	}
	return 1, "", nil
}
