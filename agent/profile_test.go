package agent_test

import (
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	oai "github.com/sashabaranov/go-openai"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/anthropic"
	"github.com/tmc/langchaingo/llms/openai"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/convert"
	"github.com/mcpchain/mcpchain/agent/openaimodel"
)

// odd is a schema that each provider refuses, or drops a part of.
const odd = `{"type":"object","properties":{"a b":{"type":["string","null"]},"t":{"items":[{"type":"integer"}],"type":"array"}},"anyOf":[{"required":["a b"]},{"required":["t"]}]}`

// named is a model that names a profile.
type named struct {
	*script
	profile string
}

func (n named) ToolProfile(...llms.CallOption) string { return n.profile }

func hosted(t *testing.T, w *wire, host string) llms.Model {
	t.Helper()
	cfg := oai.DefaultConfig("x")
	cfg.HTTPClient = w
	model, err := openaimodel.New(cfg, "m", &openaimodel.Options{Host: host})
	if err != nil {
		t.Fatal(err)
	}
	return model
}

// The agent sends the schemas that the provider of the model takes.
func TestToolsAreWrittenForTheModel(t *testing.T) {
	w := &wire{replies: []string{openaiAnswer}}
	claude := &wire{replies: []string{anthropicAnswer}}
	langchain, err := openai.New(openai.WithToken("x"), openai.WithModel("gpt"), openai.WithHTTPClient(w))
	if err != nil {
		t.Fatal(err)
	}
	anthropics, err := anthropic.New(anthropic.WithToken("x"), anthropic.WithModel("claude"), anthropic.WithHTTPClient(claude))
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		model llms.Model
		wire  *wire
		opts  agent.Options
		want  adapter.Profile
	}{
		"langchaingo's openai":    {langchain, w, agent.Options{}, adapter.OpenAI},
		"langchaingo's anthropic": {anthropics, claude, agent.Options{}, adapter.Anthropic},
		"a host":                  {hosted(t, w, "groq"), w, agent.Options{}, adapter.OpenAI},
		"Gemini as a host":        {hosted(t, w, "gemini"), w, agent.Options{}, adapter.Gemini},
		"a vendor at a host": {hosted(t, w, "openrouter"), w,
			agent.Options{CallOptions: []llms.CallOption{llms.WithModel("anthropic/claude-x")}}, adapter.Anthropic},
		"as the options say":     {hosted(t, w, "gemini"), w, agent.Options{Profile: adapter.OpenAIStrict}, adapter.OpenAIStrict},
		"as the server wrote it": {langchain, w, agent.Options{Profile: adapter.Plain}, adapter.Plain},
		"by the dialect of a wrapped model": {named{script: play(says("x"))}, nil,
			agent.Options{Dialect: convert.Google}, adapter.GoogleAI},
	} {
		t.Run(name, func(t *testing.T) {
			tools, s := open(t, nil)
			s.AddTool(&sdk.Tool{Name: "odd", InputSchema: json.RawMessage(odd)}, nil)
			if err := tools.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			a := withTools(t, tt.model, tools, &tt.opts)
			if got := a.Profile(); got != tt.want {
				t.Fatalf("got the profile %s, want %s", got, tt.want)
			}
			mustRun(t, a, human("go"))
			if tt.wire == nil {
				return
			}
			want := map[string]any{}
			definitions := tools.Catalog(tt.want).Definitions()
			for _, d := range definitions {
				want[d.Function.Name] = decode(t, asJSON(t, d.Function.Parameters))
			}
			diff(t, "schemas", schemasOf(tt.wire.requests[len(tt.wire.requests)-1]), want)
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
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestUnknownProfile(t *testing.T) {
	for name, test := range map[string]struct {
		model llms.Model
		opts  agent.Options
	}{
		"of the options": {play(says("x")), agent.Options{Profile: "acme"}},
		"of the model":   {named{play(says("x")), "acme"}, agent.Options{}},
	} {
		if _, err := agent.New(test.model, &test.opts); err == nil || !strings.Contains(err.Error(), `no profile "acme"`) {
			t.Errorf("%s: got %v, want an error that names it", name, err)
		}
	}
}
