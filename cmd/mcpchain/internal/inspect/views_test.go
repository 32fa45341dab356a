package inspect

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestViews lists the views of a server, and warns of what they reach.
func TestViews(t *testing.T) {
	t.Parallel()
	s := sdk.NewServer(&sdk.Implementation{Name: "s", Version: "1"}, nil)
	tool := func(name string, ui map[string]any) {
		sdk.AddTool(s, &sdk.Tool{Name: name, Meta: sdk.Meta{"ui": ui}}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{}, nil, nil
		})
	}
	tool("show", map[string]any{"resourceUri": "ui://s/v"})
	tool("again", map[string]any{"resourceUri": "ui://s/v"})
	tool("poll", map[string]any{"visibility": []string{"app"}})
	tool("lost", map[string]any{"resourceUri": "ui://s/lost"})
	s.AddResource(&sdk.Resource{URI: "ui://s/v", Name: "v"}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: "ui://s/v", MIMEType: "text/html;profile=mcp-app", Text: "<p>x", Meta: sdk.Meta{"ui": map[string]any{
			"csp":         map[string]any{"connectDomains": []string{"https://api.example.com", "http://127.0.0.1:9"}, "frameDomains": []string{"https://frames.example.com", "'unsafe-eval'"}},
			"permissions": map[string]any{"camera": map[string]any{}},
		}}}}}, nil
	})
	server := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{Stateless: true}))
	defer server.Close()
	_, out, errs := inspectFile(t, servers(`"s":{"type":"http","url":"`+server.URL+`"}`))
	for _, want := range []string{
		"tool for views alone: poll", "view ui://s/v of again, show\n", "reaches: https://api.example.com, http://127.0.0.1:9, https://frames.example.com\n",
		"warning: frames: https://frames.example.com\n", "warning: asks for: camera\n", "warning: reaches the private network: http://127.0.0.1:9\n",
		"warning: declares what no policy may have: frameDomains: \"'unsafe-eval'\"\n", "view ui://s/lost of lost\n    cannot be shown",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("got no %q in\n%s%s", want, out, errs)
		}
	}
}
