package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/compact"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/cost"
	"github.com/mcpchain/mcpchain/internal/testenv/memhttp"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/price"
)

var prices = &price.Table{Date: "2026-11-22", Models: []price.Price{{Model: "m-*", Currency: "USD", Input: 1_000_000, Output: 2_000_000}}}

// costly asks for a tool until it may not any more; each reply takes 100 and 50 tokens of the model m-1, which is 200 millionths.
var costly = counted(untilFinal(toolCall("", "x", "{}")))

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
			turns := int64(got.Usage.Turns)
			check.Same(t, "end", []any{got.StopReason, got.Output, got.Usage.Total, got.Usage.Cost["USD"], got.Usage.Lost},
				[]any{tt.want, "enough", 150 * turns, 200 * turns, 0})
			within(t, "turns, of 150 tokens and 200 millionths", turns, 3, 10)
			for i, p := range model.prompts() {
				within(t, fmt.Sprint("tokens of output for call ", i), p.Request.MaxTokens, 64, 1500)
			}
		})
	}
	synctestRun(t, "active time", func(t *testing.T) {
		model := play(untilFinal(sleep("", 10)))
		slow := allowing(func(*approval.Request) { time.Sleep(time.Hour) }) // the time of a person does not count
		got := mustRun(t, boxed(t, model, &agent.Options{Limits: run.Limits{Active: 25 * time.Second}, Person: agent.Person{Approve: slow}}),
			human("go"))
		check.Same(t, "stopped with", []any{got.StopReason, got.Usage.Active}, []any{agent.StopMaxActive, 30 * time.Second})
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
		"no price":            {prices, "other", limits.Cost, false, `new agent: options: Limits.Cost: the cost cannot be limited: the model "other" has no price in the table of 2026-11-22`},
		"no name":             {prices, "", limits.Cost, false, `new agent: options: Limits.Cost: the cost cannot be limited: the model is not named: it has to name itself (Info)`},
		"no name, no prices":  {nil, "", limits.Cost, false, `new agent: options: Limits.Cost: the cost cannot be limited: the model is not named: it has to name itself (Info), and needs a price in Options.Model.Prices, which is nil`},
		"no prices":           {nil, "m-1", limits.Cost, true, `Limits.Cost: the cost cannot be limited: the model "m-1" has no price: Options.Model.Prices is nil`},
		"a limit of the run":  {prices, "other", nil, true, `the model "other" has no price in the table of 2026-11-22`},
		"in another currency": {prices, "m-1", map[string]int64{"EUR": 1}, false, `there is no limit in USD, the currency of the model "m-1"`},
	} {
		t.Run(name, func(t *testing.T) {
			model := play(says("x")).called(tt.model)
			a, err := agent.New(model, &agent.Options{Limits: run.Limits{Cost: tt.limits}, Model: agent.ModelSettings{Prices: tt.prices}})
			if tt.atStart {
				check.Must(t, err)
				_, err = a.Run(t.Context(), human("go"), agent.WithLimits(limits))
			}
			check.Is(t, err, price.ErrUnpriced)
			check.Text(t, err, tt.want)
			check.Equal(t, "calls of the model", len(model.prompts()), 0)
		})
	}
}

// What a server samples during a call is charged to the run, and refused if it is more than the run has left.
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
			got := mustRun(t, poem(), human("go"))
			_, added := played(t, poem().Events(t.Context(), human("go")))
			check.Same(t, "usage by events", added.Usage, got.Usage)
			text := lines(got.Messages)[2]
			check.Equal(t, text+": refused", !strings.Contains(text, "roses"), limit == 8000)
			want := map[int64]int64{0: 5000, 8000: 0, 80_000: 5000}[limit]
			check.That(t, got.Usage.Total >= want && got.Usage.Sampling.Tokens == want && got.Usage.Lost <= 0, "limit %d: got %+v, want %d tokens", limit, got.Usage, want)
		})
	}
}

// The limits of a sub-agent hold as if it ran alone.
func TestUnpricedSubAgent(t *testing.T) {
	model := play(says("x")).called("other")
	helper := newAgent(t, model, &agent.Options{Limits: run.Limits{Cost: map[string]int64{"USD": 400}}})
	a := boss(t, play(uses(toolCall("a", "helper", `{"task":"x"}`)), says("done")), sub(t, helper, agent.NewSubAgent), agent.Options{Model: agent.ModelSettings{Prices: prices}})
	check.Contains(t, "what the model is told", lines(mustRun(t, a, human("go")).Messages)[2], "failed")
	check.Equal(t, "calls of the helper's model", len(model.prompts()), 0)
}

// Sub-agents that work at the same time spend no more than the run may, whatever the model uses of what it is given.
func TestSubAgentsShareTheLimit(t *testing.T) {
	for name, limits := range map[string]run.Limits{"tokens": {Tokens: 30_000}, "cost": {Cost: map[string]int64{"USD": 60_000}}} {
		synctestRun(t, name, func(t *testing.T) {
			opts := agent.Options{Model: agent.ModelSettings{Prices: prices}}
			greedy := func(ctx context.Context, p prompt) (*model.Response, error) { // it takes as many tokens as it may
				return slowly(using(says("helped"), 10, int64(p.Request.MaxTokens)))(ctx, p)
			}
			helper := newAgent(t, play(greedy).called("m-1"), &opts)
			lead := play(using(untilFinal(repeated(8, "helper", `{"task":"x"}`)...), 100, 50)).called("m-1")
			opts.Limits = limits
			got := mustRun(t, boss(t, lead, sub(t, helper, agent.NewSubAgent), opts), human("go"))
			check.Same(t, "answer, and lost calls", []any{got.Output, got.Usage.Lost}, []any{"enough", 0})
			within(t, "tokens", got.Usage.Total, 20_000, 30_000)
			within(t, "cost", got.Usage.Cost["USD"], 0, 60_000)
			check.Contains(t, "what the model is told", lines(got.Messages)[2], "helped")
		})
	}
}

// A call of the model that does not fit beside another one waits for it.
func TestCallsWaitForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var most []int
		helper := newAgent(t, play(func(ctx context.Context, p prompt) (*model.Response, error) {
			most = append(most, p.Request.MaxTokens)
			time.Sleep(time.Second)
			return counted(says("helped"))(ctx, p)
		}), nil)
		calls := uses(toolCall("1", "helper", `{"task":"x"}`), toolCall("2", "helper", `{"task":"y"}`))
		start := time.Now()
		got := mustRun(t, boss(t, play(counted(calls), counted(says("done"))), sub(t, helper, agent.NewSubAgent),
			agent.Options{Limits: run.Limits{Tokens: 20_000}}), human("go"))
		check.Same(t, "answer, one helper after the other", []any{got.Output, time.Since(start)}, []any{"done", 2 * time.Second})
		check.Same(t, "bounds of the output", most, []int{8192, 8192})
	})
}

func counted(s step) step { return using(s, 100, 50) }

// What a process has reserved counts for good if it ends before it is settled, for the model or a completion of a server.
func TestReservationsOfAnotherProcess(t *testing.T) {
	dies := func(cancel context.CancelFunc) step {
		return func(ctx context.Context, _ prompt) (*model.Response, error) { cancel(); return nil, ctx.Err() }
	}
	limits := run.Limits{Tokens: 50_000}
	for name, tt := range map[string]struct {
		first  func(cancel context.CancelFunc) *script
		tokens func(int64) bool
	}{
		"model":      {func(c context.CancelFunc) *script { return play(dies(c)) }, func(n int64) bool { return n > 8192 && n < 12_000 }},
		"completion": {func(context.CancelFunc) *script { return play(counted(uses(toolCall("1", "sample", "{}")))) }, func(n int64) bool { return n == 5000 }},
	} {
		t.Run(name, func(t *testing.T) {
			store := record.NewMemory()
			ctx, cancel := context.WithCancel(t.Context())
			poet := mcp.SamplingFunc(func(ctx context.Context, _ *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
				if _, err := cost.AccountFrom(ctx).Reserve(cost.Charge{Tokens: cost.Tokens{Input: 4000, Output: 1000}}); err != nil {
					return nil, err
				}
				cancel()
				return nil, errors.New("the process ends")
			})
			toolset, _ := open(t, &adapter.Options{ClientOptions: &mcpclient.Options{Sampling: poet}})
			a := withTools(t, tt.first(cancel), toolset, &agent.Options{Durable: agent.Durable{Store: store}, Limits: limits})
			check.Is(t, check.Err(a.Run(ctx, human("go"), agent.WithRun(theRun.ID))), context.Canceled)
			second, _ := process(t, store, play(counted(says("done"))), agent.Options{Limits: limits})
			got := resumed(t, second)
			s := got.Usage
			check.That(t, s.Lost == 1 && tt.tokens(s.LostTokens) && agent.Inside(got.State).Taken().Tokens == s.Total+s.LostTokens, "got %+v, want the reservation of the first process as lost", s)
		})
	}
}

// A call of the model that is made again after a timeout may be paid for twice.
func TestTimeoutsCount(t *testing.T) {
	late := breaks(&model.Error{Kind: model.ErrorTimeout, Err: errors.New("too late")})
	for limit, want := range map[int64]int{0: 0, 40_000: 2} {
		synctestRun(t, fmt.Sprint("limit ", limit), func(t *testing.T) {
			got := mustRun(t, newAgent(t, play(late, late, counted(says("done"))), &agent.Options{Limits: run.Limits{Tokens: limit}}), human("go"))
			check.Same(t, "lost calls", []any{got.Usage.Lost, got.Usage.LostTokens > 0}, []any{want, want > 0})
		})
	}
	synctestRun(t, "replayed", func(t *testing.T) { // it has one ModelStart
		store := record.NewMemory()
		a := newAgent(t, play(late, counted(says("done"))), &agent.Options{Durable: agent.Durable{Store: store}, Limits: run.Limits{Tokens: 40_000}})
		answers(t, a, "done", agent.WithRun(theRun.ID))
		starts := 0
		for e, err := range a.Replay(t.Context(), theRun, agent.Position{}) {
			check.Must(t, err)
			if _, ok := e.(*agent.ModelStart); ok {
				starts++
			}
		}
		check.Equal(t, "starts", starts, 1)
	})
	synctestRun(t, "nothing left", func(t *testing.T) {
		a := newAgent(t, play(late, late, counted(says("done"))), &agent.Options{Limits: run.Limits{Tokens: 10_000}})
		check.Fails(t, check.Err(a.Run(t.Context(), human("go"))))
	})
}

// A model that does not report its tokens has no known cost, and an estimate of tokens.
func TestUncountedModel(t *testing.T) {
	free := &price.Table{Date: "2026-11-22", Models: []price.Price{{Model: "m-*", Currency: "USD"}}}
	usd := run.Limits{Cost: map[string]int64{"USD": 400_000}, Failures: -1, Turns: 3}
	for name, tt := range map[string]struct {
		limits run.Limits
		prices *price.Table
		stop   agent.StopReason
		err    string
	}{
		"cost":          {usd, prices, "", "model reports no token usage"},
		"a free model":  {usd, free, agent.StopMaxTurns, ""},
		"tokens":        {run.Limits{Tokens: 4000, Failures: -1, Turns: -1, Calls: -1}, nil, agent.StopMaxTokens, ""},
		"neither":       {run.Limits{Failures: -1, Turns: 3}, nil, agent.StopMaxTurns, ""},
		"too few":       {run.Limits{Tokens: 20}, nil, agent.StopMaxTokens, tooLittle},
		"no money":      {run.Limits{Cost: map[string]int64{"USD": 0}}, prices, agent.StopMaxCost, tooLittle},
		"no money free": {run.Limits{Cost: map[string]int64{"USD": 0}, Turns: 1}, free, agent.StopMaxTurns, ""},
	} {
		t.Run(name, func(t *testing.T) {
			opts := &agent.Options{Limits: tt.limits, Model: agent.ModelSettings{Prices: tt.prices}}
			a := newAgent(t, play(untilFinal(toolCall("", "x", "{}"))).called("m-1"), opts)
			result, warnings := &agent.Result{}, 0
			var failed error
			for e, err := range a.Events(t.Context(), human("go")) {
				if failed = err; err != nil {
					break
				}
				result.Add(e)
				if _, ok := e.(*agent.Warning); ok {
					warnings++
				}
			}
			got, err := a.Run(t.Context(), human("go"))
			check.Same(t, "stop reason, and whether it fails", []any{got.StopReason, failed != nil, err != nil}, []any{tt.stop, tt.err != "", tt.err != ""})
			if tt.err != "" {
				check.Text(t, failed, tt.err)
				check.Text(t, err, tt.err)
			}
			limited := name == "tokens" || strings.Contains(name, "free")
			want := limited && tt.err == ""
			check.That(t, (warnings == 1) == want && (result.Usage.Total > 0) == want && (name != "tokens" || result.Usage.Total <= 4000), "got %d warnings and %+v", warnings, result.Usage)
		})
	}
}

// What a compaction has used counts, also if it fails, and nothing is reserved for it.
func TestCompactionCounts(t *testing.T) {
	for name, tt := range map[string]struct {
		limit, used int64
		fails       bool
		err         error
	}{
		"success": {20_000, 5000, false, nil}, "failure": {20_000, 5000, true, nil},
		"beyond the limit": {20_000, 50_000, false, agent.ErrFailed},
		"failure beyond":   {20_000, 50_000, true, agent.ErrFailed}, "cancelled": {20_000, 5000, true, context.Canceled},
		"cancelled at end": {20_000, 5000, false, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			compacts := func(_ context.Context, history []run.Message, _ compact.Budget) (*compact.Result, error) {
				change := &compact.Result{Usage: run.Usage{Turns: 1, Input: tt.used, Output: -1}} // no sum, as Anthropic's API
				if errors.Is(tt.err, context.Canceled) {
					cancel()
				}
				if tt.fails {
					return change, errors.New("summary is empty")
				}
				change.Replaced, change.Messages = len(history), history
				return change, nil
			}
			got, err := newAgent(t, play(counted(says("done"))), &agent.Options{Limits: run.Limits{Tokens: tt.limit}, Compact: compacts}).Run(ctx, human("go"))
			want := tt.used
			if tt.err == nil {
				want += 150
			}
			check.Same(t, "tokens, and the error", []any{got.Usage.Total, errors.Is(err, tt.err)}, []any{want, true})
		})
	}
}

// A host that counts too few tokens lifts no limit: counts that cannot be true are estimated, and the run says so.
func TestCountsThatCannotBeTrue(t *testing.T) {
	reply := `{"model":"` + strings.Repeat("m", 1<<20) + `","choices":[{"finish_reason":"tool_calls","message":{"content":"` + strings.Repeat("word ", 800) +
		`","tool_calls":[{"id":"1","type":"function","function":{"name":"echo","arguments":"{}"}}]}}],` +
		`"usage":{"prompt_tokens":1,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":99999999}}}`
	toolset, _ := open(t, nil)
	got, _ := newAgent(t, at(t, "compatible", "m", &memhttp.Wire{Replies: slices.Repeat([]string{reply}, 30)}), &agent.Options{
		Tools: []adapter.Source{toolset}, Limits: run.Limits{Tokens: 20_000, Turns: 25},
	}).Run(t.Context(), human("go"))
	check.Require(t, got.StopReason == agent.StopMaxTokens && len(got.Messages) > 1, "got %+v, want an end at the limit of tokens", got)
	within(t, "tokens", got.Usage.Total, 5000, 1<<40)
	within(t, "turns", got.Usage.Turns, 1, 10)
	check.Same(t, "cached tokens and the name are bounded", []bool{got.Usage.Cached <= got.Usage.Input, len(got.Messages[1].Model) <= 300},
		[]bool{true, true})
	check.Contains(t, "warnings", fmt.Sprint(got.Warnings), "estimate")
}
