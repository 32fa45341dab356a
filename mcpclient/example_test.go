package mcpclient_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"strings"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// library is a modern server in this process. It has results by method, by method and name, or with
// "again" behind these for a request with answers. The lines before a result are other messages.
// $ID stands for the id of the request, $ANSWERS for its answers.
func library(results map[string]string) mcpclient.Transport {
	transport, conn := mcpclient.Pipe()
	go func() {
		for {
			raw, err := conn.Recv()
			if err != nil {
				return
			}
			var m struct {
				ID     json.RawMessage
				Method string
				Params struct {
					Name           string
					InputResponses json.RawMessage
				}
			}
			if json.Unmarshal(raw, &m) != nil || m.ID == nil {
				continue
			}
			key := m.Method + " " + m.Params.Name
			if m.Params.InputResponses != nil {
				key += " again"
			}
			result, ok := results[key]
			if !ok {
				result, ok = results[m.Method]
			}
			answer := `{"id":$ID,"error":{"code":-32601,"message":"no such method"}}`
			if last := strings.LastIndexByte(result, '\n') + 1; ok {
				answer = result[:last] + `{"id":$ID,"result":` + result[last:] + `}`
			}
			answer = strings.NewReplacer("$ID", string(m.ID), "$ANSWERS", string(m.Params.InputResponses)).Replace(answer)
			for line := range strings.Lines(answer) {
				_ = conn.Send(context.Background(), []byte(line))
			}
		}
	}()
	return transport
}

func exampleServer() mcpclient.Transport { return library(exampleAnswers) }

// exampleClient is connected to a server: see [ExampleConnect].
func exampleClient(server mcpclient.Transport) *mcpclient.Client {
	client, err := mcpclient.Connect(context.Background(), server, nil)
	if err != nil {
		log.Fatal(err)
	}
	return client
}

var exampleAnswers = map[string]string{
	"server/discover": `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"resources":{},"prompts":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"weather","version":"1.2"}}}`,
	"tools/list":      `{"tools":[{"name":"forecast","title":"Weather forecast","inputSchema":{"type":"object"}},{"name":"alarm","inputSchema":{"type":"object"}}]}`,
	"tools/call forecast": `{"method":"notifications/progress","params":{"progressToken":$ID,"progress":1,"total":2,"message":"asking the satellite"}}
{"method":"notifications/progress","params":{"progressToken":$ID,"progress":2,"total":2,"message":"reading the clouds"}}
{"content":[{"type":"text","text":"Sunny, 21 degrees"}],"structuredContent":{"sky":"sunny","celsius":21}}`,
	"tools/call alarm":        `{"content":[{"type":"text","text":"no siren is connected"}],"isError":true}`,
	"tools/call poem":         `{"resultType":"input_required","inputRequests":{"line":{"method":"sampling/createMessage","params":{"maxTokens":50,"messages":[{"role":"user","content":{"type":"text","text":"A line about rain, please."}}]}}}}`,
	"tools/call poem again":   `{"content":[{"type":"text","text":"The poem is ready."}]}`,
	"tools/call travel":       `{"resultType":"input_required","inputRequests":{"where":{"method":"elicitation/create","params":{"message":"Where to?","requestedSchema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}}}`,
	"tools/call travel again": `{"content":[{"type":"text","text":"Have a good journey."}]}`,
	"resources/list":          `{"resources":[{"uri":"weather://bern/today","name":"Today in Bern"}]}`,
	"resources/read":          `{"contents":[{"uri":"weather://bern/today","mimeType":"text/plain","text":"Sunny"}]}`,
	"prompts/list":            `{"prompts":[{"name":"pack","description":"What to pack for a journey"}]}`,
	"prompts/get pack":        `{"messages":[{"role":"user","content":{"type":"text","text":"What do I pack for Bern?"}}]}`,
	"acme/moon":               `{"phase":"full"}`,
}

func ExampleConnect() {
	ctx := context.Background()
	client, err := mcpclient.Connect(ctx, exampleServer(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	server := client.Server()
	fmt.Printf("%s %s speaks %s\n", server.Info.Name, server.Info.Version, server.Revision)
	// Output: weather 1.2 speaks 2026-07-28
}

func ExampleClient_Tools() {
	ctx := context.Background()
	client := exampleClient(exampleServer())
	defer client.Close()

	for tool, err := range client.Tools(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(tool.Name, "-", tool.DisplayName())
	}
	// Output:
	// forecast - Weather forecast
	// alarm - alarm
}

func ExampleClient_CallTool() {
	ctx := context.Background()
	client := exampleClient(exampleServer())
	defer client.Close()

	for _, tool := range []string{"forecast", "alarm", "sunrise"} {
		result, err := client.CallTool(ctx, tool, map[string]any{"city": "Bern"})
		switch {
		case err != nil:
			fmt.Println("could not be asked:", err)
		case result.IsError:
			fmt.Println("failed:", result.Text())
		default:
			fmt.Println(result.Text())
		}
	}
	// Output:
	// Sunny, 21 degrees
	// failed: no siren is connected
	// could not be asked: call tool "sunrise": server error -32601: no such method
}

func ExampleCallToolAs() {
	type forecast struct {
		Sky     string
		Celsius float64
	}
	ctx := context.Background()
	client := exampleClient(exampleServer())
	defer client.Close()

	f, err := mcpclient.CallToolAs[forecast](ctx, client, "forecast", map[string]any{"city": "Bern"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(f.Sky, f.Celsius)
	// Output: sunny 21
}

func ExampleClient_Resources() {
	ctx := context.Background()
	client := exampleClient(exampleServer())
	defer client.Close()

	for resource, err := range client.Resources(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		read, err := client.ReadResource(ctx, resource.URI)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %s\n", resource.Name, read.Contents[0].Text)
	}
	// Output: Today in Bern: Sunny
}

func ExampleClient_Prompts() {
	ctx := context.Background()
	client := exampleClient(exampleServer())
	defer client.Close()

	for prompt, err := range client.Prompts(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		filled, err := client.GetPrompt(ctx, prompt.Name, map[string]string{"city": "Bern"})
		if err != nil {
			log.Fatal(err)
		}
		for _, m := range filled.Messages {
			if text, ok := m.Content.(*mcp.TextContent); ok {
				fmt.Printf("%s: %s\n", m.Role, text.Text)
			}
		}
	}
	// Output: user: What do I pack for Bern?
}

func ExampleWithProgress() {
	ctx := context.Background()
	client := exampleClient(exampleServer())
	defer client.Close()

	result, err := client.CallTool(ctx, "forecast", nil, mcpclient.WithProgress(func(p mcp.Progress) {
		fmt.Printf("%v of %v: %s\n", p.Progress, *p.Total, p.Message)
	}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Text())
	// Output:
	// 1 of 2: asking the satellite
	// 2 of 2: reading the clouds
	// Sunny, 21 degrees
}

// A server uses the client's model.
func ExampleSamplingFunc() {
	model := mcp.SamplingFunc(func(ctx context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		origin, _ := mcp.OriginFrom(ctx)
		question := p.Messages[0].Content[0].(*mcp.TextContent)
		fmt.Printf("%s asks while %q runs: %s\n", origin.Server.Info.Name, origin.Call.Name, question.Text)
		return &mcp.CreateMessageResult{
			Model:   "haiku",
			Content: []mcp.Content{&mcp.TextContent{Text: "Drops knock at the door."}},
		}, nil
	})
	ctx := context.Background()
	client, err := mcpclient.Connect(ctx, exampleServer(), &mcpclient.Options{Sampling: model})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	result, err := client.CallTool(ctx, "poem", nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Text())
	// Output:
	// weather asks while "poem" runs: A line about rain, please.
	// The poem is ready.
}

// A server asks the person during a call.
func ExampleElicitationFunc() {
	person := mcp.ElicitationFunc(func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		fields, err := forms.Fields(p)
		if err != nil {
			return nil, err
		}
		content := map[string]any{}
		for _, field := range fields {
			fmt.Printf("%s %s (%s)\n", p.Message, field.Title, field.Kind)
			answer, err := field.Parse("Bern") // what the person typed
			if err != nil {
				return nil, err
			}
			content[field.Name] = answer
		}
		return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: content}, nil
	})
	ctx := context.Background()
	client, err := mcpclient.Connect(ctx, exampleServer(), &mcpclient.Options{Elicitation: person})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	result, err := client.CallTool(ctx, "travel", nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Text())
	// Output:
	// Where to? city (string)
	// Have a good journey.
}

// A method for which this package has no function.
func ExampleClient_Call() {
	ctx := context.Background()
	client := exampleClient(exampleServer())
	defer client.Close()

	raw, err := client.Call(ctx, "acme/moon", nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(raw))
	// Output: {"phase":"full"}
}
