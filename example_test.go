package mcpchain_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
)

// A host uses the servers of a file that work, and says why the others do not.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "mcp.json")
	if err := os.WriteFile(file, []byte(`{"mcpServers": {"files": {"comand": "file-server"}}}`), 0o600); err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	host, err := mcpchain.Open(ctx, file, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer host.Close()
	for _, server := range host.Problems() {
		fmt.Println("left out:", server.Name)
	}

	// Any model will do; this one plays a script.
	model := agenttest.Play(agenttest.CallTools("today", "{}"), agenttest.Say("It is Sunday."))
	today := adapter.Func("today", "Tells the day of the week.", func(context.Context, struct{}) (string, error) { return "Sunday", nil }, nil)
	a, err := host.Agent(model, &agent.Options{Tools: []adapter.Source{today}})
	if err != nil {
		log.Fatal(err)
	}
	result, err := a.Run(ctx, agent.Text("What day is it?"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Output)
	// Output:
	// left out: files
	// It is Sunday.
}
