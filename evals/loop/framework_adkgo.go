package main

import (
	"context"
	"iter"
	"strconv"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	adkagent "google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/adk/v2/tool/mcptoolset"
	"google.golang.org/genai"
)

// adkGo is an LLM agent of Google's ADK.
type adkGo struct {
	runner   *runner.Runner
	sessions session.Service
	runs     int
	says     *genai.Content
}

const (
	adkApp  = "loop"
	adkUser = "user"
)

func openADKGo(_ context.Context, p *place) (loop, error) {
	config := llmagent.Config{Name: "agent", Description: "An agent.", Model: adkModel{newScript(p.turns, p.calls)}}
	if p.kind == native {
		echo, err := functiontool.New(functiontool.Config{Name: toolName, Description: toolPurpose},
			func(adkagent.Context, input) (map[string]any, error) { return map[string]any{"output": p.tool()}, nil })
		if err != nil {
			return nil, err
		}
		config.Tools = []tool.Tool{echo}
	} else {
		set, err := mcptoolset.New(mcptoolset.Config{Transport: &sdk.IOTransport{Reader: p.reader, Writer: p.writer}})
		if err != nil {
			return nil, err
		}
		config.Toolsets = []tool.Toolset{set}
	}
	a, err := llmagent.New(config)
	if err != nil {
		return nil, err
	}
	g := &adkGo{sessions: session.InMemoryService(), says: genai.NewContentFromText(question, genai.RoleUser)}
	g.runner, err = runner.New(runner.Config{AppName: adkApp, Agent: a, SessionService: g.sessions, AutoCreateSession: true})
	if err != nil {
		return nil, err
	}
	return g, nil
}

func (g *adkGo) run(ctx context.Context) (text string, err error) {
	g.runs++
	id := strconv.Itoa(g.runs)
	for event, err := range g.runner.Run(ctx, adkUser, id, g.says, adkagent.RunConfig{}) {
		if err != nil {
			return "", err
		}
		if c := event.Content; c != nil && len(c.Parts) > 0 {
			text = c.Parts[0].Text
		}
	}
	// Sessions would pile up in memory.
	return text, g.sessions.Delete(ctx, &session.DeleteRequest{AppName: adkApp, UserID: adkUser, SessionID: id})
}

// close leaves the client to the end of its pipes: the toolset has no Close.
func (g *adkGo) close() error { return nil }

// adkModel is the model in ADK's type.
type adkModel struct{ *script }

func (adkModel) Name() string { return "instant" }

func (m adkModel) GenerateContent(context.Context, *model.LLMRequest, bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		ids := m.next()
		if ids == nil {
			yield(&model.LLMResponse{Content: genai.NewContentFromText(answer, genai.RoleModel), FinishReason: genai.FinishReasonStop}, nil)
			return
		}
		content := &genai.Content{Role: genai.RoleModel, Parts: make([]*genai.Part, len(ids))}
		for i, id := range ids {
			// The provider's reply has the arguments decoded.
			content.Parts[i] = &genai.Part{FunctionCall: &genai.FunctionCall{ID: id, Name: toolName, Args: map[string]any{"x": 1.0}}}
		}
		yield(&model.LLMResponse{Content: content, FinishReason: genai.FinishReasonStop}, nil)
	}
}
