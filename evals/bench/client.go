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

// endpoint is the address of a responder: a pipe, a child process, or a URL,
// whichever is set.
type endpoint struct {
	revision string // the era is forced

	reader io.ReadCloser
	writer io.WriteCloser

	command []string

	url        string
	httpClient *http.Client // nil for the client's own default
}

// client is one of the compared clients.
type client struct {
	name string
	dial func(context.Context, endpoint) (session, error)
}

// clients are all compared clients. Ratios are to the client named baseline.
var clients = []client{
	{baseline, dialFloor},
	{"ours", dialOurs},
	{"go-sdk", dialGoSDK},
	{"mcp-go", dialMCPGo},
}

const baseline = "floor"

// session is a connected client.
type session interface {
	// call calls a tool and returns the text of its result.
	call(ctx context.Context, tool string) (string, error)

	// list lists all tools. held keeps them alive.
	list(ctx context.Context) (held any, n int, err error)

	close() error
}

// arguments goes with every tool call, in a model's form.
var arguments = json.RawMessage(`{"path":"README.md"}`)

// The name of all clients.
const (
	clientName    = "comparison"
	clientVersion = "1.0.0"
)

var errNotText = errors.New("the result is not one block of text")
