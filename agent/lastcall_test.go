package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/compact"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

// reader is an agent with a sub-agent. Both read files, and a person is asked about each one.
// It notes what its model calls may take, and what its compactor is told.
type reader struct {
	limits run.Limits
	notes  []string
}

// agent makes the agent, as each process would.
func (r *reader) agent(t *testing.T, opts agent.Options) *agent.Agent {
	t.Helper()
	opts.Tools = []adapter.Source{adapter.Func("read", "Reads.", func(context.Context, struct{}) (string, error) {
		return strings.Repeat("word ", 2000), nil
	}, nil)}
	opts.Person.Approve, opts.Compact = agent.AskPerson, r.compact
	helper := newAgent(t, play(r.step(3, "read")), &opts)
	opts.Limits = r.limits
	return boss(t, play(r.step(6, "read", "helper")), sub(t, helper, agent.Sub), opts)
}

// step calls one tool after the other in so many turns, and reports fewer tokens than there are
// bytes for two.
func (r *reader) step(turns int, tools ...string) step {
	return func(ctx context.Context, p prompt) (*model.Response, error) {
		text := lines(p.Request.Messages)
		turn := strings.Count(strings.Join(text, "\n"), "ai: ")
		r.notes = append(r.notes, fmt.Sprint("at most ", p.Request.MaxTokens))
		answer := says("done")
		if turn < turns && !strings.Contains(text[len(text)-1], "No more tool calls") {
			name := tools[turn%len(tools)]
			answer = uses(toolCall(fmt.Sprint(turn), name, map[string]string{"read": "{}", "helper": `{"task":"x"}`}[name]))
		}
		reply, err := answer(ctx, p)
		reply.Usage = run.Spent{Input: int64(len(fmt.Sprint(text)) / 4), Output: 300, Reasoning: 7}
		return reply, err
	}
}

// compact leaves out the first turn once the model has counted enough.
func (r *reader) compact(_ context.Context, h []run.Message, b compact.Budget) (*compact.Result, error) {
	r.notes = append(r.notes, fmt.Sprintf("%d tokens for %d messages", b.Tokens, b.Messages))
	if b.Tokens < 6000 || len(h) < 3 {
		return nil, nil
	}
	return &compact.Result{Replaced: 3, Messages: h[:1]}, nil
}

// A run ends at the same limit, at the same turn, and is compacted at the same turns, if each
// of its steps is of another process.
func TestLimitsInOtherProcesses(t *testing.T) {
	ends := map[string]bool{}
	step := testenv.Pick[int64](3000, 1000)
	for limit := step; limit <= 120_000; limit += step {
		limits := run.Limits{Tokens: limit}
		one, others := &reader{limits: limits}, &reader{limits: limits}
		got, err := one.agent(t, agent.Options{Person: agent.Person{Reply: func(_ context.Context, q *run.Question) (run.Reply, error) {
			return q.Allow(), nil
		}}}).Run(t.Context(), human("go"))
		if limit == 30_000 {
			diff(t, "a run by what was counted", one.notes, []string{
				"0 tokens for 0 messages", "at most 8192", // lead reads
				"296 tokens for 2 messages", "at most 8192", // and calls the helper
				"0 tokens for 0 messages", "at most 8192",
				"296 tokens for 2 messages", "at most 6605", // beside what the lead's last call took
				"2804 tokens for 4 messages", "at most 2691",
				"5312 tokens for 6 messages", "at most 5037", // the helper's last call
				"2804 tokens for 4 messages", "at most 2502",
				"2817 tokens for 6 messages", "at most 179",
			})
		}
		want := fmt.Sprint(got.StopReason, got.Spent.Total, err)

		store := agent.Options{Durable: agent.Durable{Store: record.NewMemory()}}
		got, err = others.agent(t, store).Run(t.Context(), human("go"), agent.In(theRun.ID))
		for err == nil && got.Status == run.StatusWaiting {
			got, err = others.agent(t, store).ResumeRun(t.Context(), theRun, got.Questions[0].Allow())
		}
		diff(t, fmt.Sprint("limit ", limit), fmt.Sprint(got.StopReason, got.Spent.Total, err), want)
		diff(t, fmt.Sprint("limit ", limit), others.notes, one.notes)
		if errors.Is(err, agent.ErrLimit) {
			ends["no answer fits"] = true
		}
		ends[string(got.StopReason)] = true
	}
	for _, end := range []string{"answer", "max_tokens", "no answer fits"} {
		if !ends[end] {
			t.Errorf("no run ended so: %s", end)
		}
	}
}

// A compactor is told the estimate of the history for a model that does not count, and
// nothing that the agent has estimated of its calls.
func TestBudgetOfAnUncountedModel(t *testing.T) {
	var told, want []compact.Budget
	note := func(_ context.Context, history []run.Message, b compact.Budget) (*compact.Result, error) {
		told = append(told, b)
		want = append(want, compact.Budget{Estimate: compact.Estimate(history)})
		if len(told) == 2 {
			return &compact.Result{Replaced: 1, Messages: []run.Message{run.Text(run.RoleUser, strings.Repeat("go ", 100))}}, nil
		}
		return nil, nil
	}
	opts := &agent.Options{Limits: run.Limits{Tokens: 50_000, Turns: 4}, Compact: note}
	mustRun(t, newAgent(t, play(untilFinal(toolCall("", "x", "{}"))), opts), human("go"))
	diff(t, "budgets", told, want)
	if len(told) != 5 || told[2].Estimate < 75 {
		t.Errorf("got %v, want 5 budgets, from the third on with what the compactor has put in", told)
	}
}
