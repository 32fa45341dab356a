// Subagent lets one agent work for another: a clerk gives each letter to a reader, which has tools
// of its own and may have a smaller model.
//
//	go run ./examples/subagent
//
// The models are scripts, so the program needs no key; examples/quickstart shows a real one.
package main

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/run"
)

func main() {
	small := agenttest.PlayRepeating(
		agenttest.CallTools("open_letter", `{"number":1}`),
		agenttest.Say("Pay 20 euros by Monday."),
	)
	open := adapter.Func("open_letter", "The text of a letter.", func(_ context.Context, l struct {
		Number int `json:"number"`
	}) (string, error) {
		return fmt.Sprintf("Letter %d: … we kindly ask for 20 euros by Monday …", l.Number), nil
	}, &adapter.FuncOptions{ReadOnly: true})
	reader := must(agent.New(small, &agent.Options{
		Name: "reader", System: "Say in one line what a letter wants.", Tools: []adapter.Source{open},
	}))

	large := agenttest.Play(
		agenttest.CallTools("reader", `{"task":"What does letter 1 want?"}`),
		agenttest.Say("You have to pay 20 euros by Monday."),
	)
	clerk := must(agent.New(large, &agent.Options{
		Tools:  []adapter.Source{must(agent.NewSubAgent(reader, "reader", "Reads one letter."))},
		Limits: run.Limits{Turns: 10}, // of both agents together
	}))
	result := &agent.Result{}
	for event, err := range clerk.Events(context.Background(), agent.Text("What have I got to do?")) {
		if err != nil {
			log.Fatal(err)
		}
		if e, ok := event.(*agent.ToolEnd); ok {
			fmt.Printf("%s%s → %s\n", strings.Repeat("  ", len(e.Path)), e.Name, e.Part.Text)
		}
		result.Add(event)
	}
	fmt.Println(result.Output)
	fmt.Println(result.Usage.Turns, "model calls,", result.Usage.Calls, "tool calls")
}

// must ends the program on an error.
func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
