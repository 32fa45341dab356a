//lint:file-ignore SA1019 sampling is deprecated, but servers use it

package sampling

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/internal/testenv/peer"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/sampling"
)

// bench is one server and one host, with the sampler between them.
type bench struct {
	asker
	url string

	mu       sync.Mutex
	outcomes []string
}

// call makes the server ask about something.
func (b *bench) call(ctx context.Context, t *testing.T, c *mcpclient.Client, about string) (string, error) {
	t.Helper()
	res, err := c.CallTool(ctx, b.tool, map[string]any{b.argument: about, "maxTokens": 100})
	if err != nil {
		return "", err
	}
	if failed := res.Err(); failed != nil {
		return "", failed
	}
	return res.Text(), nil
}

func (b *bench) connect(t *testing.T, opts *sampling.Options) *mcpclient.Client {
	t.Helper()
	b.outcomes = nil
	opts.Audit = func(_ context.Context, got *sampling.Record) {
		b.mu.Lock()
		defer b.mu.Unlock()
		var r struct {
			Server, Tool, Revision, Outcome string
			InputTokens, OutputTokens       int
		}
		record := check.Value(json.Marshal(got))(t)
		check.Must(t, json.Unmarshal(record, &r))
		b.outcomes = append(b.outcomes, r.Outcome)
		isCounted := r.InputTokens+r.OutputTokens != 0 || r.Outcome != "answered"
		check.That(t, r.Server == "the server" && r.Tool == b.tool && strings.HasPrefix(r.Revision, "2") && isCounted,
			"got the record %s, want the server, the tool, the revision and tokens", record)
	}
	cfg := openai.DefaultConfig("sk-of-nobody")
	cfg.BaseURL = b.url
	s := check.Value(sampling.New(cfg, "gpt-4.1", opts))(t)
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
	defer cancel()
	c, err := mcpclient.Connect(ctx, b.transport(t), &mcpclient.Options{Protocol: mcpclient.Protocol{Revision: b.revision}, Sampling: s.ForServer("the server")})
	check.Must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func (b *bench) check(t *testing.T, want ...string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	check.Same(t, "outcomes", b.outcomes, want)
}

// wantRefused checks a refusal from the server's side: error -1 in the legacy
// era, the end of the call in the modern one, which has no such answer.
func (b *bench) wantRefused(t *testing.T, err error, reason string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), reason) {
		t.Errorf("got %v, want an error with %q", err, reason)
		return
	}
	check.That(t, !b.modern || errors.Is(err, mcp.ErrRejected), "got %v, want %v", err, mcp.ErrRejected)
	check.That(t, b.modern || strings.Contains(err.Error(), "-1"), "got %v, want the server to have seen code -1", err)
}

// TestEndToEnd makes every server ask a host by other authors.
func TestEndToEnd(t *testing.T) {
	t.Parallel()
	url := aimock(t)
	for _, a := range askers() {
		t.Run(a.name, func(t *testing.T) {
			b := &bench{asker: a, url: url}
			t.Run("accepted", func(t *testing.T) { accepted(t, b) })
			t.Run("edited", func(t *testing.T) { edited(t, b) })
			t.Run("refused", func(t *testing.T) { refused(t, b) })
			t.Run("reply refused", func(t *testing.T) { replyRefused(t, b) })
			t.Run("over budget", func(t *testing.T) { overBudget(t, b) })
			t.Run("cancelled in the middle", func(t *testing.T) { cancelled(t, b) })
		})
	}
}

func accepted(t *testing.T, b *bench) {
	c := b.connect(t, &sampling.Options{})
	got, err := b.call(t.Context(), t, c, "a question")
	check.That(t, err == nil && strings.Contains(got, "An answer."), "got %q, %v, want An answer.", got, err)
	b.check(t, "answered")
	if !b.tools {
		return
	}
	got, err = b.call(t.Context(), t, c, "a day in Berlin")
	check.That(t, err == nil && strings.Contains(got, "Take a coat."), "with a tool: got %q, %v, want Take a coat.", got, err)
	b.check(t, "answered", "answered", "answered")
}

func edited(t *testing.T, b *bench) {
	c := b.connect(t, &sampling.Options{Review: &sampling.Review{
		Request: func(_ context.Context, r *sampling.Request) error {
			r.Params.Messages[0].Content = []mcp.Content{&mcp.TextContent{Text: "edited"}}
			return nil
		},
		Reply: func(_ context.Context, _ *sampling.Request, reply *mcp.CreateMessageResult) error {
			text := reply.Content[0].(*mcp.TextContent)
			reply.Content = []mcp.Content{&mcp.TextContent{Text: text.Text + " Checked."}}
			return nil
		},
	}})
	const want = "An answer to what the reviewer wrote. Checked."
	got, err := b.call(t.Context(), t, c, "a question")
	check.That(t, err == nil && strings.Contains(got, want), "got %q, %v, want %q", got, err, want)
	b.check(t, "answered")
}

func refused(t *testing.T, b *bench) {
	c := b.connect(t, &sampling.Options{Review: &sampling.Review{Request: func(context.Context, *sampling.Request) error { return errors.New("not now") }}})
	b.wantRefused(t, check.Err(b.call(t.Context(), t, c, "a question")), "the request was not approved")
	b.check(t, "refused")
}

func replyRefused(t *testing.T, b *bench) {
	c := b.connect(t, &sampling.Options{Review: &sampling.Review{
		Reply: func(context.Context, *sampling.Request, *mcp.CreateMessageResult) error { return errors.New("no") },
	}})
	b.wantRefused(t, check.Err(b.call(t.Context(), t, c, "a question")), "the reply was not approved")
	b.check(t, "refused")
}

func overBudget(t *testing.T, b *bench) {
	c := b.connect(t, &sampling.Options{Limits: sampling.Limits{PerServer: sampling.Budget{Requests: 1}}})
	about := "a day in Berlin" // takes two requests
	if !b.tools {
		about = "a question"
		check.Must(t, check.Err(b.call(t.Context(), t, c, about)))
	}
	_, err := b.call(t.Context(), t, c, about)
	b.wantRefused(t, err, "the limit of 1 requests in 1h0m0s for one server is used up")
	b.check(t, "answered", "refused")
}

// cancelled cancels after the first words of a long answer.
func cancelled(t *testing.T, b *bench) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := b.connect(t, &sampling.Options{OnText: func(context.Context, *sampling.Request, string) { cancel() }})
	check.Is(t, check.Err(b.call(ctx, t, c, "an endless story")), context.Canceled)
	check.NoError(t, c.Close(), "close")
	<-c.Done() // the handler has returned
	b.check(t, "cancelled")
}

func install(t *testing.T) *testenv.NPM {
	t.Helper()
	return testenv.InstallNPM(t, os.DirFS("testdata/npm"))
}

// aimock starts an OpenAI-compatible server by other authors, and returns its base URL. It answers
// by testdata/answers.json, and other requests with an error.
func aimock(t *testing.T) string {
	t.Helper()
	set := install(t)
	return set.Listen(t, regexp.MustCompile(`listening on (http://\S+)`), set.Module("@copilotkit/aimock/dist/cli.js"),
		"--port", "0", "--fixtures", "testdata/answers.json", "--strict", "--validate-on-load", "--log-level", "info") + "/v1"
}

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
