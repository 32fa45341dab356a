package tryout

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

var dishes = []string{"Soup of the day", "Risotto with mushrooms", "Grilled fish", "Lemon tart"}

// addOffers adds a resource, a template and a prompt.
func addOffers(s *sdk.Server) {
	s.AddResource(&sdk.Resource{
		URI: "demo://menu", Name: "menu", Title: "Menu of the restaurant", MIMEType: "text/markdown",
	}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{
			{URI: "demo://menu", MIMEType: "text/markdown", Text: "# Menu\n\n- " + strings.Join(dishes, "\n- ") + "\n"},
		}}, nil
	})
	s.AddResourceTemplate(&sdk.ResourceTemplate{
		URITemplate: "demo://dish/{name}", Name: "dish", Title: "A dish", MIMEType: "text/plain",
	}, func(_ context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		name, err := url.PathUnescape(strings.TrimPrefix(req.Params.URI, "demo://dish/"))
		i := slices.IndexFunc(dishes, func(dish string) bool { return strings.Contains(strings.ToLower(dish), strings.ToLower(name)) })
		if err != nil || name == "" || i < 0 {
			return nil, sdk.ResourceNotFoundError(req.Params.URI)
		}
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{
			{URI: req.Params.URI, MIMEType: "text/plain", Text: name + " is on the menu."},
		}}, nil
	})
	s.AddPrompt(&sdk.Prompt{
		Name: "evening", Title: "Plan an evening", Description: "Looks at the weather and books a table.",
		Arguments: []*sdk.PromptArgument{
			{Name: "city", Description: "where to go out", Required: true},
			{Name: "people", Description: "how many come along"},
		},
	}, func(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		question := fmt.Sprintf("What is the weather in %.60s? Then book a table", req.Params.Arguments["city"])
		if people := req.Params.Arguments["people"]; people != "" {
			question += fmt.Sprintf(" for %.3s", people)
		}
		return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{
			{Role: "user", Content: &sdk.TextContent{Text: question + "."}},
		}}, nil
	})
}

// complete proposes values for the arguments of the prompt.
func complete(_ context.Context, req *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	values := []string{}
	if req.Params.Ref.Name == "evening" && req.Params.Argument.Name == "city" {
		for _, city := range cities() {
			if strings.HasPrefix(strings.ToLower(city), strings.ToLower(req.Params.Argument.Value)) {
				values = append(values, city)
			}
		}
	}
	return &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: values, Total: len(values)}}, nil
}
