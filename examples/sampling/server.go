//lint:file-ignore SA1019 revision 2026-07-28 deprecates sampling, but servers still use it

package main

import (
	"context"
	"fmt"
	"io"
	"os"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxFile bounds a file to summarise, in bytes.
const maxFile = 256 << 10

// serve is the server. It reads only files of its working directory.
func serve(ctx context.Context) error {
	root, err := os.OpenRoot(".")
	if err != nil {
		return err
	}
	defer root.Close()
	s := sdk.NewServer(&sdk.Implementation{Name: "summarizer", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "summarize", Description: "summarises a text file of the working directory"},
		func(_ context.Context, r *sdk.CallToolRequest, args file) (*sdk.CallToolResult, any, error) {
			result, err := answer(root, r, args.Path)
			return result, nil, err
		})
	return s.Run(ctx, &sdk.StdioTransport{})
}

// file is the argument of the tool.
type file struct {
	Path string `json:"path" jsonschema:"path of the file, within the working directory"`
}

// answer returns the model's summary if the client has sent it, or else asks the client for it.
func answer(root *os.Root, r *sdk.CallToolRequest, path string) (*sdk.CallToolResult, error) {
	if summary, ok := r.Params.InputResponses["summary"].(*sdk.CreateMessageWithToolsResult); ok {
		return &sdk.CallToolResult{Content: summary.Content}, nil
	}
	text, err := read(root, path)
	if err != nil {
		return nil, err
	}
	return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"summary": &sdk.CreateMessageParams{
		SystemPrompt: "Summarise the text in at most three sentences.",
		MaxTokens:    300,
		Messages:     []*sdk.SamplingMessage{{Role: "user", Content: &sdk.TextContent{Text: text}}},
		ModelPreferences: &sdk.ModelPreferences{
			Hints: []*sdk.ModelHint{{Name: "mini"}}, CostPriority: 0.8, SpeedPriority: 0.5,
		},
	}}}, nil
}

// read reads a file of at most maxFile bytes.
func read(root *os.Root, path string) (string, error) {
	f, err := root.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return "", err
	}
	if len(text) > maxFile {
		return "", fmt.Errorf("%s has more than %d bytes", path, maxFile)
	}
	return string(text), nil
}
