//lint:file-ignore SA1019 sampling is deprecated, but servers use it

package sampling

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/mcpclient"
)

// asker is a server with a tool that asks for a completion of a prompt.
type asker struct {
	name      string
	transport func(t *testing.T) mcpclient.Transport
	revision  string
	tool      string
	argument  string // that takes the prompt
	tools     bool   // it gives the model a tool, and asks again with its result
	modern    bool
}

func askers() []asker {
	return []asker{
		{name: "server-everything", transport: everything, tool: "trigger-sampling-request", argument: "prompt"},
		{name: "go-sdk legacy", transport: goServer, revision: mcpclient.Revision20251125, tool: "advise", argument: "about", tools: true},
		{name: "go-sdk modern", transport: goServer, revision: mcpclient.Revision20260728, tool: "advise_by_rounds", argument: "about", tools: true, modern: true},
	}
}

func everything(t *testing.T) mcpclient.Transport {
	set := install(t)
	return &mcpclient.Command{Path: set.Node(), Args: []string{set.Module("@modelcontextprotocol/server-everything/dist/index.js"), "stdio"}}
}

// goServer is a server of the official SDK with one tool in two variants. One
// sends its questions as requests, the other leaves the way to the SDK.
func goServer(t *testing.T) mcpclient.Transport {
	s := mcp.NewServer(&mcp.Implementation{Name: "adviser", Version: "1"}, nil)
	schema := json.RawMessage(`{"type":"object","properties":{"about":{"type":"string"}}}`)
	s.AddTool(&mcp.Tool{Name: "advise", InputSchema: schema}, advise)
	s.AddTool(&mcp.Tool{Name: "advise_by_rounds", InputSchema: schema}, adviseByRounds)
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	session, err := s.Connect(context.Background(), &mcp.IOTransport{Reader: fromClient, Writer: toClient}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return &mcpclient.IO{Reader: fromServer, Writer: toServer}
}

func said(r *mcp.CallToolRequest) (string, error) {
	var args struct{ About string }
	err := json.Unmarshal(r.Params.Arguments, &args)
	return args.About, err
}

func adviceOn(about string) *mcp.CreateMessageWithToolsParams {
	return &mcp.CreateMessageWithToolsParams{
		MaxTokens: 100, SystemPrompt: "Give advice.",
		Messages: []*mcp.SamplingMessageV2{{Role: "user", Content: []mcp.Content{&mcp.TextContent{Text: about}}}},
		Tools:    []*mcp.Tool{{Name: "weather", InputSchema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}}}`)}},
	}
}

// goOn adds the results of what the model has called to its next question.
func goOn(p *mcp.CreateMessageWithToolsParams, answer *mcp.CreateMessageWithToolsResult) error {
	results := &mcp.SamplingMessageV2{Role: "user"}
	for _, c := range answer.Content {
		if use, ok := c.(*mcp.ToolUseContent); ok {
			if use.Name != "weather" || use.Input["city"] != "Berlin" {
				return fmt.Errorf("the model called %s(%v), want weather(city: Berlin)", use.Name, use.Input)
			}
			results.Content = append(results.Content, &mcp.ToolResultContent{
				ToolUseID: use.ID, Content: []mcp.Content{&mcp.TextContent{Text: "12 degrees"}},
			})
		}
	}
	p.Messages = append(p.Messages, &mcp.SamplingMessageV2{Role: "assistant", Content: answer.Content}, results)
	return nil
}

func final(answer *mcp.CreateMessageWithToolsResult) (*mcp.CallToolResult, error) {
	for _, c := range answer.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text.Text}}}, nil
		}
	}
	return nil, errors.New("the model said nothing")
}

func advise(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	about, err := said(r)
	if err != nil {
		return nil, err
	}
	p := adviceOn(about)
	for {
		answer, err := r.Session.CreateMessageWithTools(ctx, p)
		if wire, ok := errors.AsType[*jsonrpc.Error](err); ok {
			text := fmt.Sprintf("error %d: %s %s", wire.Code, wire.Message, wire.Data)
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
		}
		if err != nil {
			return nil, err
		}
		if answer.StopReason != "toolUse" {
			return final(answer)
		}
		if err := goOn(p, answer); err != nil {
			return nil, err
		}
	}
}

// adviseByRounds keeps the conversation in the state of the request.
func adviseByRounds(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	about, err := said(r)
	if err != nil {
		return nil, err
	}
	p := adviceOn(about)
	if r.Params.RequestState != "" {
		if err := json.Unmarshal([]byte(r.Params.RequestState), p); err != nil {
			return nil, err
		}
		answer, ok := r.Params.InputResponses["advice"].(*mcp.CreateMessageWithToolsResult)
		if !ok {
			return nil, fmt.Errorf("the answer is a %T", r.Params.InputResponses["advice"])
		}
		if answer.StopReason != "toolUse" {
			return final(answer)
		}
		if err := goOn(p, answer); err != nil {
			return nil, err
		}
	}
	state, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{RequestState: string(state), InputRequests: mcp.InputRequestMap{"advice": p}}, nil
}
