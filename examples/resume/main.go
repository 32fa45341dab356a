// Resume keeps a run that waits for a person, and continues it in another process.
//
//	go run ./examples/resume            # asks, and ends
//	go run ./examples/resume yes        # continues: allows the payment
//	go run ./examples/resume no         # continues: denies it
//
// The model is a script, so the program needs no key; examples/quickstart shows a real one. The run
// is a file in the folder RUNS, by default "runs".
package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"os"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

var key = run.Key{ID: "bill-17"}

func main() {
	ctx := context.Background()
	store := must(filestore.Open(cmp.Or(os.Getenv("RUNS"), "runs"), nil))
	if len(os.Args) < 2 {
		first := clerk(store, agenttest.CallTools("pay", `{"bill":17}`))
		result := must(first.Run(ctx, agent.Text("Pay bill 17."), agent.WithRun(key.ID)))
		for _, q := range result.Questions {
			fmt.Printf("May %s run with %s? Say yes or no.\n", q.Tool, q.Arguments)
		}
		return
	}
	second := clerk(store, agenttest.Say("That is settled."))
	var answers []run.Reply
	for _, q := range must(second.Questions(ctx, key)) {
		if os.Args[1] == "yes" {
			answers = append(answers, q.Allow())
		} else {
			answers = append(answers, q.Deny("not this month"))
		}
	}
	if len(answers) == 0 {
		log.Fatal("no question is open")
	}
	// Resume would return only the outcome.
	for event, err := range second.ResumeEvents(ctx, key, answers...) {
		if err != nil {
			log.Fatal(err)
		}
		switch e := event.(type) {
		case *agent.ToolEnd:
			fmt.Println("the model reads:", e.Part.Text)
		case *agent.Output:
			fmt.Println(e.Text)
		}
	}
}

// clerk returns the agent. Each process creates it in the same way.
func clerk(store record.Store, model ...agenttest.Step) *agent.Agent {
	pay := adapter.Func("pay", "Pays a bill.", func(_ context.Context, b struct {
		Bill int `json:"bill"`
	}) (string, error) {
		return fmt.Sprintf("Bill %d is paid.", b.Bill), nil
	}, nil)
	return must(agent.New(agenttest.Play(model...), &agent.Options{
		Name: "clerk", Tools: []adapter.Source{pay}, Durable: agent.Durable{Store: store},
		Person: agent.Person{Approve: agent.AskPerson},
	}))
}

// must ends the program on an error.
func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
