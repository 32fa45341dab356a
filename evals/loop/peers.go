package main

import (
	"context"
	"errors"
	"io"
	"strings"

	einomcp "github.com/cloudwego/eino-ext/components/tool/mcp"
	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	mcpgo "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/tmc/langchaingo/agents"
	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/tools"
)

// openEino opens a ChatModelAgent of Eino's ADK.
func openEino(ctx context.Context, s *subject) (_ runner, err error) {
	var tools []tool.BaseTool
	if s.kind == native {
		echo, err := utils.InferTool(toolName, toolPurpose, func(context.Context, input) (string, error) { return s.tool(), nil })
		if err != nil {
			return nil, err
		}
		tools = append(tools, echo)
	} else {
		client := mcpgo.NewClient(transport.NewIO(s.reader, s.writer, io.NopCloser(strings.NewReader(""))))
		s.end = client.Close
		if tools, err = connectEino(ctx, client); err != nil {
			return nil, err
		}
	}
	a, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name:        "agent",
		Description: "An agent.",
		Model:       einoModel{newScript(s.turns, s.calls)},
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: tools}},
	})
	if err != nil {
		return nil, err
	}
	run := adk.NewRunner(ctx, adk.RunnerConfig{Agent: a}).Run
	input := append(einoHistory(s.history), schema.UserMessage(question))
	return func(ctx context.Context) (string, error) { return lastText(run(ctx, input)) }, nil
}

// connectEino returns the tools of the MCP server.
func connectEino(ctx context.Context, client *mcpgo.Client) ([]tool.BaseTool, error) {
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		return nil, err
	}
	var request mcp.InitializeRequest
	request.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	request.Params.ClientInfo = mcp.Implementation{Name: "eino", Version: "1.0.0"}
	if _, err := client.Initialize(ctx, request); err != nil {
		return nil, err
	}
	return einomcp.GetTools(ctx, &einomcp.Config{Cli: client})
}

// lastText returns the text of the last message of a run.
func lastText(events *adk.AsyncIterator[*adk.AgentEvent]) (text string, err error) {
	for {
		event, ok := events.Next()
		if !ok {
			return text, err
		}
		if event.Err != nil {
			err = errors.Join(err, event.Err)
			continue
		}
		message, failed := event.Output.MessageOutput.GetMessage()
		if failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		text = message.Content
	}
}

func einoHistory(n int) []*schema.Message {
	return history(n, schema.UserMessage(historyText), schema.AssistantMessage(historyText, nil), func(id string) (call, result *schema.Message) {
		return schema.AssistantMessage("", []schema.ToolCall{einoCall(id)}), schema.ToolMessage(toolResult, id, schema.WithToolName(toolName))
	})
}

type einoModel struct{ *script }

func (m einoModel) Generate(context.Context, []*schema.Message, ...model.Option) (*schema.Message, error) {
	ids := m.next()
	if ids == nil {
		return schema.AssistantMessage(answer, nil), nil
	}
	calls := make([]schema.ToolCall, len(ids))
	for i, id := range ids {
		calls[i] = einoCall(id)
	}
	return schema.AssistantMessage("", calls), nil
}

func einoCall(id string) schema.ToolCall {
	return schema.ToolCall{ID: id, Type: "function", Function: schema.FunctionCall{Name: toolName, Arguments: arguments}}
}

func (m einoModel) Stream(ctx context.Context, messages []*schema.Message, options ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	message, err := m.Generate(ctx, messages, options...)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray([]*schema.Message{message}), nil
}

// openLangchainGo opens langchaingo's executor with its agent for functions.
func openLangchainGo(_ context.Context, s *subject) (runner, error) {
	a := agents.NewOpenAIFunctionsAgent(lcModel{newScript(s.turns, s.calls)}, []tools.Tool{lcTool{s}})
	executor := agents.NewExecutor(a, agents.WithMaxIterations(turns+1))
	return func(ctx context.Context) (string, error) { return chains.Run(ctx, executor, question) }, nil
}

// lcTool is the tool in langchaingo's type: it gets the arguments as text.
type lcTool struct{ *subject }

func (lcTool) Name() string        { return toolName }
func (lcTool) Description() string { return toolPurpose }

func (t lcTool) Call(context.Context, string) (string, error) { return t.tool(), nil }

type lcModel struct{ *script }

func (m lcModel) GenerateContent(context.Context, []llms.MessageContent, ...llms.CallOption) (*llms.ContentResponse, error) {
	ids := m.next()
	choice := &llms.ContentChoice{}
	if ids == nil {
		choice.Content, choice.StopReason = answer, "stop"
	} else {
		choice.StopReason, choice.ToolCalls = "tool_calls", make([]llms.ToolCall, len(ids))
	}
	for i, id := range ids {
		choice.ToolCalls[i] = llms.ToolCall{ID: id, Type: "function", FunctionCall: &llms.FunctionCall{Name: toolName, Arguments: arguments}}
	}
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{choice}}, nil
}

func (m lcModel) Call(ctx context.Context, prompt string, options ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, m, prompt, options...)
}
