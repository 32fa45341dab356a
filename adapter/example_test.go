package adapter_test

import (
	"context"
	"fmt"
	"io"
	"log"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// weatherServer starts a server in this process. Programs reach theirs with
// [mcpclient.Command] or [mcpclient.HTTP].
func weatherServer() mcpclient.Transport {
	type query struct {
		City string `json:"city"`
		Days int    `json:"days"`
		Unit string `json:"unit,omitempty"`
	}
	server := sdk.NewServer(&sdk.Implementation{Name: "weather", Version: "1.0"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "forecast", Description: "Forecasts the weather of a city."},
		func(_ context.Context, _ *sdk.CallToolRequest, q query) (*sdk.CallToolResult, any, error) {
			text := fmt.Sprintf("%s: sunny for %d days", q.City, q.Days)
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil, nil
		})
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	if _, err := server.Connect(context.Background(), &sdk.IOTransport{Reader: toServer, Writer: fromServer}, nil); err != nil {
		log.Fatal(err)
	}
	return &mcpclient.IO{Reader: toClient, Writer: fromClient}
}

func ExampleOpen() {
	ctx := context.Background()
	ts, err := adapter.Open(ctx, []adapter.Server{
		{Name: "home", Transport: weatherServer()},
		{Name: "away", Transport: weatherServer()},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer ts.Close()
	for _, tool := range ts.Catalog(profile.Plain).Tools() {
		fmt.Println(tool.Name())
	}
	// Output:
	// home__forecast
	// away__forecast
}

func ExampleCatalog_Dispatch() {
	ctx := context.Background()
	ts, err := adapter.Open(ctx, []adapter.Server{{Name: "weather", Transport: weatherServer()}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer ts.Close()

	catalog := ts.Catalog(profile.Plain)
	// What a model answers to GenerateContent with llms.WithTools(catalog.Definitions()).
	calls := []llms.ToolCall{
		{ID: "1", Type: "function", FunctionCall: &llms.FunctionCall{Name: "forecast", Arguments: `{"city":"Rome","days":"3"}`}},
		{ID: "2", Type: "function", FunctionCall: &llms.FunctionCall{Name: "forecast", Arguments: `{"city":"Oslo"}`}},
	}
	messages, err := catalog.Dispatch(ctx, calls)
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range messages {
		answer := m.Parts[0].(llms.ToolCallResponse)
		fmt.Println(answer.ToolCallID, answer.Content)
	}
	// Output:
	// 1 Rome: sunny for 3 days
	// 2 Error: arguments of forecast: missing required property "days". Nothing was done. Correct the arguments and call the tool again.
}

func ExampleCatalog_Call() {
	ctx := context.Background()
	ts, err := adapter.Open(ctx, []adapter.Server{{Name: "weather", Transport: weatherServer()}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer ts.Close()

	call := llms.ToolCall{ID: "1", FunctionCall: &llms.FunctionCall{Name: "forcast", Arguments: `{}`}}
	r := ts.Catalog(profile.Plain).Call(ctx, call)
	fmt.Println(r.Text)
	fmt.Println(r.Err)
	// Output:
	// Error: there is no tool named "forcast". The tools are: forecast
	// there is no tool named "forcast"
}

func ExampleCatalog_Changes() {
	ctx := context.Background()
	ts, err := adapter.Open(ctx, []adapter.Server{{Name: "weather", Transport: weatherServer()}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer ts.Close()
	for _, c := range ts.Catalog(profile.OpenAIStrict).Changes() {
		fmt.Printf("%s of %s: %s (%s)\n", c.Path, c.Tool, c.Note, c.Effect)
	}
	// Output:
	// /properties/unit of forecast: null stands for a missing property (same)
}

func ExampleOptions_approve() {
	ctx := context.Background()
	ts, err := adapter.Open(ctx, []adapter.Server{{Name: "weather", Transport: weatherServer()}}, &adapter.Options{
		Approve: func(_ context.Context, a *approval.Request) (approval.Decision, error) {
			fmt.Println("may", a.Name, "run with", string(a.Arguments))
			return approval.Decision{Allow: true, Remember: approval.ScopeTool}, nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer ts.Close()
	for _, city := range []string{"Rome", "Oslo"} {
		call := llms.ToolCall{ID: "1", FunctionCall: &llms.FunctionCall{Name: "forecast", Arguments: fmt.Sprintf(`{"city":%q,"days":1}`, city)}}
		fmt.Println(ts.Catalog(profile.Plain).Call(ctx, call).Text)
	}
	// Output:
	// may forecast run with {"city":"Rome","days":1}
	// Rome: sunny for 1 days
	// Oslo: sunny for 1 days
}

func ExampleFunc() {
	type forecast struct {
		City string `json:"city" jsonschema:"Its name in English"`
		Days int    `json:"days,omitempty" minimum:"1"`
	}
	tool := adapter.Func("forecast", "Tells the weather.", func(_ context.Context, in forecast) (string, error) {
		return fmt.Sprintf("%s: sun for %d days", in.City, max(in.Days, 1)), nil
	}, &adapter.FuncOptions{ReadOnly: true})

	catalog := tool.Catalog(profile.Plain)
	fmt.Printf("%s\n", catalog.Definitions()[0].Function.Parameters)
	for _, arguments := range []string{`{"city":"Rome","days":"3"}`, `{"days":3}`} {
		r := catalog.Call(context.Background(), llms.ToolCall{FunctionCall: &llms.FunctionCall{Name: "forecast", Arguments: arguments}})
		fmt.Println(r.Text)
	}
	// Output:
	// {"type":"object","properties":{"city":{"description":"Its name in English","type":"string"},"days":{"type":"integer","minimum":1}},"required":["city"],"additionalProperties":false}
	// Rome: sun for 3 days
	// Error: arguments of forecast: missing required property "city". Nothing was done. Correct the arguments and call the tool again.
}

func ExampleMerge() {
	hello := func(_ context.Context, in struct{ Name string }) (string, error) { return "Hello, " + in.Name, nil }
	bye := func(_ context.Context, in struct{ Name string }) (string, error) { return "Goodbye, " + in.Name, nil }
	source := adapter.Merge(adapter.Func("hello", "Greets.", hello, nil), adapter.Func("bye", "Takes leave.", bye, nil))

	catalog := source.Catalog(profile.OpenAI)
	for _, tool := range catalog.Tools() {
		call := llms.ToolCall{FunctionCall: &llms.FunctionCall{Name: tool.Name(), Arguments: `{"Name":"Ann"}`}}
		fmt.Println(tool.Name(), "of", tool.Server()+":", catalog.Call(context.Background(), call).Text)
	}
	// Output:
	// hello of local: Hello, Ann
	// bye of local: Goodbye, Ann
}
