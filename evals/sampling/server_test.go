//lint:file-ignore SA1019 sampling is deprecated, but servers use it

package sampling

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/testenv/peer"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// asker is a server with a tool that asks for a completion of a prompt.
type asker struct {
	name           string
	transport      func(t *testing.T) mcpclient.Transport
	revision, tool string
	argument       string // the argument with the prompt
	tools          bool   // it offers the model a tool, and asks again with the tool's result
	modern         bool
}

func askers() []asker {
	return []asker{
		{name: "server-everything", transport: everything, tool: "trigger-sampling-request", argument: "prompt"},
		{name: "go-sdk legacy", transport: goServer, revision: mcp.Revision20251125, tool: "advise", argument: "about", tools: true},
		{name: "go-sdk modern", transport: goServer, revision: mcp.Revision20260728, tool: "advise_by_rounds", argument: "about", tools: true, modern: true},
	}
}

func everything(t *testing.T) mcpclient.Transport {
	set := install(t)
	return &mcpclient.Command{Path: set.Node(), Args: []string{set.Module("@modelcontextprotocol/server-everything/dist/index.js"), "stdio"}}
}

// goServer is a server of the official SDK with one tool in two variants. One
// sends requests, the other leaves the choice to the SDK.
func goServer(t *testing.T) mcpclient.Transport {
	s := sdk.NewServer(&sdk.Implementation{Name: "adviser", Version: "1"}, nil)
	schema := json.RawMessage(`{"type":"object","properties":{"about":{"type":"string"}}}`)
	s.AddTool(&sdk.Tool{Name: "advise", InputSchema: schema}, advise)
	s.AddTool(&sdk.Tool{Name: "advise_by_rounds", InputSchema: schema}, adviseByRounds)
	return peer.Connect(t, s)
}

func said(r *sdk.CallToolRequest) (string, error) {
	var args struct{ About string }
	err := json.Unmarshal(r.Params.Arguments, &args)
	return args.About, err
}

func adviceOn(about string) *sdk.CreateMessageWithToolsParams {
	return &sdk.CreateMessageWithToolsParams{
		MaxTokens: 100, SystemPrompt: "Give advice.",
		Messages: []*sdk.SamplingMessageV2{{Role: "user", Content: []sdk.Content{&sdk.TextContent{Text: about}}}},
		Tools:    []*sdk.Tool{{Name: "weather", InputSchema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}}}`)}},
	}
}

// continueWith adds the results of the model's calls to the next question.
func continueWith(p *sdk.CreateMessageWithToolsParams, answer *sdk.CreateMessageWithToolsResult) error {
	results := &sdk.SamplingMessageV2{Role: "user"}
	for _, c := range answer.Content {
		if use, ok := c.(*sdk.ToolUseContent); ok {
			if use.Name != "weather" || use.Input["city"] != "Berlin" {
				return fmt.Errorf("the model called %s(%v), want weather(city: Berlin)", use.Name, use.Input)
			}
			results.Content = append(results.Content, &sdk.ToolResultContent{
				ToolUseID: use.ID, Content: []sdk.Content{&sdk.TextContent{Text: "12 degrees"}},
			})
		}
	}
	p.Messages = append(p.Messages, &sdk.SamplingMessageV2{Role: "assistant", Content: answer.Content}, results)
	return nil
}

func final(answer *sdk.CreateMessageWithToolsResult) (*sdk.CallToolResult, error) {
	for _, c := range answer.Content {
		if text, ok := c.(*sdk.TextContent); ok {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text.Text}}}, nil
		}
	}
	return nil, errors.New("the model said nothing")
}

func advise(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	about, err := said(r)
	if err != nil {
		return nil, err
	}
	p := adviceOn(about)
	for {
		answer, err := r.Session.CreateMessageWithTools(ctx, p)
		if wire, ok := errors.AsType[*jsonrpc.Error](err); ok {
			text := fmt.Sprintf("error %d: %s %s", wire.Code, wire.Message, wire.Data)
			return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil
		}
		if err != nil {
			return nil, err
		}
		if answer.StopReason != "toolUse" {
			return final(answer)
		}
		if err := continueWith(p, answer); err != nil {
			return nil, err
		}
	}
}

// adviseByRounds keeps the conversation in the state of the request.
func adviseByRounds(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	about, err := said(r)
	if err != nil {
		return nil, err
	}
	p := adviceOn(about)
	if r.Params.RequestState != "" {
		if err := json.Unmarshal([]byte(r.Params.RequestState), p); err != nil {
			return nil, err
		}
		answer, ok := r.Params.InputResponses["advice"].(*sdk.CreateMessageWithToolsResult)
		if !ok {
			return nil, fmt.Errorf("the answer is a %T", r.Params.InputResponses["advice"])
		}
		if answer.StopReason != "toolUse" {
			return final(answer)
		}
		if err := continueWith(p, answer); err != nil {
			return nil, err
		}
	}
	state, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	return &sdk.CallToolResult{RequestState: string(state), InputRequests: sdk.InputRequestMap{"advice": p}}, nil
}
