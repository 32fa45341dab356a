package demoserver

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const menu = `# Menu

- Soup of the day
- Risotto with mushrooms
- Grilled fish
- Lemon tart
`

// addOffers adds what is not a tool: a resource, a template and a prompt.
func addOffers(s *mcp.Server) {
	s.AddResource(&mcp.Resource{
		URI: "demo://menu", Name: "menu", Title: "Menu of the restaurant", MIMEType: "text/markdown",
	}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{
			{URI: "demo://menu", MIMEType: "text/markdown", Text: menu},
		}}, nil
	})
	s.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: "demo://dish/{name}", Name: "dish", Title: "A dish", MIMEType: "text/plain",
	}, func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		dish := strings.TrimPrefix(req.Params.URI, "demo://dish/")
		if !strings.Contains(strings.ToLower(menu), strings.ToLower(dish)) {
			return nil, mcp.ResourceNotFoundError(req.Params.URI)
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{
			{URI: req.Params.URI, MIMEType: "text/plain", Text: fmt.Sprintf("%.40s is on the menu.", dish)},
		}}, nil
	})
	s.AddPrompt(&mcp.Prompt{
		Name: "evening", Title: "Plan an evening", Description: "Looks at the weather and books a table.",
		Arguments: []*mcp.PromptArgument{
			{Name: "city", Description: "where to go out", Required: true},
			{Name: "people", Description: "how many come along"},
		},
	}, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		question := fmt.Sprintf("What is the weather in %.60s? Then book a table", req.Params.Arguments["city"])
		if people := req.Params.Arguments["people"]; people != "" {
			question += fmt.Sprintf(" for %.3s", people)
		}
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{
			{Role: "user", Content: &mcp.TextContent{Text: question + "."}},
		}}, nil
	})
}
