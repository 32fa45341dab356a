package agenteval_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	agenteval "github.com/mcpchain/mcpchain/evals/agent"
	"github.com/mcpchain/mcpchain/evals/agent/results"
	"github.com/mcpchain/mcpchain/evals/agent/suite"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// A suite as a Go value, with a server of the program: this is how a test of your own runs one.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	s := &suite.Suite{
		Name:    "greetings",
		Servers: map[string]*suite.Server{"greeter": {Dial: greeter}},
		Tasks: []*suite.Task{{
			ID:     "greet",
			Prompt: "Greet Ada.",
			Script: []suite.Step{
				{Calls: []suite.Call{{Tool: "greet", Args: []byte(`{"name":"Ada"}`)}}},
				{Sees: []string{"Hello, Ada"}, Say: "Hello, Ada!"},
			},
			Expect: suite.Expect{Answer: &suite.Answer{Contains: []string{"Ada"}}},
		}},
	}
	o := agenteval.Options{Model: agenteval.Model{Mode: results.Scripted}, Dir: dir, Patience: 10 * time.Minute, Trials: 3}
	lines, err := agenteval.Lines(context.Background(), []*suite.Suite{s}, o)
	if err != nil {
		log.Fatal(err)
	}
	sum, err := results.Summarize(lines)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %.0f %% of %d task, %d trials\n", sum.Suite, 100*sum.Rate, sum.Tasks, sum.Trials)
	// Output: greetings: 100 % of 1 task, 3 trials
}

// greeter starts a server for one trial.
func greeter(ctx context.Context, _ string) (mcpclient.Transport, func() error, error) {
	type in struct {
		Name string `json:"name"`
	}
	s := sdk.NewServer(&sdk.Implementation{Name: "greeter", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "greet"}, func(_ context.Context, _ *sdk.CallToolRequest, in in) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "Hello, " + in.Name}}}, nil, nil
	})
	toServer, fromClient, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	toClient, fromServer, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	session, err := s.Connect(context.WithoutCancel(ctx), &sdk.IOTransport{Reader: toServer, Writer: fromServer}, nil)
	if err != nil {
		return nil, nil, err
	}
	return &mcpclient.IO{Reader: toClient, Writer: fromClient}, session.Close, nil
}
