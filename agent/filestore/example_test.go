package filestore_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// An agent keeps its runs in a directory.
func ExampleOpen() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "runs")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := filestore.Open(dir, nil)
	if err != nil {
		log.Fatal(err)
	}
	clerk, err := agent.New(agenttest.Play(agenttest.Say("Hello.")), &agent.Options{Durable: agent.Durable{Store: store}})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := clerk.Run(ctx, agent.Text("Hi."), agent.WithRun("run_1")); err != nil {
		log.Fatal(err)
	}
	for head, err := range store.List(ctx, record.Query{}) {
		fmt.Println(head.Key.ID, head.Status, err)
	}
	// Output: run_1 done <nil>
}
