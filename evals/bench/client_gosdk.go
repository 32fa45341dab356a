package main

import (
	"context"
	"os/exec"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// goSDK is a session of the official Go SDK.
type goSDK struct{ *sdk.ClientSession }

func dialGoSDK(ctx context.Context, e endpoint) (session, error) {
	var transport sdk.Transport
	switch {
	case e.url != "":
		// Without the standalone stream, like the floor and mcp-go.
		transport = &sdk.StreamableClientTransport{Endpoint: e.url, HTTPClient: e.httpClient, DisableStandaloneSSE: true}
	case e.command != nil:
		transport = &sdk.CommandTransport{Command: exec.Command(e.command[0], e.command[1:]...)}
	default:
		transport = &sdk.IOTransport{Reader: e.reader, Writer: e.writer}
	}
	c := sdk.NewClient(&sdk.Implementation{Name: clientName, Version: clientVersion}, &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{},
	})
	s, err := c.Connect(ctx, transport, &sdk.ClientSessionOptions{ProtocolVersion: e.revision})
	if err != nil {
		return nil, err
	}
	return goSDK{s}, nil
}

func (s goSDK) call(ctx context.Context, tool string) (string, error) {
	result, err := s.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return "", err
	}
	if len(result.Content) == 1 {
		if text, ok := result.Content[0].(*sdk.TextContent); ok && !result.IsError {
			return text.Text, nil
		}
	}
	return "", errNotText
}

func (s goSDK) list(ctx context.Context) (int, error) {
	var tools []*sdk.Tool
	for tool, err := range s.Tools(ctx, nil) {
		if err != nil {
			return 0, err
		}
		tools = append(tools, tool)
	}
	return len(tools), nil
}

func (s goSDK) close() error { return s.Close() }
