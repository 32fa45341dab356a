package main

import (
	"context"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// ourClient is a session of this module's mcpclient.
type ourClient struct{ *mcpclient.Client }

func dialOurs(ctx context.Context, e endpoint) (session, error) {
	var transport mcpclient.Transport
	switch {
	case e.url != "":
		transport = &mcpclient.HTTP{URL: e.url, Client: e.httpClient}
	case e.command != nil:
		transport = &mcpclient.Command{Path: e.command[0], Args: e.command[1:]}
	default:
		transport = &mcpclient.IO{Reader: e.reader, Writer: e.writer}
	}
	c, err := mcpclient.Connect(ctx, transport, &mcpclient.Options{
		ClientInfo: mcp.Implementation{Name: clientName, Version: clientVersion},
		Protocol:   mcpclient.Protocol{Revision: e.revision},
	})
	if err != nil {
		return nil, err
	}
	return ourClient{c}, nil
}

func (s ourClient) call(ctx context.Context, tool string) (string, error) {
	result, err := s.CallTool(ctx, tool, arguments)
	if err != nil {
		return "", err
	}
	if len(result.Content) == 1 {
		if text, ok := result.Content[0].(*mcp.TextContent); ok && !result.IsError {
			return text.Text, nil
		}
	}
	return "", errNotText
}

func (s ourClient) list(ctx context.Context) (int, error) {
	var tools []*mcp.Tool
	for tool, err := range s.Tools(ctx) {
		if err != nil {
			return 0, err
		}
		tools = append(tools, tool)
	}
	return len(tools), nil
}

func (s ourClient) close() error { return s.Close() }
