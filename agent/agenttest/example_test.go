package agenttest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/price"
)

// A test of an agent without a model and a program: the script says what the model wants, and the prompts show what it was told.
func Example() {
	model := agenttest.Play(
		agenttest.CallTools("weather", `{"city":"Oslo"}`),
		agenttest.Say("It rains in Oslo."),
	)
	server := agenttest.NewServer(agenttest.Tool{
		Name: "weather", Description: "The weather of a city.", ReadOnly: true,
		Schema: `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`,
		Run: func(_ context.Context, c *agenttest.Call) (string, error) {
			var in struct{ City string }
			err := json.Unmarshal(c.Arguments, &in)
			return "rain in " + in.City, err
		},
	})

	ctx := context.Background()
	tools := must(adapter.Open(ctx, []adapter.Server{{Name: "sky", Transport: server}}, nil))
	defer tools.Close()
	a := must(agent.New(model, &agent.Options{Tools: []adapter.Source{tools}}))
	result := must(a.Run(ctx, agent.Text("Do I need an umbrella in Oslo?")))
	second := model.Turns()[1]
	fmt.Println(second.Results(), result.Output)
	// Output:
	// [rain in Oslo] It rains in Oslo.
}

// A step of your own decides by what the model was told. A script that counts calls begins again in
// the next process; this one continues.
func ExampleStep() {
	clerk := func(ctx context.Context, p agenttest.Turn) (*model.Response, error) {
		if len(p.Results()) == 0 {
			return agenttest.CallTools("today", "{}")(ctx, p)
		}
		return agenttest.Say("It is "+p.Results()[0]+".")(ctx, p)
	}
	today := adapter.Func("today", "Tells the day of the week.", func(context.Context, struct{}) (string, error) { return "Sunday", nil }, nil)
	options := &agent.Options{Tools: []adapter.Source{today}, Person: agent.Person{Approve: agent.AskPerson}, Durable: agent.Durable{Store: record.NewMemory()}}

	ctx := context.Background()
	first := must(agent.New(agenttest.PlayRepeating(clerk), options))
	waiting := must(first.Run(ctx, agent.Text("Which day is it?"), agent.WithRun("day")))
	second := must(agent.New(agenttest.PlayRepeating(clerk), options)) // as in another process
	result := must(second.Resume(ctx, run.Key{ID: "day"}, waiting.Questions[0].Allow()))
	fmt.Println(result.Output)
	// Output: It is Sunday.
}

// At a limit the model may call no more tools.
func ExampleTurn() {
	eager := func(ctx context.Context, p agenttest.Turn) (*model.Response, error) {
		if p.Request.ToolChoice == model.ChoiceNone {
			return agenttest.Say("I got no further.")(ctx, p)
		}
		return agenttest.CallTools("today", "{}")(ctx, p)
	}
	today := adapter.Func("today", "Tells the day of the week.", func(context.Context, struct{}) (string, error) { return "Sunday", nil }, nil)
	a := must(agent.New(agenttest.PlayRepeating(eager), &agent.Options{Tools: []adapter.Source{today}, Limits: run.Limits{Turns: 2}}))
	result := must(a.Run(context.Background(), agent.Text("Which day is it?")))
	fmt.Println(result.StopReason, result.Output)
	// Output: max_turns I got no further.
}

// A limit of the cost needs a name of the model, its price, and the tokens of each reply.
func ExampleStep_WithUsage() {
	model := agenttest.PlayRepeating(
		agenttest.CallTools("today", "{}").WithUsage(400, 20),
		agenttest.Say("It is Sunday.").WithUsage(450, 10),
	).WithInfo(model.Info{Name: "scripted"})
	today := adapter.Func("today", "Tells the day of the week.", func(context.Context, struct{}) (string, error) { return "Sunday", nil }, nil)
	a := must(agent.New(model, &agent.Options{
		Tools:  []adapter.Source{today},
		Model:  agent.ModelSettings{Prices: &price.Table{Date: "2026-11-22", Models: []price.Price{{Model: "scripted", Currency: "USD", Input: 1_000_000, Output: 2_000_000}}}},
		Limits: run.Limits{Cost: map[string]int64{"USD": 100_000}}, // 10 cents
	}))

	result := must(a.Run(context.Background(), agent.Text("Which day is it?")))
	fmt.Println(result.Usage.Input, result.Usage.Output, result.Usage.Cost["USD"])
	// Output: 850 30 910
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
