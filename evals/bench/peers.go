package main

import (
	"context"
	"io"
	"os/exec"
	"strings"

	mcpgo "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

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
	return count(s.Tools(ctx, nil))
}

func (s goSDK) close() error { return s.Close() }

type mcpGo struct{ *mcpgo.Client }

func dialMCPGo(ctx context.Context, e endpoint) (_ session, err error) {
	t, err := mcpGoTransport(e)
	if err != nil {
		return nil, err
	}
	c := mcpgo.NewClient(t, mcpgo.WithProtocolVersion(e.revision))
	defer func() {
		if err != nil {
			_ = c.Close()
		}
	}()
	// The session ends with the context of Start.
	if err := c.Start(context.WithoutCancel(ctx)); err != nil {
		return nil, err
	}
	var request mcp.InitializeRequest
	request.Params.ProtocolVersion = e.revision
	request.Params.ClientInfo = mcp.Implementation{Name: clientName, Version: clientVersion}
	if _, err := c.Initialize(ctx, request); err != nil {
		return nil, err
	}
	return mcpGo{c}, nil
}

func mcpGoTransport(e endpoint) (transport.Interface, error) {
	switch {
	case e.url != "" && e.httpClient != nil:
		return transport.NewStreamableHTTP(e.url, transport.WithHTTPBasicClient(e.httpClient))
	case e.url != "":
		return transport.NewStreamableHTTP(e.url)
	case e.command != nil:
		return transport.NewStdio(e.command[0], nil, e.command[1:]...), nil
	}
	return transport.NewIO(e.reader, e.writer, io.NopCloser(strings.NewReader(""))), nil
}

func (s mcpGo) call(ctx context.Context, tool string) (string, error) {
	var request mcp.CallToolRequest
	request.Params.Name, request.Params.Arguments = tool, arguments
	result, err := s.CallTool(ctx, request)
	if err != nil {
		return "", err
	}
	if len(result.Content) == 1 {
		if text, ok := result.Content[0].(mcp.TextContent); ok && !result.IsError {
			return text.Text, nil
		}
	}
	return "", errNotText
}

func (s mcpGo) list(ctx context.Context) (int, error) {
	result, err := s.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return 0, err
	}
	return len(result.Tools), nil
}

func (s mcpGo) close() error { return s.Close() }
