package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/cost"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/price"
)

var prices = &price.Table{Date: "2026-11-22", Models: []price.Price{{Model: "m-*", Currency: "USD", Input: 1_000_000, Output: 2_000_000}}}

// costly asks for a tool until it may not any more; each reply takes 100 and 50 tokens of
// the model m-1, which is 200 millionths.
func costly(ctx context.Context, p prompt) (*model.Response, error) {
	return counted(untilFinal(toolCall("", "x", "{}")))(ctx, p)
}

func TestSpendingLimits(t *testing.T) {
	for name, tt := range map[string]struct {
		limits run.Limits
		want   agent.StopReason
	}{
		"tokens": {run.Limits{Tokens: 1500}, agent.StopMaxTokens},
		"cost":   {run.Limits{Cost: map[string]int64{"USD": 2000}}, agent.StopMaxCost},
	} {
		t.Run(name, func(t *testing.T) {
			tt.limits.Failures = -1
			opts := &agent.Options{Limits: tt.limits, Model: agent.ModelSettings{Prices: prices}}
			model := play(costly).called("m-1")
			got := mustRun(t, newAgent(t, model, opts), human("go"))
			turns := int64(got.Spent.Turns)
			if got.StopReason != tt.want || got.Output != "enough" || turns < 3 || got.Spent.Total != 150*turns || got.Spent.Cost["USD"] != 200*turns {
				t.Errorf("stopped with %q: got %+v", got.StopReason, got.Spent)
			}
			if over := got.Spent.Total > 1500 || got.Spent.Cost["USD"] > 2000; over || got.Spent.Lost > 0 {
				t.Errorf("got %+v, more than the limit", got.Spent)
			}
			for i, p := range model.prompts() {
				if n := p.Request.MaxTokens; n < 64 || n > 1500 {
					t.Errorf("call %d may have %d tokens of output", i, n)
				}
			}
		})
	}
	synctestRun(t, "active time", func(t *testing.T) {
		toolset, _ := open(t, nil)
		model := play(func(ctx context.Context, p prompt) (*model.Response, error) {
			return untilFinal(sleep("", 10))(ctx, p)
		})
		slow := func(context.Context, *approval.Request) (approval.Decision, error) {
			time.Sleep(time.Hour) // the time of a person does not count
			return approval.Allow(), nil
		}
		got := mustRun(t, withTools(t, model, toolset, &agent.Options{Limits: run.Limits{Active: 25 * time.Second}, Person: agent.Person{Approve: slow}}), human("go"))
		if got.StopReason != agent.StopMaxActive || got.Spent.Active != 30*time.Second {
			t.Errorf("stopped with %q after %v", got.StopReason, got.Spent.Active)
		}
	})
}

// A model without a price is refused if its cost is limited, before it is called.
func TestUnpricedModel(t *testing.T) {
	limits := run.Limits{Cost: map[string]int64{"USD": 400}}
	for name, tt := range map[string]struct {
		prices  *price.Table
		model   string
		limits  map[string]int64
		atStart bool // the limits are options of the run
		want    string
	}{
		"no price":            {prices, "other", limits.Cost, false, `new agent: options: Limits.Cost: the cost is limited, but the model "other" has no price in the table of 2026-11-22`},
		"no name":             {prices, "", limits.Cost, false, `new agent: options: Limits.Cost: the cost is limited, but the model is not named: it has to name itself (Info)`},
		"no name, no prices":  {nil, "", limits.Cost, false, `new agent: options: Limits.Cost: the cost is limited, but the model is not named: it has to name itself (Info), and needs a price in Options.Model.Prices, which is nil`},
		"no prices":           {nil, "m-1", limits.Cost, true, `Limits.Cost: the cost is limited, but the model "m-1" has no price: Options.Model.Prices is nil`},
		"a limit of the run":  {prices, "other", nil, true, `the model "other" has no price in the table of 2026-11-22`},
		"in another currency": {prices, "m-1", map[string]int64{"EUR": 1}, false, `not in USD, the currency of the model "m-1"`},
	} {
		t.Run(name, func(t *testing.T) {
			model := play(says("x")).called(tt.model)
			a, err := agent.New(model, &agent.Options{Limits: run.Limits{Cost: tt.limits}, Model: agent.ModelSettings{Prices: tt.prices}})
			if tt.atStart {
				check(t, err)
				_, err = a.Run(t.Context(), human("go"), agent.WithLimits(limits))
			}
			if !errors.Is(err, price.ErrUnpriced) || !strings.Contains(err.Error(), tt.want) || len(model.prompts()) > 0 {
				t.Errorf("got %v after %d calls, want %q before the first", err, len(model.prompts()), tt.want)
			}
		})
	}
}

// What a server samples during a call is charged to the run, and refused if it is more
// than the run has left.
func TestSamplingIsCharged(t *testing.T) {
	most := cost.Charge{Model: "m-1", Tokens: cost.Tokens{Input: 4000, Output: 1000}, Cost: cost.Money{Currency: "USD", Micro: 6000}}
	poet := mcp.SamplingFunc(func(ctx context.Context, _ *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		settle, err := cost.AccountFrom(ctx).Reserve(most)
		if err != nil {
			return nil, err
		}
		settle(most)
		return &mcp.CreateMessageResult{Model: "m-1", Content: []mcp.Content{&mcp.TextContent{Text: "roses"}}}, nil
	})
	for _, limit := range []int64{0, 8000, 80_000} {
		eachEra(t, mcpclient.Options{Sampling: poet}, func(t *testing.T, toolset *adapter.Toolset) {
			poem := func() *agent.Agent {
				return withTools(t, play(uses(toolCall("1", "sample", "{}")), says("done")), toolset, &agent.Options{Limits: run.Limits{Tokens: limit}})
			}
			got, added := mustRun(t, poem(), human("go")), agent.Result{}
			for e := range each(t, poem().Events(t.Context(), human("go"))) {
				added.Add(e)
			}
			diff(t, "usage by events", added.Spent, got.Spent)
			text := lines(history(got))[2]
			if refused := !strings.Contains(text, "roses"); refused != (limit == 8000) {
				t.Errorf("limit %d: the model is told %s", limit, text)
			}
			if want := map[int64]int64{0: 5000, 8000: 0, 80_000: 5000}[limit]; got.Spent.Total < want || got.Spent.Sampling.Tokens != want || got.Spent.Lost > 0 {
				t.Errorf("limit %d: got %+v, want %d tokens", limit, got.Spent, want)
			}
		})
	}
}

// The limits of a sub-agent hold as if it ran alone.
func TestUnpricedSubAgent(t *testing.T) {
	model := play(says("x")).called("other")
	helper := newAgent(t, model, &agent.Options{Limits: run.Limits{Cost: map[string]int64{"USD": 400}}})
	a := boss(t, play(uses(toolCall("a", "helper", `{"task":"x"}`)), says("done")), sub(t, helper, agent.Sub), agent.Options{Model: agent.ModelSettings{Prices: prices}})
	got := mustRun(t, a, human("go"))
	if text := lines(history(got))[2]; len(model.prompts()) > 0 || !strings.Contains(text, "failed") {
		t.Errorf("the model is told %s after %d calls of the helper's model", text, len(model.prompts()))
	}
}
