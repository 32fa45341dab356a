package agent_test

//lint:file-ignore SA1019 sampling is deprecated, but servers use it

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// The revisions that stand for the two eras.
var eras = []string{"2025-11-25", "2026-07-28"}

// server is an MCP server of the official SDK, in this process.
type server struct {
	*sdk.Server
	hangUp func() // ends its connection

	running, most atomic.Int32 // calls of "sleep" at the same time
}

// addTool adds a tool without a fixed shape of arguments.
func (s *server) addTool(name string, handler sdk.ToolHandler) {
	s.AddTool(&sdk.Tool{Name: name, Description: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, handler)
}

func text(s string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
}

func echo(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	return text(string(r.Params.Arguments)), nil
}

func newServer() *server {
	s := &server{Server: sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)}
	s.addTool("echo", echo)
	s.addTool("fail", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		out := text("disk full")
		out.IsError = true
		return out, nil
	})
	s.addTool("sleep", s.sleep)
	s.addTool("count", count)
	s.addTool("picture", picture)
	s.addTool("ask", ask)
	s.addTool("sample", sample)
	s.addTool("die", func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		s.hangUp()
		<-ctx.Done()
		return nil, ctx.Err()
	})
	return s
}

func (s *server) sleep(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	var args struct{ Seconds int }
	if err := json.Unmarshal(r.Params.Arguments, &args); err != nil {
		return nil, err
	}
	now := s.running.Add(1)
	defer s.running.Add(-1)
	for most := s.most.Load(); now > most && !s.most.CompareAndSwap(most, now); most = s.most.Load() {
	}
	select {
	case <-time.After(time.Duration(args.Seconds) * time.Second):
		return text(fmt.Sprintf("slept %d s", args.Seconds)), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func count(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	for i := 1; i <= 3; i++ {
		err := r.Session.NotifyProgress(ctx,
			&sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i), Total: 3})
		if err != nil {
			return nil, err
		}
	}
	return text("counted"), nil
}

func picture(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	return &sdk.CallToolResult{Content: []sdk.Content{
		&sdk.TextContent{Text: "two pictures"},
		&sdk.ImageContent{MIMEType: "image/png", Data: []byte("PNG")},
		&sdk.ImageContent{MIMEType: "image/tiff", Data: []byte("TIFF")},
	}}, nil
}

func ask(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	switch answer := r.Params.InputResponses["name"].(type) {
	case nil:
		return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"name": &sdk.ElicitParams{
			Message:         "who are you?",
			RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`),
		}}}, nil
	case *sdk.ElicitResult:
		return text(fmt.Sprintf("%s %v", answer.Action, answer.Content["name"])), nil
	default:
		return nil, fmt.Errorf("answered with %T", answer)
	}
}

func sample(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	switch answer := r.Params.InputResponses["poem"].(type) {
	case nil:
		return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"poem": &sdk.CreateMessageParams{
			MaxTokens: 10,
			Messages:  []*sdk.SamplingMessage{{Role: "user", Content: &sdk.TextContent{Text: "a poem"}}},
		}}}, nil
	case *sdk.CreateMessageWithToolsResult:
		return text(answer.Content[0].(*sdk.TextContent).Text), nil
	default:
		return nil, fmt.Errorf("answered with %T", answer)
	}
}

// connect runs the server until the test ends, and returns the way to reach it.
func (s *server) connect(t testing.TB) mcpclient.Transport {
	t.Helper()
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	session := check.Value(s.Connect(context.Background(), &sdk.IOTransport{Reader: fromClient, Writer: toClient}, nil))(t)
	s.hangUp = func() { toClient.Close(); toServer.Close() }
	t.Cleanup(func() { session.Close(); session.Wait() })
	return &mcpclient.IO{Reader: fromServer, Writer: toServer}
}

func inEra(revision string) *adapter.Options {
	return &adapter.Options{ClientOptions: &mcpclient.Options{Protocol: mcpclient.Protocol{Revision: revision}}}
}

// box makes a toolset of the server, called "box", and open one of a new server.
func (s *server) box(t testing.TB, opts *adapter.Options) *adapter.Toolset {
	t.Helper()
	return openAll(t, opts, adapter.Server{Name: "box", Transport: s.connect(t)})
}

func open(t testing.TB, opts *adapter.Options) (*adapter.Toolset, *server) {
	t.Helper()
	s := newServer()
	return s.box(t, opts), s
}

func openAll(t testing.TB, opts *adapter.Options, servers ...adapter.Server) *adapter.Toolset {
	t.Helper()
	toolset := check.Value(adapter.Open(context.Background(), servers, opts))(t)
	t.Cleanup(func() {
		err := toolset.Close()
		check.That(t, err == nil || errors.Is(err, mcpclient.ErrClosed), "close: %v", err)
	})
	return toolset
}

func withTools(t testing.TB, model agent.Model, toolset *adapter.Toolset, opts *agent.Options) *agent.Agent {
	t.Helper()
	var set agent.Options
	if opts != nil {
		set = *opts
	}
	set.Tools = append(set.Tools, toolset)
	return newAgent(t, model, &set)
}

// boxed is an agent with the tools of a new server.
func boxed(t testing.TB, model agent.Model, opts *agent.Options) *agent.Agent {
	t.Helper()
	toolset, _ := open(t, nil)
	return withTools(t, model, toolset, opts)
}

func typed(types ...string) func(agent.Event) bool {
	return func(e agent.Event) bool { return slices.Contains(types, agent.KindOf(e)) }
}

// happenings are the events of a run that test wants, in words.
func happenings(t testing.TB, a *agent.Agent, want func(agent.Event) bool) []string {
	t.Helper()
	var out []string
	for e := range each(t, a.Events(t.Context(), human("go"))) {
		if want(e) {
			out = append(out, describe(e))
		}
	}
	return out
}

// leaves leaves the range over the events of a run at one of them.
func leaves(t testing.TB, a *agent.Agent, at func(agent.Event) bool) {
	t.Helper()
	for e := range each(t, a.Events(t.Context(), human("go"))) {
		if at(e) {
			synctest.Wait()
			break
		}
	}
}
