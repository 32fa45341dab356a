package filestore_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// A run waits for a person. Another process with the same directory replies.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "runs")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	store, err := filestore.Open(dir, nil)
	if err != nil {
		log.Fatal(err)
	}
	pay := adapter.Func("pay", "Pays a bill.", func(context.Context, struct{}) (string, error) { return "paid", nil }, nil)
	clerk, err := agent.New(agenttest.Play(agenttest.CallTools(agenttest.ToolCall{Tool: "pay"})), &agent.Options{
		Tools: []adapter.Source{pay}, Person: agent.Person{Approve: agent.AskPerson}, Durable: agent.Durable{Store: store},
	})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := clerk.Run(ctx, agent.Text("Pay the bill."), agent.WithRun("run_1")); err != nil {
		log.Fatal(err)
	}

	other, err := filestore.Open(dir, nil)
	if err != nil {
		log.Fatal(err)
	}
	for open, err := range record.OpenQuestions(ctx, other, record.Query{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(open.Head.Key.ID, "asks for", open.Question.Tool)
		if err := record.Submit(ctx, other, open.Head.Key, open.Question.Allow()); err != nil {
			log.Fatal(err)
		}
	}
	for head := range store.List(ctx, record.Query{Status: run.StatusWaiting, DueAt: time.Now()}) {
		fmt.Println(head.Key.ID, "continues with answers:", head.ReplyCount)
	}
	// Output:
	// run_1 asks for pay
	// run_1 continues with answers: 1
}
