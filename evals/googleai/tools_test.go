package googleai

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tmc/langchaingo/llms/googleai"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/lc"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// gemini answers every request with a text and keeps the latest.
type gemini struct{ body []byte }

func (g *gemini) RoundTrip(r *http.Request) (*http.Response, error) {
	var err error
	if g.body, err = io.ReadAll(r.Body); err != nil {
		return nil, err
	}
	const answer = `{"candidates":[{"content":{"role":"model","parts":[{"text":"Done."}]},"finishReason":"STOP"}]}`
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(answer)), Request: r,
	}, nil
}

func (g *gemini) model(t *testing.T) *googleai.GoogleAI {
	t.Helper()
	model, err := googleai.New(t.Context(), googleai.WithRest(), googleai.WithAPIKey("none"),
		googleai.WithHTTPClient(&http.Client{Transport: g}), googleai.WithDefaultModel("gemini-2.5-flash"))
	check.Must(t, err)
	t.Cleanup(func() { _ = model.Close() })
	return model
}

// recorded reads the tools of each server in the interoperability tests, and the schemas of the adapter's tests, by the
// name of the list.
func recorded(t *testing.T) map[string][]adapter.Source {
	t.Helper()
	out := map[string][]adapter.Source{}
	add := func(list string, def *mcp.Tool) {
		tool, err := adapter.NewFuncTool(def, func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) { return &mcp.CallToolResult{}, nil }, nil)
		check.Require(t, err == nil, "%s: %v", list, err)
		out[list] = append(out[list], tool)
	}
	for _, pattern := range []string{"../interop/testdata/tools/*.jsonl", "../../adapter/testdata/schemas/*.json"} {
		files, err := filepath.Glob(pattern)
		check.Require(t, err == nil && len(files) != 0, "%s: %d lists, %v", pattern, len(files), err)
		for _, file := range files {
			data := check.Value(os.ReadFile(file))(t)
			if filepath.Ext(file) == ".json" {
				var schemas map[string]json.RawMessage
				err := json.Unmarshal(data, &schemas)
				check.Require(t, err == nil, "%s: %v", file, err)
				for name, schema := range schemas {
					add(file, &mcp.Tool{Name: name, InputSchema: schema})
				}
				continue
			}
			for line := range bytes.Lines(data) {
				def := &mcp.Tool{}
				err := json.Unmarshal(line, def)
				check.Require(t, err == nil, "%s: %v", file, err)
				add(file, def)
			}
		}
	}
	add("names", &mcp.Tool{Name: "21st_build", InputSchema: json.RawMessage(`{"type":"object"}`)})
	return out
}

// declaration is a function in a request to Gemini.
type declaration struct {
	Name       string
	Parameters *parameters
}

type parameters struct {
	Type       any // a number or a name, by the version of the client
	Properties map[string]*parameters
	Items      *parameters
}

// The Gemini API's names and numbers of types.
var typeNames = map[string]string{
	"1": "STRING", "2": "NUMBER", "3": "INTEGER", "4": "BOOLEAN", "5": "ARRAY", "6": "OBJECT",
	"STRING": "STRING", "NUMBER": "NUMBER", "INTEGER": "INTEGER", "BOOLEAN": "BOOLEAN", "ARRAY": "ARRAY", "OBJECT": "OBJECT",
}

// check reports parts of a schema that Gemini refuses: an unknown type, an object without properties, a list without items.
func (p *parameters) check(at string) error {
	kind := typeNames[fmt.Sprint(p.Type)]
	switch {
	case kind == "":
		return fmt.Errorf("%s: type %v", at, p.Type)
	case kind == "OBJECT" && len(p.Properties) == 0:
		return fmt.Errorf("%s: an object without properties", at)
	case kind == "ARRAY" && p.Items == nil:
		return fmt.Errorf("%s: a list without items", at)
	}
	for name, sub := range p.Properties {
		if err := sub.check(at + "/" + name); err != nil {
			return err
		}
	}
	if p.Items != nil {
		return p.Items.check(at + "/items")
	}
	return nil
}

// For each tool of each server, langchaingo's googleai accepts an agent's definition, and Gemini accepts googleai's request.
func TestToolsOfServers(t *testing.T) {
	for list, tools := range recorded(t) {
		t.Run(list, func(t *testing.T) {
			g := new(gemini)
			a := check.Value(agent.New(lc.Model(g.model(t), nil), &agent.Options{Tools: tools}))(t)
			check.Must(t, check.Err(a.Run(t.Context(), agent.Text("go"))))
			var sent struct {
				Tools []struct{ FunctionDeclarations []declaration }
			}
			check.Must(t, json.Unmarshal(g.body, &sent))
			check.Require(t, len(sent.Tools) == 1 && len(sent.Tools[0].FunctionDeclarations) == len(tools), "got %s, want %d functions", g.body, len(tools))
			for _, d := range sent.Tools[0].FunctionDeclarations {
				first := d.Name[0]
				check.That(t, first == '_' || first|0x20 >= 'a' && first|0x20 <= 'z', "%s: want a letter or _ first", d.Name)
				if d.Parameters == nil {
					t.Errorf("%s: got no parameters", d.Name)
				} else if err := d.Parameters.check(""); err != nil {
					t.Errorf("%s: %v", d.Name, err)
				}
			}
		})
	}
}
