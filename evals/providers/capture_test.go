package providers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sashabaranov/go-openai"
	"golang.org/x/tools/txtar"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/openaimodel"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/chat"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/sampling"
)

type endpoint struct{ host, model string }

func (e endpoint) String() string { return e.model + " at " + e.host }

// endpoints are all known hosts, and models of other vendors if a host has them.
func endpoints() []endpoint {
	var out []endpoint
	for _, host := range chat.Hosts() {
		out = append(out, endpoint{host, "gpt-4.1"})
	}
	for _, host := range []string{"openrouter", "compatible"} {
		out = append(out, endpoint{host, "anthropic/claude-sonnet-4.5"}, endpoint{host, "google/gemini-2.5-pro"}, endpoint{host, "moonshotai/kimi-k2"})
	}
	return append(out, endpoint{"openai", "gpt-5"}, endpoint{"azure", "o3"})
}

// recorder is the host. It calls the first offered tool, and answers with a text after a result.
type recorder struct {
	mu       sync.Mutex
	requests []map[string]any
}

func (r *recorder) Do(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	var request struct {
		Messages []struct{ Role string }
		Tools    []struct{ Function struct{ Name string } }
	}
	var whole map[string]any
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(body, &whole); err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.requests = append(r.requests, whole)
	r.mu.Unlock()
	message := map[string]any{"role": "assistant", "content": "Done."}
	answered := slices.ContainsFunc(request.Messages, func(m struct{ Role string }) bool { return m.Role == "tool" })
	if !answered && len(request.Tools) > 0 {
		message = map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{
			"id": "call_1", "type": "function", "function": map[string]any{"name": request.Tools[0].Function.Name, "arguments": "{}"},
			"extra_content": map[string]any{"google": map[string]any{"thought_signature": "s"}},
		}}, "reasoning_content": "thinking"}
	}
	answer, err := json.Marshal(map[string]any{"model": "m", "choices": []any{map[string]any{"message": message, "finish_reason": "stop"}}})
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(answer)), Request: req,
	}, nil
}

func (r *recorder) config() openai.ClientConfig {
	cfg := openai.DefaultConfig("none")
	cfg.HTTPClient = r
	return cfg
}

// lists reads the tools of the servers in the interoperability tests, and the
// schemas of the adapter's tests, by the name of the list.
func lists(t *testing.T) map[string][]*mcp.Tool {
	t.Helper()
	out := map[string][]*mcp.Tool{}
	for name, data := range files(t, "../interop/testdata/tools/*.jsonl") {
		for line := range bytes.Lines(data) {
			tool := new(mcp.Tool)
			err := json.Unmarshal(line, tool)
			check.Require(t, err == nil, "%s: %v", name, err)
			out[name] = append(out[name], tool)
		}
	}
	for name, data := range files(t, "../../adapter/testdata/schemas/*.json") {
		var schemas map[string]json.RawMessage
		err := json.Unmarshal(data, &schemas)
		check.Require(t, err == nil, "%s: %v", name, err)
		for tool, schema := range schemas {
			out[name] = append(out[name], &mcp.Tool{Name: tool, InputSchema: schema})
		}
	}
	out["names"] = []*mcp.Tool{{Name: "21st_build"}, {Name: "files.read"}, {Name: "-x"}, {Name: strings.Repeat("long", 30)}}
	for _, tool := range out["names"] {
		tool.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	return out
}

func files(t *testing.T, pattern string) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	check.Require(t, err == nil && len(paths) != 0, "%s: %d files, %v", pattern, len(paths), err)
	out := map[string][]byte{}
	for _, path := range paths {
		out[filepath.Base(path)], err = os.ReadFile(path)
		check.Must(t, err)
	}
	return out
}

// sampled sends each request of the sampler's tests to the model, and a request with each list of tools.
func sampled(t *testing.T, e endpoint, lists map[string][]*mcp.Tool) []map[string]any {
	t.Helper()
	r := new(recorder)
	opts := &sampling.Options{
		Host:     e.host,
		Metadata: []string{"user", "ticket"}, Extra: map[string]json.RawMessage{"store": json.RawMessage("true")},
		Limits: sampling.Limits{Total: sampling.Budget{Requests: 20_000, Tokens: 1 << 41}, InputBytes: 1 << 30},
	}
	sampler, err := sampling.New(r.config(), e.model, opts)
	if err != nil { // not all hosts take metadata
		opts.Metadata, opts.Extra = nil, nil
		sampler, err = sampling.New(r.config(), e.model, opts)
	}
	check.Must(t, err)
	for name, data := range files(t, "../../sampling/testdata/wire/*.txtar") {
		for _, f := range txtar.Parse(data).Files {
			if f.Name != "params" {
				continue
			}
			params := new(mcp.CreateMessageParams)
			err := json.Unmarshal(f.Data, params)
			check.Require(t, err == nil, "%s: %v", name, err)
			_, _ = sampler.CreateMessage(t.Context(), params) // some are against the rules
		}
	}
	for name, tools := range lists {
		params := &mcp.CreateMessageParams{MaxTokens: 100, Tools: tools, Messages: []mcp.SamplingMessage{
			{Role: "user", Content: []mcp.Content{&mcp.TextContent{Text: "go"}}},
		}}
		result, err := sampler.CreateMessage(t.Context(), params)
		check.Require(t, err == nil, "%s, %s: %v", e, name, err)
		use, ok := result.Content[0].(*mcp.ToolUseContent)
		check.Require(t, ok, "%s, %s: got %T, want a tool use", e, name, result.Content[0])
		params.Messages = append(params.Messages,
			mcp.SamplingMessage{Role: "assistant", Content: result.Content},
			mcp.SamplingMessage{Role: "user", Content: []mcp.Content{
				&mcp.ToolResultContent{ToolUseID: use.ID, Content: []mcp.Content{&mcp.TextContent{Text: "done"}}},
			}})
		_, err = sampler.CreateMessage(t.Context(), params)
		check.Require(t, err == nil, "%s, %s: %v", e, name, err)
	}
	return r.requests
}

// offer lets agents use the tools of each list, up to their last answer without tools.
func offer(t *testing.T, e endpoint, lists map[string][]adapter.Source) []map[string]any {
	t.Helper()
	r := new(recorder)
	m := check.Value(openaimodel.New(r.config(), e.model, &openaimodel.Options{Host: e.host, MaxTokens: 100}))(t)
	type answer struct {
		Text string `json:"text"`
		Size *int   `json:"size,omitempty"`
	}
	for name, tools := range lists {
		a := check.Value(agent.New(m, &agent.Options{
			System: "Be brief.", Tools: tools, Limits: run.Limits{Turns: 1}, Model: agent.ModelSettings{Temperature: new(0.5)},
			Hooks: []agent.Hook{{BeforeModel: func(_ context.Context, _ *agent.State, q *model.Request) error {
				q.Stop = []string{"STOP"}
				return nil
			}}},
		}))(t)
		_, err := a.Run(t.Context(), agent.Text("go"))
		check.Require(t, err == nil, "%s, %s: %v", e, name, err)
		if name != "names" {
			continue
		}
		if _, _, err := agent.RunAs[answer](t.Context(), a, agent.Text("go")); !errors.Is(err, agent.ErrNoOutput) {
			t.Fatalf("%s: %v", e, err) // the host knows no such answer
		}
	}
	return r.requests
}

func sources(t *testing.T, lists map[string][]*mcp.Tool) map[string][]adapter.Source {
	t.Helper()
	out := map[string][]adapter.Source{}
	for name, tools := range lists {
		for _, tool := range tools {
			made, err := adapter.NewFuncTool(tool, func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) { return &mcp.CallToolResult{}, nil },
				&adapter.FuncOptions{Server: "recorded"})
			check.Require(t, err == nil, "%s: %v", name, err)
			out[name] = append(out[name], made)
		}
	}
	return out
}

// capture calls visit with every request of samplers and agents, with its sender and its endpoint.
func capture(t *testing.T, visit func(e endpoint, by string, request map[string]any)) {
	t.Helper()
	lists := lists(t)
	made := sources(t, lists)
	for _, e := range endpoints() {
		for by, requests := range map[string][]map[string]any{"sampling": sampled(t, e, lists), "agent": offer(t, e, made)} {
			check.That(t, len(requests) >= 2*len(lists), "%s, %s: got %d requests, want two for each of %d lists", e, by, len(requests), len(lists))
			for _, request := range requests {
				visit(e, by, request)
			}
		}
	}
}

func cut(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return strings.ToValidUTF8(string(raw[:min(len(raw), 1000)]), "")
}
