package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// The eras are compared at one revision each.
const (
	legacy = "2025-11-25"
	modern = "2026-07-28"
)

// endpoint is the address of a responder: exactly one of a pipe, a child process and a URL is set.
type endpoint struct {
	revision string // the era is forced

	reader io.ReadCloser
	writer io.WriteCloser

	command []string

	url        string
	httpClient *http.Client // nil for the client's own default
}

type client struct {
	name string
	dial func(context.Context, endpoint) (session, error)
}

func (c client) String() string { return c.name }

var clients = []client{
	{baseline, dialFloor},
	{oursName, dialOurs},
	{goSDKName, dialGoSDK},
	{mcpGoName, dialMCPGo},
}

// Names of clients. Ratios are to the baseline.
const (
	baseline  = "floor"
	oursName  = "ours"
	goSDKName = "go-sdk"
	mcpGoName = "mcp-go"
)

type session interface {
	// call calls a tool and returns the text of its result.
	call(ctx context.Context, tool string) (string, error)

	// list lists all tools, and returns how many there are.
	list(ctx context.Context) (n int, err error)

	close() error
}

// arguments go with every tool call, as a model writes them.
var arguments = json.RawMessage(`{"path":"README.md"}`)

// How every client names itself.
const (
	clientName    = "comparison"
	clientVersion = "1.0.0"
)

var errNotText = errors.New("the result is not one block of text")

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
	return count(s.Tools(ctx))
}

func (s ourClient) close() error { return s.Close() }

// count returns the number of items of a list. It has all of them at the end, as a host does.
func count[T any](list iter.Seq2[T, error]) (int, error) {
	var all []T
	for item, err := range list {
		if err != nil {
			return 0, err
		}
		all = append(all, item)
	}
	return len(all), nil
}
