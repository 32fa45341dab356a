//lint:file-ignore SA1019 revision 2026-07-28 deprecates sampling, which works all the same

package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxFile bounds a file that is summarised, in bytes.
const maxFile = 256 << 10

// serve is the server. It reads files of its working directory only.
func serve(ctx context.Context) error {
	root, err := os.OpenRoot(".")
	if err != nil {
		return err
	}
	defer root.Close()
	s := mcp.NewServer(&mcp.Implementation{Name: "summarizer", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "summarize", Description: "summarises a text file of the working directory"},
		func(_ context.Context, r *mcp.CallToolRequest, args file) (*mcp.CallToolResult, any, error) {
			result, err := answer(root, r, args.Path)
			return result, nil, err
		})
	return s.Run(ctx, &mcp.StdioTransport{})
}

type file struct {
	Path string `json:"path" jsonschema:"path of the file, within the working directory"`
}

// answer returns the summary when the model has given one, and else asks for
// it; the SDK has the client answer, whatever revision it speaks.
func answer(root *os.Root, r *mcp.CallToolRequest, path string) (*mcp.CallToolResult, error) {
	if summary, ok := r.Params.InputResponses["summary"].(*mcp.CreateMessageWithToolsResult); ok {
		return &mcp.CallToolResult{Content: summary.Content}, nil
	}
	text, err := read(root, path)
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"summary": &mcp.CreateMessageParams{
		SystemPrompt: "Summarise the text in at most three sentences.",
		MaxTokens:    300,
		Messages:     []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}},
		ModelPreferences: &mcp.ModelPreferences{
			Hints: []*mcp.ModelHint{{Name: "mini"}}, CostPriority: 0.8, SpeedPriority: 0.5,
		},
	}}}, nil
}

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
