package chat

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// edit has the arguments of a tool that edits a file.
type edit struct {
	Path string `json:"path"`
	Old  string `json:"old_string"`
	New  string `json:"new_string"`
}

// addWorkshop adds tools with results that are long or not text.
func addWorkshop(s *sdk.Server) {
	text := func(text string) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil, nil
	}
	sdk.AddTool(s, &sdk.Tool{Name: "edit_file"}, func(_ context.Context, _ *sdk.CallToolRequest, e edit) (*sdk.CallToolResult, any, error) {
		return text(fmt.Sprintf("```diff\n--- %s\n+++ %s\n@@ -1,2 +1,2 @@\n package main\n-%s\n+%s\n```\n", e.Path, e.Path, e.Old, e.New))
	})
	sdk.AddTool(s, &sdk.Tool{Name: "lines"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		var b strings.Builder
		for i := range 120 {
			fmt.Fprintf(&b, "line %d\x1b[2J\n", i+1)
		}
		return text(b.String())
	})
	sdk.AddTool(s, &sdk.Tool{Name: "paint"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		var b bytes.Buffer
		err := png.Encode(&b, image.NewPaletted(image.Rect(0, 0, 96, 64), color.Palette{color.White, color.Black}))
		b.WriteString("\x1b[2J behind the picture")
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.ImageContent{Data: b.Bytes(), MIMEType: "image/png"}}}, nil, err
	})
	sdk.AddTool(s, &sdk.Tool{
		Name: "hold", Description: "Goes half of the way.\nThen it waits.", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true},
	}, halfway)
	sdk.AddTool(s, &sdk.Tool{Name: "sounds"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{
			&sdk.AudioContent{Data: []byte("RIFF\x00\x00\x00\x00WAVEfmt "), MIMEType: "audio/wav"},
			&sdk.ImageContent{Data: []byte("<script>\x1b[2J"), MIMEType: "image/png"},
		}}, nil, nil
	})
}

type way struct {
	Of string `json:"of" jsonschema:"what it goes"`
}

// halfway reports that half is done, and waits until the call is cancelled.
func halfway(ctx context.Context, r *sdk.CallToolRequest, in way) (*sdk.CallToolResult, any, error) {
	if token := r.Params.GetProgressToken(); token != nil {
		err := r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: 5, Total: 10, Message: in.Of})
		if err != nil {
			return nil, nil, err
		}
	}
	<-ctx.Done()
	return nil, nil, ctx.Err()
}

// together returns the flags for a model that calls hold of two servers concurrently.
func together(t *testing.T) []string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"choices":[{"message":{"role":"assistant","tool_calls":[
			{"id":"1","type":"function","function":{"name":"workshop__hold","arguments":"{\"of\":\"one\"}"}},
			{"id":"2","type":"function","function":{"name":"workshop2__hold","arguments":"{\"of\":\"two\"}"}}]},"finish_reason":"tool_calls"}]}`)
	}))
	t.Cleanup(server.Close)
	return []string{"-base-url", server.URL + "/v1", "-model", "m", "-yes"}
}
