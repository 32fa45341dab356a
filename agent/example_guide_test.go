package agent_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/compact"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/price"
)

// The examples of docs/agent.md, with models that play a script.

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

func ExampleNew() {
	model := play(uses(toolCall("1", "today", `{}`), toolCall("2", "forecast", `{"city":"Oslo"}`)), says("Take sunglasses."))

	ctx := context.Background()
	toolset := must(adapter.Open(ctx, []adapter.Server{{Name: "weather", Transport: weather()}}, nil))
	defer toolset.Close()
	today := adapter.Func("today", "Tells the day of the week.", func(context.Context, struct{}) (string, error) {
		return "Sunday", nil
	}, &adapter.FuncOptions{ReadOnly: true})
	a := must(agent.New(model, &agent.Options{Tools: []adapter.Source{toolset, today}}))
	result := must(a.Run(ctx, agent.Text("What do I need in Oslo today?")))
	fmt.Println(result.Output)
	// Output: Take sunglasses.
}

// payment is a tool that needs approval.
func payment() adapter.Source {
	type bill struct {
		Number int `json:"number"`
	}
	return adapter.Func("pay", "Pays a bill.", func(_ context.Context, b bill) (string, error) {
		return fmt.Sprintf("Bill %d is paid.", b.Number), nil
	}, nil)
}

func ExampleOptions_serverInstructions() {
	ctx := context.Background()
	model := play(says("Take sunglasses."))

	toolset := must(adapter.Open(ctx, []adapter.Server{{Name: "weather", Transport: weather()}}, nil))
	defer toolset.Close()
	a := must(agent.New(model, &agent.Options{
		System:             "Be brief.",
		Tools:              []adapter.Source{toolset},
		ServerInstructions: func(label string) bool { return label == "weather" },
	}))
	result := must(a.Run(ctx, agent.Text("What do I need in Oslo?")))
	fmt.Println(result.Output)
	// Output: Take sunglasses.
}

func ExampleAskPerson() {
	ctx := context.Background()
	model := play(uses(toolCall("1", "pay", `{"number":17}`)), says("Done."))

	a := must(agent.New(model, &agent.Options{
		Tools: []adapter.Source{payment()},
		Person: agent.Person{Approve: agent.AskPerson, Reply: func(_ context.Context, q *run.Question) (run.Reply, error) {
			fmt.Printf("May %s run with %s?\n", q.Tool, q.Arguments)
			return q.Allow(), nil // or q.Deny("too expensive"), for example
		}},
	}))
	result := must(a.Run(ctx, agent.Text("Pay bill 17.")))
	fmt.Println(result.Output)
	// Output:
	// May pay run with {"number":17}?
	// Done.
}

func ExampleAskPerson_scope() {
	ctx := context.Background()
	model := play(uses(toolCall("1", "pay", `{"number":17}`)), uses(toolCall("2", "pay", `{"number":18}`)), says("Done."))

	a := must(agent.New(model, &agent.Options{
		Tools: []adapter.Source{payment()},
		Person: agent.Person{Approve: agent.AskPerson, Reply: func(_ context.Context, q *run.Question) (run.Reply, error) {
			fmt.Printf("May %s run with %s, and later with others?\n", q.Tool, q.Arguments)
			answer := q.Allow()
			answer.Scope = run.ScopeTool
			return answer, nil
		}},
	}))
	result := must(a.Run(ctx, agent.Text("Pay bills 17 and 18.")))
	fmt.Println(result.Usage.Calls, "calls")
	// Output:
	// May pay run with {"number":17}, and later with others?
	// 2 calls
}

func ExampleWithLimits() {
	ctx := context.Background()
	model := play(uses(toolCall("1", "pay", `{"number":17}`)), says("Bill 17 is paid, and I did not get to bill 18."))

	a := must(agent.New(model, &agent.Options{
		Tools:  []adapter.Source{payment()},
		Limits: run.Limits{Turns: 10, Tokens: 200_000},
	}))
	result := must(a.Run(ctx, agent.Text("Pay bills 17 and 18."), agent.WithLimits(run.Limits{Turns: 1})))
	fmt.Println(result.StopReason)
	fmt.Println(result.Output)
	// Output:
	// max_turns
	// Bill 17 is paid, and I did not get to bill 18.
}

func ExampleFallback() {
	ctx := context.Background()
	large := play(func(context.Context, prompt) (*model.Response, error) {
		return nil, &model.Error{Kind: model.ErrorRateLimit, Retried: true, Err: errors.New("too many requests")}
	}).called("large")
	small := play(says("42.")).called("small")

	a := must(agent.New(agent.Fallback(large, small), nil))
	result := must(a.Run(ctx, agent.Text("What is 6 by 7?")))
	fmt.Println(result.Messages[1].Model, "says:", result.Output)
	fmt.Println(result.Warnings[0].Text)
	// Output:
	// small says: 42.
	// model large failed, so small was asked: too many requests
}

func ExampleOptions_prices() {
	ctx := context.Background()
	model := play(func(context.Context, prompt) (*model.Response, error) {
		return &model.Response{Message: run.Text(run.RoleAssistant, "42."), Usage: run.Usage{Input: 1000, Output: 500}}, nil
	}).called("gpt-5-mini")

	a := must(agent.New(model, &agent.Options{
		Model: agent.ModelSettings{Prices: &price.Table{
			Date:   "2026-11-22", // when they were looked up
			Models: []price.Price{{Model: "gpt-5-mini*", Currency: "USD", Input: 250_000, Cached: 25_000, Output: 2_000_000}},
		}},
		Limits: run.Limits{Cost: map[string]int64{"USD": 50_000}}, // 0.05 USD
	}))
	result := must(a.Run(ctx, agent.Text("What is 6 by 7?")))
	fmt.Println(result.Output, result.Usage.Cost["USD"], "millionths of a dollar")
	// Output: 42. 1250 millionths of a dollar
}

func ExampleRunAs() {
	ctx := context.Background()
	model := play(uses(toolCall("1", "final_answer", `{"number":17,"due":"2027-05-01"}`)))
	a := must(agent.New(model, nil))

	type bill struct {
		Number int    `json:"number"`
		Due    string `json:"due" jsonschema:"A date, such as 2027-01-31"`
	}
	got, result, err := agent.RunAs[bill](ctx, a, agent.Text("Read this: bill 17, to be paid on 1 May 2027"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(got.Number, got.Due, result.Status)
	// Output: 17 2027-05-01 done
}

func ExampleNewSubAgent() {
	ctx := context.Background()
	readerModel := play(says("It says: pay bill 17."))
	model := play(uses(toolCall("1", "reader", `{"task":"Read the letter."}`)), says("You have to pay bill 17."))

	reader := must(agent.New(readerModel, &agent.Options{Name: "reader"}))
	tool := must(agent.NewSubAgent(reader, "reader", "Reads letters. Give it one letter at a time."))
	a := must(agent.New(model, &agent.Options{Tools: []adapter.Source{tool}}))
	result := must(a.Run(ctx, agent.Text("What have I got to do?")))
	fmt.Println(result.Output)
	fmt.Println(result.Usage.Turns, "model calls")
	// Output:
	// You have to pay bill 17.
	// 3 model calls
}

func ExampleNewHandoff() {
	ctx := context.Background()
	lawyerModel := play(says("You have two weeks to object."))
	model := play(uses(toolCall("1", "lawyer", `{"task":"Answer the question about the law."}`)))

	lawyer := must(agent.New(lawyerModel, &agent.Options{Name: "lawyer"}))
	tool := must(agent.NewHandoff(lawyer, "lawyer", "Takes over questions about the law."))
	a := must(agent.New(model, &agent.Options{Tools: []adapter.Source{tool}}))
	result := must(a.Run(ctx, agent.Text("Can I object to bill 17?")))
	fmt.Println(result.Output)
	// Output: You have two weeks to object.
}

func ExampleHook() {
	ctx := context.Background()
	model := play(uses(toolCall("1", "pay", `{"number":666}`)), says("I may not pay bill 666."))

	guard := agent.Hook{
		BeforeTool: func(_ context.Context, _ *agent.State, c *agent.Call) error {
			if strings.Contains(string(c.Arguments), "666") {
				return agent.DenyCall("bill 666 is a fraud")
			}
			return nil
		},
	}
	a := must(agent.New(model, &agent.Options{Tools: []adapter.Source{payment()}, Hooks: []agent.Hook{guard}}))
	result := must(a.Run(ctx, agent.Text("Pay bill 666.")))
	fmt.Println(result.Messages[2].Parts[0].Text)
	fmt.Println(result.Output)
	// Output:
	// Error: the call of pay was denied: bill 666 is a fraud. Nothing was done.
	// I may not pay bill 666.
}

func ExampleStopRun() {
	ctx := context.Background()
	llm := play(uses(toolCall("1", "pay", `{"number":17}`)))

	stop := agent.Hook{
		AfterTool: func(_ context.Context, _ *agent.State, c *agent.Call, result *run.Part) error {
			if c.Name == "pay" && !result.IsError {
				return agent.StopRun(result.Text) // the result is the answer
			}
			return nil
		},
		BeforeModel: func(_ context.Context, s *agent.State, _ *model.Request) error {
			if s.Usage().Turns >= 10 {
				return agent.StopRun("I get no further. Please call us.")
			}
			return nil
		},
	}
	a := must(agent.New(llm, &agent.Options{Tools: []adapter.Source{payment()}, Hooks: []agent.Hook{stop}}))
	result := must(a.Run(ctx, agent.Text("Pay bill 17.")))
	fmt.Println(result.Output, result.StopReason)
	// Output: Bill 17 is paid. hook
}

func ExampleHook_input() {
	ctx := context.Background()
	llm := play(says("never called"))

	guard := agent.Hook{
		BeforeModel: func(_ context.Context, s *agent.State, _ *model.Request) error {
			history := s.History()
			if strings.Contains(history[len(history)-1].Text(), "666") {
				return agent.StopRun("I do not talk about bill 666.")
			}
			return nil
		},
	}
	a := must(agent.New(llm, &agent.Options{Hooks: []agent.Hook{guard}}))
	result := must(a.Run(ctx, agent.Text("Tell me about bill 666.")))
	fmt.Println(result.Output)
	// Output: I do not talk about bill 666.
}

func ExampleHook_output() {
	ctx := context.Background()
	model := play(says("Your card is 4111 1111 1111 1111."))

	redact := agent.Hook{
		AfterModel: func(_ context.Context, _ *agent.State, reply *run.Message) error {
			for i := range reply.Parts {
				reply.Parts[i].Text = strings.ReplaceAll(reply.Parts[i].Text, "4111 1111 1111 ", "**** ")
			}
			return nil
		},
	}
	a := must(agent.New(model, &agent.Options{Hooks: []agent.Hook{redact}}))
	result := must(a.Run(ctx, agent.Text("What is my card?")))
	fmt.Println(result.Output)
	// Output: Your card is **** 1111.
}

func ExampleOptions_compact() {
	ctx := context.Background()
	model, cheapModel := play(says("Done.")), play(says("Two bills are paid."))

	a := must(agent.New(model, &agent.Options{
		Tools:   []adapter.Source{payment()},
		Compact: compact.Summarize(cheapModel, &compact.Options{Window: 32_000}),
	}))
	result := must(a.Run(ctx, agent.Text("Pay what is left.")))
	fmt.Println(result.Output)
	// Output: Done.
}

func ExampleWithRun() {
	ctx := context.Background()
	model := play(says("Hello, Ann."), says("Your name is Ann."))

	a := must(agent.New(model, &agent.Options{Durable: agent.Durable{Store: record.NewMemory()}}))
	must(a.Run(ctx, agent.Text("I am Ann."), agent.WithRun("ann")))
	result := must(a.Run(ctx, agent.Text("What is my name?"), agent.WithRun("ann")))
	fmt.Println(result.Output, len(result.Messages), "messages")
	// Output: Your name is Ann. 4 messages
}

// A model with 400 tools searches for those that it needs.
func ExampleDiscover() {
	var tools []adapter.Source
	for i := range 400 {
		tools = append(tools, adapter.Func(fmt.Sprintf("read_valve_%d", i), "Reads the pressure at a valve of the plant.",
			func(context.Context, struct{}) (string, error) { return "7 bar", nil }, &adapter.FuncOptions{Server: "plant"}))
	}
	pay := func(_ context.Context, in struct{ Number int }) (string, error) {
		return fmt.Sprintf("paid %d", in.Number), nil
	}
	tools = append(tools, adapter.Func("pay_invoice", "Pays an invoice.", pay, &adapter.FuncOptions{Server: "bank"}))

	model := agenttest.Play(
		agenttest.CallTools("search_tools", `{"query":"settle an invoice"}`),
		agenttest.CallTools("pay_invoice", `{"Number":7}`),
		agenttest.Say("Invoice 7 is paid."))
	a, err := agent.New(model, &agent.Options{Tools: tools})
	if err != nil {
		log.Fatal(err)
	}
	result, err := a.Run(context.Background(), agent.Text("Please pay invoice 7."))
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range model.Turns() {
		fmt.Println(p.Tools())
	}
	fmt.Println(result.Output)
	// Output:
	// [search_tools]
	// [search_tools pay_invoice]
	// [search_tools pay_invoice]
	// Invoice 7 is paid.
}

func ExampleDiscover_options() {
	var toolset adapter.Source = adapter.Func("list_files", "Lists files.", func(context.Context, struct{}) (string, error) { return "", nil }, nil)
	model := agenttest.Play()
	byEmbedding := func(_ context.Context, _ string, tools []*adapter.Tool) ([]*adapter.Tool, error) { return tools, nil }
	a, err := agent.New(model, &agent.Options{
		Tools: []adapter.Source{toolset},
		Discover: agent.Discover{
			Threshold: 0.02,                                                        // of the window; -1: never
			Always:    func(t *adapter.Tool) bool { return t.Server() == "files" }, // offered without a search
			Rank:      byEmbedding,
		},
	})
	fmt.Println(a.Name(), err)
	// Output: agent <nil>
}
