package agent_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"log"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// weather runs an MCP server in this process, whose tool asks for the city when
// it is not told.
func weather() mcpclient.Transport {
	server := sdk.NewServer(&sdk.Implementation{Name: "weather", Version: "1"}, nil)
	type input struct {
		City string `json:"city,omitempty"`
	}
	sdk.AddTool(server, &sdk.Tool{Name: "forecast", Description: "Weather of a city"},
		func(_ context.Context, r *sdk.CallToolRequest, in input) (*sdk.CallToolResult, any, error) {
			if answer, ok := r.Params.InputResponses["city"].(*sdk.ElicitResult); ok {
				in.City = fmt.Sprint(answer.Content["city"])
			}
			if in.City != "" {
				return text("Sunny in " + in.City + "."), nil, nil
			}
			return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"city": &sdk.ElicitParams{
				Message: "Which city?",
				RequestedSchema: map[string]any{
					"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}},
				},
			}}}, nil, nil
		})
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	if _, err := server.Connect(context.Background(), &sdk.IOTransport{Reader: fromClient, Writer: toClient}, nil); err != nil {
		log.Fatal(err)
	}
	return &mcpclient.IO{Reader: fromServer, Writer: toServer}
}

func Example() {
	ctx := context.Background()
	toolset, err := adapter.Open(ctx, []adapter.Server{{Name: "weather", Transport: weather()}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer toolset.Close()

	// Any model will do; this one plays a script.
	model := play(uses(toolCall("1", "forecast", `{"city":"Oslo"}`)), says("Take sunglasses."))
	a, err := agent.New(model, &agent.Options{System: "Be brief.", Tools: []adapter.Source{toolset}})
	if err != nil {
		log.Fatal(err)
	}
	result, err := a.Run(ctx, agent.Text("What do I need in Oslo?"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Output)
	fmt.Println(result.Usage.Turns, "turns,", result.Usage.Calls, "tool call")
	// Output:
	// Take sunglasses.
	// 2 turns, 1 tool call
}

func ExampleAgent_Events() {
	ctx := context.Background()
	toolset, err := adapter.Open(ctx, []adapter.Server{{Name: "weather", Transport: weather()}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer toolset.Close()
	model := play(uses(toolCall("1", "forecast", `{"city":"Oslo"}`)), says("Take sunglasses."))
	a, err := agent.New(model, &agent.Options{Tools: []adapter.Source{toolset}})
	if err != nil {
		log.Fatal(err)
	}

	input := agent.Text("What do I need in Oslo?")
	result := agent.Result{Messages: input}
	for event, err := range a.Events(ctx, input) {
		if err != nil {
			log.Fatal(err)
		}
		result.Add(event)
		switch e := event.(type) {
		case *agent.ToolStart:
			fmt.Printf("%s on %s: %s\n", e.Tool, e.Server, e.Arguments)
		case *agent.ToolEnd:
			fmt.Println("→", e.Part.Text)
		}
	}
	fmt.Println(result.Output)
	fmt.Println(len(result.Messages), "messages")
	// Output:
	// forecast on weather: {"city":"Oslo"}
	// → Sunny in Oslo.
	// Take sunglasses.
	// 4 messages
}

func ExampleOptions_answer() {
	ctx := context.Background()
	model := play(uses(toolCall("1", "forecast", `{}`)), says("Take sunglasses."))

	toolset := must(adapter.Open(ctx, []adapter.Server{{Name: "weather", Transport: weather()}}, nil))
	defer toolset.Close()
	a := must(agent.New(model, &agent.Options{
		Tools: []adapter.Source{toolset},
		Person: agent.Person{Reply: func(_ context.Context, q *run.Question) (run.Reply, error) {
			fmt.Printf("%s asks: %s\n", q.Server, q.Elicit.Message)
			return q.Accept(map[string]any{"city": "Rome"}) // or q.Decline(), for example
		}},
	}))
	result := must(a.Run(ctx, agent.Text("What do I need today?")))
	fmt.Println(result.Messages[2].Parts[0].Text)
	fmt.Println(result.Output)
	// Output:
	// weather asks: Which city?
	// Sunny in Rome.
	// Take sunglasses.
}

// loud is a model of the program's own.
type loud struct{}

func (loud) Info() model.Info { return model.Info{Provider: "acme", Name: "loud", Window: 8192} }

func (loud) Generate(ctx context.Context, r *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		text := strings.ToUpper(r.Messages[len(r.Messages)-1].Text())
		if r.Stream && !yield(model.Delta{Text: text}, nil) {
			return
		}
		yield(model.Delta{Response: &model.Response{Message: run.Text(run.RoleAssistant, text), Finish: model.FinishStop}}, nil)
	}
}

// A model of one's own describes itself, and gives the pieces of a reply and the whole. Failures are a model.Error: the
// kind says whether the agent asks again.
func ExampleModel() {
	ctx := context.Background()
	a := must(agent.New(loud{}, nil))
	result := must(a.Run(ctx, agent.Text("Hello.")))
	fmt.Println(result.Output, result.Messages[1].Model)
	// Output: HELLO. loud
}
