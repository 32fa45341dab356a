package main

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// place is a cell for one framework, with the server of its tool.
type place struct {
	cell
	reader io.ReadCloser // of an MCP server's messages; nil if the tools are native
	writer io.WriteCloser
	ran    atomic.Int64 // calls of the tool

	serving sync.WaitGroup
	stop    func() error
	err     error // of the responder, after serving
}

// tool is the work of the tool: it counts its calls.
func (p *place) tool() string {
	p.ran.Add(1)
	return toolResult
}

// open starts the server.
func (p *place) open() error {
	if p.kind == native {
		return nil
	}
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	p.reader, p.writer = toClient, fromClient
	if p.kind == static {
		p.serving.Go(func() { p.err = respond(toServer, fromServer, func() { p.ran.Add(1) }) })
		p.stop = toServer.Close
		return nil
	}
	server := sdk.NewServer(&sdk.Implementation{Name: "server", Version: "1.0.0"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: toolName, Description: toolPurpose, Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *sdk.CallToolRequest, input) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: p.tool()}}}, nil, nil
		})
	session, err := server.Connect(context.Background(), &sdk.IOTransport{Reader: toServer, Writer: fromServer}, nil)
	if err != nil {
		return err
	}
	p.stop = session.Close
	return nil
}

// close ends the server, after the framework has closed its client.
func (p *place) close() error {
	if p.kind == native {
		return nil
	}
	_ = p.reader.Close()
	_ = p.writer.Close()
	err := p.stop()
	p.serving.Wait()
	if err = errors.Join(err, p.err); errors.Is(err, io.ErrClosedPipe) {
		return nil // the client was first
	}
	return err
}
