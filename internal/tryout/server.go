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
