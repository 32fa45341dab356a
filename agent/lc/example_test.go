package lc_test

import (
	"context"
	"fmt"
	"log"

	"github.com/tmc/langchaingo/chains"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/lc"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

func Example() {
	ctx := context.Background()
	store := record.NewMemory()

	// Any llms.Model will do; this one plays a script.
	model := play(uses("1", "forecast", `{"city":"Oslo"}`), says("Take sunglasses."))
	a, err := agent.New(lc.Model(model, nil), &agent.Options{Tools: []adapter.Source{forecast()}, Durable: agent.Durable{Store: store}})
	if err != nil {
		log.Fatal(err)
	}
	chain := lc.Chain(a, nil, agent.WithRun("ada"))
	answer, err := chains.Run(ctx, chain, "What do I need in Oslo?")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer)

	messages, err := lc.History(store, run.Key{ID: "ada"}, a.Name()).Messages(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range messages {
		fmt.Printf("%s %q\n", m.GetType(), m.GetContent())
	}
	// Output:
	// Take sunglasses.
	// human "What do I need in Oslo?"
	// ai ""
	// tool "Sunny."
	// ai "Take sunglasses."
}
