// Package tryout provides a server and a model to try programs with.
//
// The server is built on the official Go SDK and has an example of each feature: plain tools, a tool that
// asks the client's model, one that asks the person, one that reports progress,
// one that returns an image, a resource, a template, a prompt and completion.
//
// The model is an OpenAI-compatible endpoint that answers by fixed rules. With it a program runs without a
// real model, and its tests know the answers.
package tryout

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const instructions = "Tools for trying things out: sums, products, the weather of a few cities, " +
	"summaries, table bookings, counting, and a picture."

// NewServer returns the server. It keeps no state between calls.
func NewServer() *sdk.Server {
	s := sdk.NewServer(
		&sdk.Implementation{Name: "demo", Title: "Demo server", Version: "1.0.0"},
		&sdk.ServerOptions{Instructions: instructions, CompletionHandler: complete},
	)
	addPlainTools(s)
	addAskingTools(s)
	addOffers(s)
	return s
}

// RunServer serves over standard input and output until the input ends.
func RunServer(ctx context.Context) error {
	return NewServer().Run(ctx, &sdk.StdioTransport{})
}

// readOnly describes a tool that changes nothing anywhere.
func readOnly(name, title, description string) *sdk.Tool {
	return &sdk.Tool{
		Name: name, Title: title, Description: description,
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: new(false)},
	}
}

func text(s string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
}

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
