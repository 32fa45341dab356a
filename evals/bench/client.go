package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
)

// The eras are compared at one revision each.
const (
	legacy = "2025-11-25"
	modern = "2026-07-28"
)

// endpoint is where a client finds a responder: over a pipe, in a child
// process, or at a URL, whichever is set.
type endpoint struct {
	revision string // the era is forced

	reader io.ReadCloser
	writer io.WriteCloser

	command []string

	url        string
	httpClient *http.Client // nil for the client's own default
}

// client is one of those compared.
type client struct {
	name string
	dial func(context.Context, endpoint) (session, error)
}

// clients are all that are compared. Ratios are to the one named baseline.
var clients = []client{
	{"floor-scan", floor(scanCodec{})},
	{baseline, floor(jsonCodec{})},
	{"ours", dialOurs},
	{"go-sdk", dialGoSDK},
	{"mcp-go", dialMCPGo},
}

const baseline = "floor-json"

// session is a client that is connected.
type session interface {
	// call calls a tool and returns the text of its result.
	call(ctx context.Context, tool string) (string, error)

	// list lists all tools. They live as long as held does.
	list(ctx context.Context) (held any, n int, err error)

	close() error
}

// arguments goes with every tool call, as a model would have written it.
var arguments = json.RawMessage(`{"path":"README.md"}`)

// How all clients introduce themselves.
const (
	clientName    = "comparison"
	clientVersion = "1.0.0"
)

var errNotText = errors.New("the result is not one block of text")
