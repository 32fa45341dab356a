package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"sync"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/schemacheck"
)

func ExampleClient_Complete() {
	server := library(map[string]string{
		"server/discover":     `{"supportedVersions":["2026-07-28"],"capabilities":{"prompts":{},"completions":{}}}`,
		"completion/complete": `{"completion":{"values":["python","pytorch"],"hasMore":true}}`,
	})
	ctx := context.Background()
	client := exampleClient(server)
	defer client.Close()

	completion, err := client.Complete(ctx, &mcp.CompleteParams{Prompt: "review", Argument: "language", Value: "py"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(completion.Values, completion.HasMore)
	// Output: [python pytorch] true
}

// Calls of one client may run concurrently on one connection.
func ExampleClient_CallTool_parallel() {
	server := library(map[string]string{
		"server/discover": `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`,
		"tools/call":      `{"content":[{"type":"text","text":"sunny"}]}`,
	})
	ctx := context.Background()
	client := exampleClient(server)
	defer client.Close()

	cities := []string{"Ulm", "Oslo", "Rome"}
	answers := make([]string, len(cities))
	var calls sync.WaitGroup
	for i, city := range cities {
		calls.Go(func() {
			result, err := client.CallTool(ctx, "weather", map[string]string{"city": city})
			if err == nil {
				err = result.Err()
			}
			if err != nil {
				answers[i] = err.Error()
				return
			}
			answers[i] = result.Text()
		})
	}
	calls.Wait()
	for i, city := range cities {
		fmt.Println(city, answers[i])
	}
	// Output:
	// Ulm sunny
	// Oslo sunny
	// Rome sunny
}

// Roots that are computed on request, and a handler of a custom method.
func ExampleOptions_handlers() {
	server := library(map[string]string{
		"server/discover":       `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`,
		"tools/call look":       `{"resultType":"input_required","inputRequests":{"where":{"method":"roots/list"},"when":{"method":"com.example/time"}}}`,
		"tools/call look again": `{"content":[],"structuredContent":$ANSWERS}`,
	})
	workspace := "file:///home/ada"
	ctx := context.Background()
	client, err := mcpclient.Connect(ctx, server, &mcpclient.Options{
		Handlers: map[string]mcpclient.Handler{
			"roots/list": func(context.Context, *mcpclient.Request) (json.RawMessage, error) {
				return json.Marshal(map[string]any{"roots": []mcp.Root{{URI: workspace}}})
			},
			"com.example/time": func(context.Context, *mcpclient.Request) (json.RawMessage, error) {
				return json.RawMessage(`{"hour":9}`), nil
			},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	workspace = "file:///home/ada/engine"
	result, err := client.CallTool(ctx, "look", nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the server got", string(result.StructuredContent))
	// Output:
	// the server got {"when":{"hour":9},"where":{"roots":[{"uri":"file:///home/ada/engine"}]}}
}

func ExampleListPage() {
	server := library(map[string]string{
		"server/discover": `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`,
		"tools/list":      `{"tools":[{"name":"add","inputSchema":{}}],"nextCursor":"page 2","ttlMs":60000,"cacheScope":"public"}`,
	})
	ctx := context.Background()
	client := exampleClient(server)
	defer client.Close()

	page, err := mcpclient.ListPage[mcp.Tool](ctx, client, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(page.Items[0].Name, *page.NextCursor, page.TTL)
	// Output: add page 2 1m0s
}

func ExampleContinue() {
	server := library(map[string]string{
		"server/discover": `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`,
		"tools/call":      `{"resultType":"input_required","requestState":"s","inputRequests":{"sure":{"method":"elicitation/create","params":{"message":"Delete it?","requestedSchema":{"type":"object","properties":{}}}}}}`,
	})
	ctx := context.Background()
	client, err := mcpclient.Connect(ctx, server, &mcpclient.Options{Elicitation: mcp.ElicitationFunc(nil)})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	_, err = client.CallTool(ctx, "delete", nil, mcpclient.WithManualInput())
	var round *mcp.InputRequired
	if !errors.As(err, &round) {
		fmt.Println("done, or failed:", err)
		return
	}
	stored, err := json.Marshal(round)
	if err != nil {
		log.Fatal(err)
	}

	// Any time later, with any client of the same server:
	round = new(mcp.InputRequired)
	if err := json.Unmarshal(stored, round); err != nil {
		log.Fatal(err)
	}
	for key, question := range round.Requests {
		asked := new(mcp.ElicitParams)
		if err := json.Unmarshal(question.Params, asked); err != nil {
			log.Fatal(err)
		}
		fmt.Println(key, asked.Message)
	}
	_, err = mcpclient.Continue[mcp.CallToolResult](ctx, client, round, map[string]any{
		"sure": &mcp.ElicitResult{Action: mcp.ElicitDecline},
	}, mcpclient.WithManualInput())
	fmt.Println(err)
	// Output:
	// sure Delete it?
	// continue tool "delete": the server needs input: "sure" (elicitation/create)
}

func ExampleWithOutputCheck() {
	server := library(map[string]string{
		"server/discover": `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`,
		"tools/list":      `{"tools":[{"name":"forecast","inputSchema":{},"outputSchema":{"properties":{"degrees":{"type":"number"}}}}]}`,
		"tools/call":      `{"content":[],"structuredContent":{"degrees":"warm"}}`,
	})
	ctx := context.Background()
	client := exampleClient(server)
	defer client.Close()

	for tool, err := range client.Tools(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		_, err := client.CallTool(ctx, tool.Name, nil, mcpclient.WithOutputCheck(tool, new(schemacheck.Validator)))
		var violation *mcpclient.SchemaViolation
		if errors.As(err, &violation) {
			fmt.Println(violation.Path, violation.Message)
		}
	}
	// Output: /degrees want number, got string "warm"
}

func ExampleClient_StartTask() {
	server := library(map[string]string{
		"server/discover": `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`,
		"tools/call":      `{"resultType":"task","taskId":"7f3","status":"working","pollIntervalMs":5000}`,
		"tasks/get":       `{"resultType":"complete","taskId":"7f3","status":"completed","result":{"content":[{"type":"text","text":"built"}]}}`,
	})
	ctx := context.Background()
	client := exampleClient(server)
	defer client.Close()

	task, err := client.StartTask(ctx, &mcp.Tool{Name: "build"}, nil, 0)
	if err != nil {
		log.Fatal(err) // ErrUndeclared: call the tool instead
	}
	fmt.Println(task.ID())

	// After a restart, the id is enough.
	task = client.Task(task.ID(), "build")
	result, err := task.Wait(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Text())
	// Output:
	// 7f3
	// built
}

func ExampleWithTask() {
	server := library(map[string]string{
		"server/discover": `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`,
		"tools/list":      `{"tools":[{"name":"build","inputSchema":{"type":"object"}}]}`,
		"tools/call":      `{"resultType":"task","taskId":"7f3","status":"working","pollIntervalMs":5000}`,
		"tasks/get":       `{"resultType":"complete","taskId":"7f3","status":"completed","result":{"content":[{"type":"text","text":"built"}]}}`,
	})
	ctx := context.Background()
	client := exampleClient(server)
	defer client.Close()

	for tool, err := range client.Tools(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		result, err := client.CallTool(ctx, tool.Name, nil, mcpclient.WithTask(tool))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(tool.Name, result.Text())
	}
	// Output: build built
}

func ExampleClient_Subscribe() {
	const about = `"_meta":{"io.modelcontextprotocol/subscriptionId":$ID}`
	server := library(map[string]string{
		"server/discover": `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true}}}`,
		"subscriptions/listen": `{"method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["news://today"]},` + about + `}}
{"method":"notifications/resources/updated","params":{"uri":"news://today",` + about + `}}
{"method":"notifications/tools/list_changed","params":{` + about + `}}
{"resultType":"complete"}`,
	})
	ctx := context.Background()
	client := exampleClient(server)
	defer client.Close()

	subscription, err := client.Subscribe(ctx, mcp.SubscriptionFilter{
		ToolsListChanged: true,
		Resources:        []string{"news://today"},
	})
	if err != nil {
		log.Fatal(err) // ErrUndeclared: ask again now and then instead
	}
	defer subscription.Close()

	for change, err := range subscription.Changes(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch change.Kind {
		case mcp.ResourceUpdated:
			fmt.Println("read again:", change.URI)
		case mcp.ToolsChanged:
			fmt.Println("list the tools again")
		case mcp.Stale:
			fmt.Println("read and list everything again")
		}
	}
	// Output:
	// read again: news://today
	// list the tools again
	// mcpclient: the server ended the subscription
}
