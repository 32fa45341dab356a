package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/compact"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// untilFinal asks for tools until it may not any more.
func untilFinal(calls ...run.Part) step {
	return func(ctx context.Context, p prompt) (*model.Response, error) {
		if strings.Contains(p.Request.Messages[len(p.Request.Messages)-1].Text(), "No more tool calls") {
			return says("enough")(ctx, p)
		}
		return uses(calls...)(ctx, p)
	}
}

func TestLimits(t *testing.T) {
	one := toolCall("", "x", "{}")
	for name, test := range map[string]struct {
		limits run.Limits
		calls  []run.Part
		want   []any // turns, calls and reason
	}{
		"turns":            {run.Limits{Turns: 3}, []run.Part{one}, []any{4, 3, agent.StopMaxTurns}},
		"default turns":    {run.Limits{Failures: 100}, []run.Part{one}, []any{21, 20, agent.StopMaxTurns}},
		"tool calls":       {run.Limits{Calls: 3}, []run.Part{one, one}, []any{3, 4, agent.StopMaxToolCalls}},
		"failures":         {run.Limits{Failures: 2}, []run.Part{one, one, one}, []any{3, 6, agent.StopMaxFailures}},
		"default failures": {run.Limits{}, []run.Part{one}, []any{6, 5, agent.StopMaxFailures}},
	} {
		t.Run(name, func(t *testing.T) {
			got := answers(t, newAgent(t, play(untilFinal(test.calls...)), &agent.Options{Limits: test.limits}), "enough") // the answer of the last call
			check.Same(t, "turns, calls and reason", []any{got.Usage.Turns, got.Usage.Calls, got.StopReason}, test.want)
			for _, line := range lines(got.Messages) {
				check.Equal(t, line+": has the words of the last call", strings.Contains(line, "No more tool calls"), false)
			}
		})
	}
}

func TestDefaultToolCalls(t *testing.T) {
	calls := slices.Repeat([]run.Part{toolCall("", "x", "{}")}, 101)
	got := mustRun(t, newAgent(t, play(untilFinal(calls...)), nil), human("go"))
	// Every call has its answer, the last one that it is one too many.
	told := results(got.Messages)
	check.Same(t, "stop reason, and results", []any{got.StopReason, len(told)}, []any{agent.StopMaxToolCalls, len(calls)})
	for i, content := range told {
		check.Equal(t, content+": refused", strings.Contains(content, "limit of 100 tool calls"), i == 100)
	}
}

func TestStubbornModel(t *testing.T) {
	// It asks for tools although it may not.
	model := play(func(context.Context, prompt) (*model.Response, error) {
		return replied(textPart("hm"), toolCall("", "x", "{}")), nil
	})
	got := mustRun(t, newAgent(t, model, &agent.Options{Limits: run.Limits{Turns: 1}}), human("go"))
	check.Same(t, "answer, reason and calls of the model", []any{got.Output, got.StopReason, len(model.prompts())},
		[]any{"hm", agent.StopMaxTurns, 2})
	check.Same(t, "last message", lines(got.Messages[len(got.Messages)-1:]), []string{`ai: "hm"`})
}

func slowly(s step) step {
	return func(ctx context.Context, p prompt) (*model.Response, error) {
		time.Sleep(time.Second)
		return s(ctx, p)
	}
}

// The time of a sub-agent counts once for the run that it works for.
func TestActiveOfSubAgents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := run.Limits{Active: time.Hour}
		helper := newAgent(t, play(slowly(says("ok"))), &agent.Options{Limits: limits})
		lead := play(slowly(uses(toolCall("1", "helper", `{"task":"x"}`))), slowly(says("done")))
		got := mustRun(t, boss(t, lead, sub(t, helper, agent.NewSubAgent), agent.Options{Limits: limits}), human("go"))
		check.Equal(t, "time at work", got.Usage.Active, 3*time.Second)
	})
}

// The time does not count in which all calls in progress wait for a person, who takes ten minutes.
func TestActiveWithoutWaits(t *testing.T) {
	late := func(ctx context.Context, q *run.Question) (run.Reply, error) {
		select {
		case <-time.After(10 * time.Minute):
			return q.Accept(map[string]any{"name": "Ann"})
		case <-ctx.Done():
			return run.Reply{}, ctx.Err()
		}
	}
	lateHost := mcp.ElicitationFunc(func(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		time.Sleep(10 * time.Minute)
		return answering("Ann")(ctx, p)
	})
	poll := func(questions int) run.Part { return toolCall("", "poll", fmt.Sprintf(`{"questions":%d}`, questions)) }
	work := func(seconds int) run.Part { return toolCall("", "work", fmt.Sprintf(`{"seconds":%d}`, seconds)) }
	reply, allow := agent.Person{Reply: late}, agent.Person{Approve: allowing(func(*approval.Request) { time.Sleep(10 * time.Minute) })}
	for name, tt := range map[string]struct {
		person agent.Person
		host   mcp.ElicitationHandler
		below  bool          // a sub-agent makes the calls
		leave  time.Duration // the caller leaves the run
		calls  []run.Part
		want   time.Duration
	}{
		"one call asks":               {person: reply, calls: []run.Part{poll(1)}},
		"twice at once":               {person: reply, calls: []run.Part{poll(2), work(40)}, want: 40 * time.Second},
		"two ask":                     {person: reply, calls: []run.Part{poll(1), poll(1)}},
		"one of two at a server asks": {person: reply, calls: []run.Part{poll(1), sleep("", 40)}, want: 40 * time.Second},
		"another works on":            {person: reply, calls: []run.Part{poll(1), work(660)}, want: 11 * time.Minute},
		"nobody replies":              {person: agent.Person{Hold: 10 * time.Minute}, calls: []run.Part{poll(1)}},
		"the host asks":               {host: lateHost, calls: []run.Part{poll(1)}},
		"the caller leaves":           {person: reply, leave: 5 * time.Minute, calls: []run.Part{poll(2), work(40)}, want: 40 * time.Second},
		"of a sub-agent":              {person: reply, below: true, calls: []run.Part{poll(1), work(40)}, want: 40 * time.Second},
		"before a sub-agent calls":    {person: allow, below: true, calls: []run.Part{work(40)}, want: 40 * time.Second},
		"before a function calls":     {person: allow, calls: []run.Part{toolCall("", "pass", `{"seconds":40}`)}, want: 40 * time.Second},
	} {
		synctestRun(t, name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if tt.leave > 0 {
				time.AfterFunc(tt.leave, cancel)
			}
			s := newServer()
			s.addTool("poll", pollNames)
			o := inEra(eras[0])
			o.ClientOptions.Elicitation = tt.host
			type seconds struct {
				Seconds int `json:"seconds"`
			}
			work := adapter.Func("work", "", func(_ context.Context, in seconds) (string, error) {
				time.Sleep(time.Duration(in.Seconds) * time.Second)
				return "done", nil
			}, nil)
			pass := adapter.Func("pass", "", func(ctx context.Context, in seconds) (string, error) {
				return work.Catalog(profile.Plain).Call(ctx, lcCall("x", "work", fmt.Sprintf(`{"seconds":%d}`, in.Seconds))).Text, nil
			}, nil)
			opts := agent.Options{
				Tools:          []adapter.Source{s.box(t, o), work, pass},
				ParallelWrites: true, Person: tt.person, Limits: run.Limits{Active: time.Minute}, Durable: agent.Durable{Store: record.NewMemory()},
			}
			a := newAgent(t, play(uses(tt.calls...), says("enough")), &opts)
			if tt.below {
				a = boss(t, play(uses(toolCall("1", "helper", `{"task":"x"}`)), says("enough")), sub(t, a, agent.NewSubAgent),
					agent.Options{Limits: opts.Limits, Durable: opts.Durable})
			}
			got, err := a.Run(ctx, human("go"), agent.WithRun(theRun.ID))
			if tt.leave > 0 { // the server may end the call before the run does
				active := stateOf(t, opts.Durable.Store, theRun).Spent.Active
				check.That(t, err == nil || errors.Is(err, context.Canceled), "got %v, want no error or context canceled", err)
				check.That(t, active <= tt.want, "time at work: got %v, want at most %v", active, tt.want)
				return
			}
			check.Must(t, err)
			stop := agent.StopOutput
			if tt.want > opts.Limits.Active {
				stop = agent.StopMaxActive
			}
			check.Same(t, "end, output and time at work", []any{got.StopReason, got.Output, got.Usage.Active}, []any{stop, "enough", tt.want})
		})
	}
}

func pollNames(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	var args struct{ Questions int }
	err := json.Unmarshal(r.Params.Arguments, &args)
	var all sync.WaitGroup
	for i := range args.Questions {
		all.Go(func() { _, _ = r.Session.Elicit(ctx, nameForm(fmt.Sprint("question ", i))) })
	}
	all.Wait()
	return text("polled"), err
}

// The time of a reply that is refused counts, too.
func TestActiveOfRefusedReply(t *testing.T) {
	for name, refused := range map[string]step{
		"too many calls": uses(slices.Repeat([]run.Part{toolCall("", "x", "{}")}, 4097)...),
		"too long":       says(strings.Repeat("long", 3<<20)),
	} {
		synctestRun(t, name, func(t *testing.T) {
			a := newAgent(t, play(slowly(refused)), &agent.Options{Limits: run.Limits{Active: time.Hour}})
			got, err := a.Run(t.Context(), human("go"))
			check.Fails(t, err)
			check.Equal(t, "time at work", got.Usage.Active, time.Second)
		})
	}
}

// A call that hangs does not hold the run longer than its function or its toolset says.
func TestCallLimits(t *testing.T) {
	hangs := func(limit time.Duration) adapter.Source {
		return adapter.Func("sleep", "", func(ctx context.Context, _ struct {
			Seconds int `json:"seconds"`
		}) (string, error) {
			select {
			case <-ctx.Done():
				return "", ctx.Err()
			case <-time.After(2 * time.Hour):
				return "woken", nil
			}
		}, &adapter.FuncOptions{Options: &adapter.Options{Policy: adapter.Policy{CallTimeout: limit, Repeat: isHarmless}}})
	}
	server := func(p adapter.Policy) func(*testing.T) adapter.Source {
		return func(t *testing.T) adapter.Source { toolset, _ := open(t, &adapter.Options{Policy: p}); return toolset }
	}
	for name, tt := range map[string]struct {
		open func(*testing.T) adapter.Source
		want time.Duration
		text string
	}{
		"a function":              {func(*testing.T) adapter.Source { return hangs(time.Hour) }, time.Hour, "no answer in time"},
		"a function without":      {func(*testing.T) adapter.Source { return hangs(0) }, 2 * time.Hour, "woken"},
		"a server":                {server(adapter.Policy{CallTimeout: time.Hour}), time.Hour, "no answer within 1h0m0s"},
		"a server that is silent": {server(adapter.Policy{IdleTimeout: time.Minute}), time.Minute, "neither an answer nor progress within 1m0s"},
	} {
		synctestRun(t, name, func(t *testing.T) {
			start := time.Now()
			got := mustRun(t, newAgent(t, play(uses(sleep("1", 1<<20)), says("done")), &agent.Options{Tools: []adapter.Source{tt.open(t)}}), human("go"))
			check.Equal(t, "took", time.Since(start), tt.want)
			check.Contains(t, "what the model is told", results(got.Messages)[0], tt.text)
		})
	}
}

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
	return boss(t, play(r.step(6, "read", "helper")), sub(t, helper, agent.NewSubAgent), opts)
}

// step calls one tool after the other in so many turns, and reports fewer tokens than there are bytes for two.
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
		reply.Usage = run.Usage{Input: int64(len(fmt.Sprint(text)) / 4), Output: 300, Reasoning: 7}
		return reply, err
	}
}

// compact leaves out the first turn once the model has counted enough.
func (r *reader) compact(_ context.Context, h []run.Message, b compact.Budget) (*compact.Result, error) {
	r.notes = append(r.notes, fmt.Sprintf("%d tokens", b.Tokens))
	if b.Tokens < 8500 || len(h) < 3 {
		return nil, nil
	}
	return &compact.Result{Replaced: 3, Messages: h[:1]}, nil
}

// A run ends at the same limit, at the same turn, and is compacted at the same turns, if each of its steps is of another process.
func TestLimitsInOtherProcesses(t *testing.T) {
	ends := map[string]bool{}
	step := testenv.Pick[int64](3000, 1000)
	for limit := step; limit <= 120_000; limit += step {
		limits := run.Limits{Tokens: limit}
		one, others := &reader{limits: limits}, &reader{limits: limits}
		allows := func(_ context.Context, q *run.Question) (run.Reply, error) { return q.Allow(), nil }
		got, err := one.agent(t, agent.Options{Person: agent.Person{Reply: allows}}).Run(t.Context(), human("go"))
		if limit == 30_000 {
			check.Same(t, "a run by what was counted", one.notes, []string{
				"0 tokens", "at most 8192", // lead reads
				"2802 tokens", "at most 8192", // and calls the helper
				"0 tokens", "at most 8192",
				"2802 tokens", "at most 6605", // beside what the lead's last call took
				"5310 tokens", "at most 2691",
				"7818 tokens", "at most 5037", // the helper's last call
				"2811 tokens", "at most 2502",
				"5323 tokens", "at most 179",
			})
		}
		want := fmt.Sprint(got.StopReason, got.Usage.Total, err)

		store := agent.Options{Durable: agent.Durable{Store: record.NewMemory()}}
		got, err = others.agent(t, store).Run(t.Context(), human("go"), agent.WithRun(theRun.ID))
		for err == nil && got.Status == run.StatusWaiting {
			got, err = others.agent(t, store).Resume(t.Context(), theRun, got.Questions[0].Allow())
		}
		check.Same(t, fmt.Sprint("limit ", limit), fmt.Sprint(got.StopReason, got.Usage.Total, err), want)
		check.Same(t, fmt.Sprint("limit ", limit), others.notes, one.notes)
		if err != nil && strings.Contains(err.Error(), tooLittle) {
			ends["no answer fits"] = true
		}
		ends[string(got.StopReason)] = true
	}
	for _, end := range []string{"answer", "max_tokens", "no answer fits"} {
		check.Equal(t, "a run ended so: "+end, ends[end], true)
	}
}

// A compactor is told nothing that the agent has estimated of the calls of a model that does not count.
func TestBudgetOfAnUncountedModel(t *testing.T) {
	var told []compact.Budget
	note := func(_ context.Context, _ []run.Message, b compact.Budget) (*compact.Result, error) {
		told = append(told, b)
		if len(told) == 2 {
			return &compact.Result{Replaced: 1, Messages: []run.Message{run.Text(run.RoleUser, strings.Repeat("go ", 100))}}, nil
		}
		return nil, nil
	}
	opts := &agent.Options{Limits: run.Limits{Tokens: 50_000, Turns: 4}, Compact: note}
	mustRun(t, newAgent(t, play(untilFinal(toolCall("", "x", "{}"))), opts), human("go"))
	check.Same(t, "budgets", told, make([]compact.Budget, 5))
}
