package agent_test

import (
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tmc/langchaingo/llms/anthropic"
	"github.com/tmc/langchaingo/llms/openai"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/lc"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/internal/memhttp"
)

// odd is a schema that each provider refuses, or drops a part of.
const odd = `{"type":"object","properties":{"a b":{"type":["string","null"]},"t":{"items":[{"type":"integer"}],"type":"array"}},"anyOf":[{"required":["a b"]},{"required":["t"]}]}`

// The agent sends the schemas that the provider of the model takes.
func TestToolsAreWrittenForTheModel(t *testing.T) {
	w := &memhttp.Wire{Replies: []string{openaiAnswer}}
	claude := &memhttp.Wire{Replies: []string{anthropicAnswer}}
	langchain, err := openai.New(openai.WithToken("x"), openai.WithModel("gpt"), openai.WithHTTPClient(w))
	check(t, err)
	anthropics, err := anthropic.New(anthropic.WithToken("x"), anthropic.WithModel("claude"), anthropic.WithHTTPClient(claude))
	check(t, err)
	for name, tt := range map[string]struct {
		model agent.Model
		wire  *memhttp.Wire
		want  profile.Profile
	}{
		"langchaingo's openai":    {lc.Model(langchain, nil), w, profile.OpenAI},
		"langchaingo's anthropic": {lc.Model(anthropics, nil), claude, profile.Anthropic},
		"a host":                  {at(t, "groq", "m", w), w, profile.OpenAI},
		"Gemini as a host":        {at(t, "gemini", "m", w), w, profile.Gemini},
		"a vendor at a host":      {at(t, "openrouter", "anthropic/claude-x", w), w, profile.Anthropic},
		"as the options say":      {lc.Model(langchain, &lc.ModelOptions{Profile: profile.OpenAIStrict}), w, profile.OpenAIStrict},
		"as the server wrote it":  {lc.Model(langchain, &lc.ModelOptions{Profile: profile.Plain}), w, profile.Plain},
		"by the dialect":          {lc.Model(new(keeper), &lc.ModelOptions{Dialect: "google"}), nil, profile.GoogleAI},
	} {
		t.Run(name, func(t *testing.T) {
			tools, s := open(t, nil)
			s.AddTool(&sdk.Tool{Name: "odd", InputSchema: json.RawMessage(odd)}, nil)
			check(t, tools.Refresh(t.Context()))
			a := withTools(t, tt.model, tools, nil)
			if got := a.Profile(); got != tt.want {
				t.Fatalf("got the profile %s, want %s", got, tt.want)
			}
			if tt.wire == nil {
				return
			}
			mustRun(t, a, human("go"))
			want := map[string]any{}
			definitions := tools.Catalog(tt.want).Definitions()
			for _, d := range definitions {
				want[d.Function.Name] = decode(t, asJSON(t, d.Function.Parameters))
			}
			diff(t, "schemas", schemasOf(tt.wire.Requests[len(tt.wire.Requests)-1]), want)
		})
	}
}

// schemasOf are the schemas of tools in a request, by the names of the tools.
func schemasOf(request map[string]any) map[string]any {
	out := map[string]any{}
	for _, tool := range request["tools"].([]any) {
		tool := tool.(map[string]any)
		if function, ok := tool["function"].(map[string]any); ok {
			out[function["name"].(string)] = function["parameters"]
		} else {
			out[tool["name"].(string)] = tool["input_schema"]
		}
	}
	return out
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	check(t, err)
	return string(b)
}

func TestUnknownProfile(t *testing.T) {
	if _, err := agent.New(play(says("x")).as(model.Info{Profile: "acme"}), nil); err == nil || !strings.Contains(err.Error(), `the profile "acme"`) {
		t.Errorf("got %v, want an error that names it", err)
	}
}
