package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
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
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// task is a tool that a run has to find.
type task struct{ server, name, about string }

// tasks are tools among many others.
var tasks = []task{
	{"mail", "send_letter", "Sends a letter to a person."}, {"calendar", "book_room", "Books a meeting room."},
	{"bank", "pay_invoice", "Pays an invoice."}, {"weather", "forecast", "Tells the weather of a city."},
	{"files", "rename_file", "Renames a file."},
}

// function is a tool that keeps a record of its calls.
func function(t task, calls *[]string) adapter.Source {
	return adapter.Func(t.name, t.about, func(_ context.Context, in struct {
		Text string `json:"text,omitzero"`
	}) (string, error) {
		*calls = append(*calls, t.server+"."+t.name+" "+in.Text)
		return "did " + t.name, nil
	}, &adapter.FuncOptions{Server: t.server, Options: &adapter.Options{Policy: adapter.Policy{Repeat: isHarmless}}})
}

func isHarmless(*mcp.Tool) bool { return true }

// manyTools are the tasks among 300 other tools, at 30 servers.
func manyTools(calls *[]string) (all []adapter.Source) {
	for i := range 300 {
		all = append(all, valve(i, calls))
		if i%60 == 30 {
			all = append(all, function(tasks[i/60], calls))
		}
	}
	return all
}

// valve is a tool that no task needs.
func valve(i int, calls *[]string) adapter.Source {
	return function(task{fmt.Sprintf("plant%d", i/10), fmt.Sprintf("read_valve_%d", i), fmt.Sprintf("Reads the pressure at valve %d of the plant.", i)}, calls)
}

func find(id, query string) run.Part {
	return toolCall(id, "search_tools", fmt.Sprintf(`{"query":%q,"limit":1}`, query))
}

// TestDiscovery holds that a model that has many tools searches, and has what it found from then on, in that order.
func TestDiscovery(t *testing.T) {
	var calls []string
	m := play(
		uses(find("1", "pay an invoice")), uses(toolCall("2", "pay_invoice", `{"text":"7"}`)),
		uses(find("3", "weather"), find("4", "invoices")), uses(toolCall("5", "Forecast", `{}`)), says("done"),
	)
	result := mustRun(t, newAgent(t, m, &agent.Options{System: "Be brief.", Tools: manyTools(&calls)}), human("go"))
	check.Same(t, "calls", calls, []string{"bank.pay_invoice 7", "weather.forecast "})
	want := [][]string{{"search_tools"}, {"search_tools", "pay_invoice"}, {"search_tools", "pay_invoice"}, {"search_tools", "pay_invoice", "forecast"}, {"search_tools", "pay_invoice", "forecast"}}
	for i, p := range m.prompts() {
		check.Same(t, fmt.Sprint("tools of turn ", i+1), p.Tools(), want[i])
		check.Equal(t, fmt.Sprint("instructions of turn ", i+1), p.Request.System, m.prompts()[0].Request.System)
	}
	check.Same(t, "results", results(result.Messages), []string{
		"You have these tools now:\n- pay_invoice (bank): Pays an invoice.", "did pay_invoice",
		"You have these tools now:\n- forecast (weather): Tells the weather of a city.", "You have these already: pay_invoice", "did forecast",
	})
	for _, want := range []string{"Be brief.\n\nYou have more tools", "\n- bank (1)", "\n- plant29 (10)"} {
		check.Contains(t, "instructions", m.prompts()[0].Request.System, want)
	}
}

// TestDiscoveryByCalling holds that the tools of a request never change if the model calls by one
// tool, and that events, questions and approvals are about the tool that it means.
func TestDiscoveryByCalling(t *testing.T) {
	var calls, asked, events []string
	m := play(
		uses(find("1", "pay an invoice")), uses(toolCall("2", "call_tool", `{"name":"pay_invoice","arguments":{"text":"7"}}`)),
		uses(toolCall("3", "call_tool", `{"name":"pay_invoice","arguments":"{\"text\":\"8\"}"}`), toolCall("4", "call_tool", `{"name":"forecast"}`),
			toolCall("5", "call_tool", `7`), toolCall("6", "call_tool", `{"name":"call_tool"}`), toolCall("7", "call_tool", `{"name":"pay_invoice","arguments":{"text":[]}}`)),
		says("done"),
	).as(model.Info{ToolsFirst: true})
	a := newAgent(t, m, &agent.Options{
		Tools:    manyTools(&calls),
		Discover: agent.Discover{Always: func(t *adapter.Tool) bool { return t.Name() == "send_letter" }},
		Person: agent.Person{Approve: allowing(func(q *approval.Request) {
			asked = append(asked, fmt.Sprintf("%s %s %s", q.Server, q.Name, q.Arguments))
		})},
	})
	all, result := played(t, a.Events(t.Context(), human("go")))
	for _, e := range of[*agent.ToolStart](all) {
		events = append(events, e.Name+" "+e.Server+"."+e.Tool+" "+e.Arguments)
	}
	check.Same(t, "calls", calls, []string{"bank.pay_invoice 7", "bank.pay_invoice 8"})
	check.Same(t, "asked", asked, []string{`bank pay_invoice {"text":"7"}`, `bank pay_invoice {"text":"8"}`})
	check.Same(t, "events", events, []string{
		`search_tools discovery.search_tools {"query":"pay an invoice","limit":1}`, `pay_invoice bank.pay_invoice {"text":"7"}`, `pay_invoice bank.pay_invoice {"text":"8"}`,
	})
	for i, p := range m.prompts() {
		check.Same(t, fmt.Sprint("tools of turn ", i+1), p.Tools(), []string{"search_tools", "call_tool", "send_letter"})
	}
	said := results(result.Messages)
	for i, want := range []string{
		"Call these by call_tool:\n{\"name\":\"pay_invoice\",\"server\":\"bank\",\"description\":\"Pays an invoice.\",\"parameters\":{", "did pay_invoice", "did pay_invoice",
		`Error: you have no tool "forecast"; find it by search_tools first`, `Error: you have no tool "call_tool"`, `Error: you have no tool "call_tool"`, "Error: ",
	} {
		check.Equal(t, fmt.Sprint("result ", i+1), said[i][:min(len(said[i]), len(want))], want)
	}
	for _, m := range result.Messages {
		for _, p := range m.Parts {
			check.That(t, p.Type != run.PartResult || p.ID == "1" || p.Name == "call_tool",
				"the result %s is of %q, want call_tool, which was called", p.ID, p.Name)
		}
	}
}

// The model reads the definition of a tool as its server wrote it, without HTML escapes.
func TestDiscoveryShowsText(t *testing.T) {
	swap := adapter.Func("swap", "Swaps a & b if a < b.", func(context.Context, struct{}) (string, error) { return "", nil }, nil)
	a := newAgent(t, play(uses(find("1", "swap")), says("done")).as(model.Info{ToolsFirst: true}), &agent.Options{
		Tools: []adapter.Source{swap}, Discover: agent.Discover{Threshold: 1e-9},
	})
	check.Contains(t, "result", results(mustRun(t, a, human("go")).Messages)[0], "Swaps a & b if a < b.")
}

// TestListedTools holds that functions that say so are offered from the beginning, and a host decides otherwise.
func TestListedTools(t *testing.T) {
	listed := adapter.Func("load_skill", "Reads a skill.", func(context.Context, struct{}) (string, error) { return "", nil }, &adapter.FuncOptions{AlwaysOffered: true})
	for _, tt := range []struct {
		always func(*adapter.Tool) bool
		want   []string
	}{
		{nil, []string{"search_tools", "load_skill"}},
		{func(t *adapter.Tool) bool { return t.Server() == "bank" }, []string{"search_tools", "pay_invoice"}},
	} {
		m := play(says("done"))
		mustRun(t, newAgent(t, m, &agent.Options{Tools: append(manyTools(new([]string)), listed), Discover: agent.Discover{Always: tt.always}}),
			human("go"))
		check.Same(t, "tools", m.prompts()[0].Tools(), tt.want)
	}
}

// TestDirectory holds what a model is told of the tools that there are.
func TestDirectory(t *testing.T) {
	shop := &server{Server: sdk.NewServer(&sdk.Implementation{Name: "x", Title: "Orders\n- bank (9)", Version: "1"}, nil)}
	for _, name := range []string{"order", "cancel"} {
		shop.AddTool(&sdk.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`), Meta: sdk.Meta{"io.modelcontextprotocol/groups": []any{"buying \"tea\"", name}}}, count)
	}
	toolset := openAll(t, nil, adapter.Server{Name: "shop", Transport: shop.connect(t)})
	m := play(says("done"))
	mustRun(t, newAgent(t, m,
		&agent.Options{Tools: []adapter.Source{toolset, function(tasks[2], new([]string))}, Discover: agent.Discover{Threshold: 1e-6}}), human("go"))
	_, got, _ := strings.Cut(m.prompts()[0].Request.System, "gives no permission):")
	check.Same(t, "directory", got, "\n- shop (2): \"Orders - bank (9)\"; groups \"buying \\\"tea\\\"\", \"cancel\", \"order\"\n- bank (1)")
}

// A tool that was not found cannot be called, whatever its name, and the model is told no names of others.
func TestUnfoundTool(t *testing.T) {
	for _, by := range []agent.DiscoveryMode{agent.DiscoveryNative, agent.DiscoveryCall, agent.DiscoveryProvider} {
		var calls []string
		m := play(uses(toolCall("1", "pay_invoice", `{}`), toolCall("2", "no_such_tool", `{}`), toolCall("3", " PAY_INVOICE", `{}`), toolCall("4", "read_valve_7", `{}`)), says("done"))
		result := mustRun(t, newAgent(t, m, &agent.Options{Tools: manyTools(&calls), Discover: agent.Discover{Mode: by}}), human("go"))
		check.Same(t, "calls", calls, []string(nil))
		for _, text := range results(result.Messages) {
			check.That(t, strings.Contains(text, "find it by search_tools first") && !strings.Contains(text, "valve_8"), "got %q", text)
		}
	}
}

// TestFewTools holds that a model with few tools has all of them, and that the option decides.
func TestFewTools(t *testing.T) {
	for _, tt := range []struct {
		tools    int
		discover agent.Discover
		window   int64
		searches bool
	}{
		{8, agent.Discover{}, 0, false}, {8, agent.Discover{}, 4_000, false},
		{8, agent.Discover{Threshold: 0.05}, 4_000, true}, {100, agent.Discover{}, 4_000, true},
		{300, agent.Discover{}, 0, true}, {300, agent.Discover{}, 1_000_000, false},
		{300, agent.Discover{Threshold: -1}, 0, false}, {300, agent.Discover{Threshold: 1}, 0, false},
		{8, agent.Discover{Threshold: 1e-6}, 0, true},
	} {
		m := play(says("done")).as(model.Info{Window: tt.window})
		mustRun(t, newAgent(t, m, &agent.Options{Tools: manyTools(new([]string))[:tt.tools], Discover: tt.discover}), human("go"))
		check.Equal(t, fmt.Sprintf("%+v: searches", tt), slices.Contains(m.prompts()[0].Tools(), "search_tools"), tt.searches)
	}
	for _, bad := range []agent.Discover{{Threshold: 2}, {Mode: "magic"}} {
		check.Text(t, check.Err(agent.New(play(says("")), &agent.Options{Discover: bad})), "Discover", bad)
	}
}

// TestSearches holds what a search answers.
func TestSearches(t *testing.T) {
	all := append(manyTools(new([]string)), function(task{"shop", "Search_Tools", "Finds hammers in the shop."}, new([]string)))
	for query, want := range map[string]string{
		`{"query":"hammers"}`:                              "You have these tools now:\n- Search_Tools_2 (shop): Finds hammers in the shop.",
		`{"query":"select:pay_invoice, FORECAST,nothing"}`: "You have these tools now:\n- pay_invoice (bank): Pays an invoice.\n- forecast (weather): Tells the weather of a city.",
		`{"query":"file","server":"bank"}`:                 "No tool fits",
		`{"query":"zzz"}`:                                  "No tool fits",
		`{"server":"bank"}`:                                "Its tools are these; search_tools with select: and names adds them:\n- pay_invoice",
		`{"server":"nobody"}`:                              "There is no such server.",
		`{}`:                                               "Error: say what the tool should do",
		`{"query":"` + strings.Repeat("x", 1025) + `"}`:    "Error: query is longer",
		`{"query":"valve","limit":11}`:                     "Error: ",
	} {
		m := play(uses(toolCall("1", "search_tools", query)), says("done"))
		got := results(mustRun(t, newAgent(t, m, &agent.Options{Tools: all}), human("go")).Messages)[0]
		check.Equal(t, query, got[:min(len(got), len(want))], want)
	}
}

// TestOfferedBound holds that a conversation takes 100 tools, and says so.
func TestOfferedBound(t *testing.T) {
	var steps []step
	for i := range 11 {
		steps = append(steps, uses(toolCall(fmt.Sprint(i), "search_tools", fmt.Sprintf(`{"query":"valve","server":"plant%d","limit":10}`, i))))
	}
	m := play(append(steps, says("done"))...)
	result := mustRun(t, newAgent(t, m, &agent.Options{Tools: manyTools(new([]string))}), human("go"))
	check.Equal(t, "tools", len(m.prompts()[11].Tools()), 1+ledger.MaxOffered)
	check.Contains(t, "the last search", results(result.Messages)[10], "no more than 100 tools")
}

// TestRank holds that the order of a host is merged with ours, and never adds a tool.
func TestRank(t *testing.T) {
	stranger := function(task{"evil", "wipe", "Wipes."}, new([]string)).Catalog(profile.OpenAI).Tools()[0]
	type ranking = func(context.Context, string, []*adapter.Tool) ([]*adapter.Tool, error)
	letters := func(_ context.Context, _ string, all []*adapter.Tool) ([]*adapter.Tool, error) {
		i := slices.IndexFunc(all, func(t *adapter.Tool) bool { return t.Name() == "send_letter" })
		return []*adapter.Tool{stranger, all[i], all[i], stranger}, nil
	}
	for name, tt := range map[string]struct {
		rank    ranking
		want    string
		warning bool
	}{
		"its own": {letters, "- send_letter (mail)", false},
		"an error": {func(context.Context, string, []*adapter.Tool) ([]*adapter.Tool, error) {
			return nil, errors.New("down")
		}, "- pay_invoice (bank)", true},
		"a panic":   {func(context.Context, string, []*adapter.Tool) ([]*adapter.Tool, error) { panic("x") }, "- pay_invoice (bank)", true},
		"no result": {func(context.Context, string, []*adapter.Tool) ([]*adapter.Tool, error) { return nil, nil }, "- pay_invoice (bank)", false},
	} {
		m := play(uses(toolCall("1", "search_tools", `{"query":"invoices","limit":2}`)), says("done"))
		result := mustRun(t, newAgent(t, m, &agent.Options{Tools: manyTools(new([]string)), Discover: agent.Discover{Rank: tt.rank}}), human("go"))
		got := results(result.Messages)[0]
		check.That(t, strings.Contains(got, tt.want) && !strings.Contains(got, "wipe"), "%s: got %q, want %q", name, got, tt.want)
		check.Equal(t, name+": warned", len(result.Warnings) > 0, tt.warning)
	}
}

// TestDiscoveryStays holds that a run continues as it began: after a compaction, with another window, and with a new input.
func TestDiscoveryStays(t *testing.T) {
	m := play(uses(find("1", "invoices")), says("done"), says("done again"))
	shorten := func(_ context.Context, messages []run.Message, _ compact.Budget) (*compact.Result, error) {
		if len(messages) < 3 {
			return nil, nil
		}
		return &compact.Result{Replaced: len(messages), Messages: []run.Message{run.Text(run.RoleUser, "All was said.")}}, nil
	}
	opts := agent.Options{Tools: manyTools(new([]string)), Durable: agent.Durable{Store: record.NewMemory()}, Compact: shorten}
	result := mustRun(t, newAgent(t, m, &opts), human("go"), agent.WithRun("r"))
	opts.Discover.Threshold = -1
	mustRun(t, newAgent(t, m, &opts), human("again"), agent.WithRun("r"))
	for i, want := range [][]string{{"search_tools"}, {"search_tools", "pay_invoice"}, {"search_tools", "pay_invoice"}} {
		check.Same(t, fmt.Sprint("tools of turn ", i+1), m.prompts()[i].Tools(), want)
	}
	check.Equal(t, "something was compacted", agent.Inside(result.State).Archived > 0, true)
}

// TestSubAgentFinds holds that a sub-agent has a set of its own.
func TestSubAgentFinds(t *testing.T) {
	var calls []string
	below := play(uses(find("1", "invoices")), uses(toolCall("2", "pay_invoice", `{}`)), says("paid"))
	sub := check.Value(agent.NewSubAgent(newAgent(t, below, &agent.Options{Tools: manyTools(&calls)}), "payer", "Pays what is to be paid."))(t)
	m := play(uses(find("1", "a payer")), uses(toolCall("2", "payer", `{"task":"pay"}`), toolCall("3", "pay_invoice", `{}`)), says("done"))
	result := mustRun(t, newAgent(t, m, &agent.Options{Tools: append(manyTools(new([]string)), sub)}), human("go"))
	check.Same(t, "calls", calls, []string{"bank.pay_invoice "})
	check.Same(t, "tools below", below.prompts()[2].Tools(), []string{"search_tools", "pay_invoice"})
	check.Same(t, "tools above", m.prompts()[2].Tools(), []string{"search_tools", "payer"})
	check.Equal(t, "result of the sub-agent", results(result.Messages)[1], "paid")
	check.Contains(t, "result of its tool above", results(result.Messages)[2], "find it by search_tools")
}

// searching is a model that searches twice, calls what it finds, has a long result kept and reads
// in it. It goes by the history alone, so it is the same in each process.
func searching(seen *[]prompt) agent.Model {
	steps := [][]run.Part{
		{find("1", "pay an invoice")}, {toolCall("2", "pay_invoice", `{"text":"7"}`)}, {find("3", "export all items"), toolCall("4", "pay_invoice", `{"text":"8"}`)},
		{toolCall("5", "export", `{}`)}, {toolCall("6", "read_result", `{"handle":%q,"pointer":"/items/500/note"}`)},
	}
	return instant{func(ctx context.Context, p prompt) (*model.Response, error) {
		*seen = append(*seen, p)
		turn := 0
		for _, m := range p.Request.Messages {
			if m.Role == run.RoleAssistant {
				turn++
			}
		}
		if turn == len(steps) {
			return says("done")(ctx, p)
		}
		calls := slices.Clone(steps[turn])
		if calls[0].Name == "read_result" {
			said := results(p.Request.Messages)
			calls[0].Arguments = fmt.Sprintf(calls[0].Arguments, handleIn(said[len(said)-1]))
		}
		return uses(calls...)(ctx, p)
	}}
}

// A run with two searches and a kept result that ends with its process continues in another one with the same request to the
// byte, and the same bytes of the result, whatever the store, and whether the first process dies before or after a write.
func TestDiscoveryAtEveryBoundary(t *testing.T) {
	tools := adapter.Merge(append(manyTools(new([]string)), exporting(1000))...)
	for name, open := range everyStore {
		step := testenv.Step(3)
		if name == "memory" {
			step = 1
		}
		t.Run(name, func(t *testing.T) {
			for _, by := range []agent.DiscoveryMode{agent.DiscoveryCall, agent.DiscoveryProvider} { // native is as the second, with less
				want, writes := searched(t, open(t), &dying{}, by, tools)
				check.Require(t, strings.Contains(want, "did pay_invoice") && strings.Contains(want, `\"the answer\"`) && writes >= 12,
					"got the request %s after %d writes", want, writes)
				for at := 1; at <= writes; at += step {
					for _, keep := range []bool{false, true} {
						t.Run(fmt.Sprintf("%s/%d/%v", by, at, keep), func(t *testing.T) { // which closes its store
							got, _ := searched(t, open(t), &dying{at: at, keep: keep}, by, tools)
							check.Same(t, "the last request", got, want)
						})
					}
				}
			}
		})
	}
}

// searched is the last request of a run whose first process dies, and its writes. The next one would not search by itself.
func searched(t *testing.T, store record.Store, first *dying, by agent.DiscoveryMode, tools adapter.Source) (request string, writes int) {
	t.Helper()
	var seen []prompt
	survives(t, store, first, func(store record.Store, log *record.Log) *agent.Agent {
		opts := &agent.Options{Durable: agent.Durable{Store: store}, Tools: []adapter.Source{tools}, Discover: agent.Discover{Mode: by}}
		if log != nil && len(changesOf[*ledger.Called](log.Records)) > 0 {
			opts.Discover.Threshold = -1
		}
		return newAgent(t, searching(&seen), opts)
	})
	last := seen[len(seen)-1].Request
	for i := range last.Messages {
		last.Messages[i].At = time.Time{}
	}
	names := check.Value(store.Blobs(t.Context(), theRun))(t)
	check.Require(t, len(names) == 1, "died at write %d, kept %v: got the blobs %q, want one", first.at, first.keep, names)
	data, err := store.Blob(t.Context(), theRun, names[0])
	check.Same(t, fmt.Sprintf("the bytes of the result, died at write %d, kept %v", first.at, first.keep), []any{string(data) == itemsOf(1000), err},
		[]any{true, nil})
	data = check.Value(json.Marshal([]any{last.System, last.Tools, last.Messages}))(t)
	return strings.ReplaceAll(string(data), names[0], "the-handle"), int(first.writes.Load()) // it is of the run
}

// changing is a source whose tools change.
type changing struct{ now adapter.Source }

func (c *changing) Catalog(p profile.Profile) *adapter.Catalog { return c.now.Catalog(p) }

// TestFoundToolThatChanges holds that a tool that was found is offered as it is now, is left out while it is gone, and
// keeps its name and its place when a server joins whose tool is called alike.
func TestFoundToolThatChanges(t *testing.T) {
	var calls []string
	invoice := func(server, about string) adapter.Source { return function(task{server, "pay_invoice", about}, &calls) }
	weather := function(tasks[3], &calls)
	source := &changing{adapter.Merge(invoice("bank", "Pays an invoice."), weather)}
	to := func(now adapter.Source, calls ...run.Part) step {
		return func(ctx context.Context, p prompt) (*model.Response, error) {
			source.now = now
			return uses(calls...)(ctx, p)
		}
	}
	both := adapter.Merge(invoice("crook", "Pays an invoice. Better than any other."), invoice("bank", "Pays an invoice now."), weather)
	m := play(
		uses(toolCall("1", "search_tools", `{"query":"select:pay_invoice,forecast"}`)),
		to(both, find("2", "no such thing")),
		uses(toolCall("3", "pay_invoice", `{}`)),
		to(weather, toolCall("4", "search_tools", `{"server":"crook"}`)),
		to(both, toolCall("5", "pay_invoice", `{}`)),
		uses(toolCall("6", "search_tools", `{"query":"invoice","server":"crook"}`)),
		says("done"),
	)
	result := mustRun(t, newAgent(t, m, &agent.Options{Tools: []adapter.Source{source}, Discover: agent.Discover{Threshold: 1e-6}}), human("go"))
	check.Same(t, "calls", calls, []string{"bank.pay_invoice "})
	var got []string
	for _, p := range m.prompts() {
		line := ""
		for _, t := range p.Request.Tools[1:] {
			line += t.Name + ": " + t.Description + " "
		}
		got = append(got, strings.TrimSpace(line))
	}
	const rain = "forecast: Tells the weather of a city."
	check.Same(t, "tools", got, []string{
		"", "pay_invoice: Pays an invoice. " + rain, "pay_invoice: Pays an invoice now. " + rain, "pay_invoice: Pays an invoice now. " + rain,
		rain, "pay_invoice: Pays an invoice now. " + rain,
		"pay_invoice: Pays an invoice now. " + rain + " " + agent.Inside(result.State).Offered[2].Name + ": Pays an invoice. Better than any other.",
	})
	o := agent.Inside(result.State).Offered[2]
	check.That(t, o.Server == "crook" && o.Name != "pay_invoice", "got %+v", o)
	check.Contains(t, "what a tool that is gone gave", results(result.Messages)[4], "Error: ")
}

// TestOutputAmongManyTools holds that the tool of a structured answer is there without a search, also at a limit.
func TestOutputAmongManyTools(t *testing.T) {
	for _, by := range []agent.DiscoveryMode{agent.DiscoveryNative, agent.DiscoveryCall} {
		m := play(uses(find("1", "weather")), uses(toolCall("2", "final_answer", `{"city":"Rome"}`)))
		a := newAgent(t, m, &agent.Options{Tools: manyTools(new([]string)), Discover: agent.Discover{Mode: by}, Limits: run.Limits{Turns: 1}})
		type answer struct {
			City string `json:"city"`
		}
		got, _, err := agent.RunAs[answer](t.Context(), a, human("go"))
		check.Same(t, string(by)+": answer", []any{got.City, err}, []any{"Rome", nil})
		check.Equal(t, string(by)+": it may answer at first", slices.Contains(m.prompts()[0].Tools(), "final_answer"), true)
		check.Same(t, string(by)+": tools at the limit", m.prompts()[1].Tools(), []string{"final_answer"})
	}
}

// A compaction before the first call, which a model has summarized, does not keep the model from a search.
func TestDiscoverAfterACompaction(t *testing.T) {
	m := play(says("done"))
	summarizes := func(context.Context, []run.Message, compact.Budget) (*compact.Result, error) {
		return &compact.Result{Usage: run.Usage{Turns: 1}}, nil
	}
	a := newAgent(t, m, &agent.Options{
		Tools: []adapter.Source{serverTool("north", "weather", "Tells the weather.")}, Discover: agent.Discover{Threshold: 1e-9}, Compact: summarizes,
	})
	mustRun(t, a, human("go"))
	check.Equal(t, "the first tool", m.prompts()[0].Request.Tools[0].Name, "search_tools")
}
