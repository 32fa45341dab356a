package mcpclient_test

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/memhttp"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/internal/mcptest"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// ways are the ways to play a transcript: over a shared connection, and over HTTP with JSON
// responses where possible, or with streams.
var ways = []string{"pipe", "json", "stream"}

// conversation is a transcript and what the client does during it.
type conversation struct {
	name string // of the file in testdata
	way  string // the only way, or "" for all
	opts mcpclient.Options

	maxMessage int           // of the HTTP transport
	patience   time.Duration // of the context

	play func(t *testing.T, ctx context.Context, c *mcpclient.Client)

	// refused gets the error of Connect; play is then not called.
	refused func(t *testing.T, err error)
}

func playAll(t *testing.T, all []conversation) {
	for _, conv := range all {
		t.Run(conv.name, func(t *testing.T) {
			for _, way := range ways {
				if conv.way == "" || conv.way == way {
					t.Run(way, func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) { conv.run(t, way) })
					})
				}
			}
		})
	}
}

func (conv conversation) run(t *testing.T, way string) {
	script := mcptest.Read(t, filepath.Join("testdata", conv.name+".txtar"))
	script.Stream = way == "stream"
	var transport mcpclient.Transport = scripted{script}
	if way != "pipe" {
		h := overHTTP(t, script)
		h.MaxMessage = conv.maxMessage
		transport = h
	}
	ctx := withTimeout(t, cmp.Or(conv.patience, time.Hour))
	opts := conv.opts
	opts.Client = mcp.Implementation{Name: "test", Version: "1"}
	c, err := mcpclient.Connect(ctx, transport, &opts)
	if conv.refused != nil {
		if err == nil {
			_ = c.Close()
			t.Fatal("got a connection, want an error")
		}
		conv.refused(t, err)
		return
	}
	must(t, err)
	defer func() {
		synctest.Wait() // for pending messages of the client
		noError(t, c.Close())
	}()
	conv.play(t, ctx, c)
}

// scripted is a transport whose connections are played by a script.
type scripted struct{ script *mcptest.Script }

func (s scripted) Dial(ctx context.Context) (mcpclient.Conn, error) {
	transport, server := mcpclient.Pipe()
	conn, err := transport.Dial(ctx)
	s.script.Serve(server)
	return conn, err
}

func overHTTP(t *testing.T, script *mcptest.Script) *mcpclient.HTTP {
	server := memhttp.New(script)
	t.Cleanup(server.Close)
	return &mcpclient.HTTP{URL: server.URL() + "/mcp", Client: server.Client()}
}

// ping checks that a connection works.
func ping(t *testing.T, ctx context.Context, c *mcpclient.Client) {
	t.Helper()
	noError(t, c.Ping(ctx))
}

// speaks checks the negotiated revision.
func speaks(revision string) func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
	return func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		equal(t, "revision", c.Server().Revision, revision)
		ping(t, ctx, c)
	}
}

// wantError checks the type of an error and returns it.
func wantError[E error](t *testing.T, err error) E {
	t.Helper()
	var e E
	if !errors.As(err, &e) {
		t.Fatalf("got error %v (%T), want a %T", err, err, e)
	}
	return e
}

func legacy() mcpclient.Options {
	return mcpclient.Options{Protocol: mcpclient.Protocol{Revision: mcp.Revision20251125}}
}
func modern() mcpclient.Options {
	return mcpclient.Options{Protocol: mcpclient.Protocol{Revision: mcp.Revision20260728}}
}

// undeclared lets a client use what the server does not declare.
func undeclared(o mcpclient.Options) mcpclient.Options {
	o.Protocol.AllowUndeclared = true
	return o
}

// heeding makes a client over HTTP read the standalone stream.
func heeding(o mcpclient.Options) mcpclient.Options {
	o.OnNotification = func(*mcp.Notification) {}
	return o
}

// bothEras returns two conversations for each, with files that end in _legacy and _modern.
func bothEras(all ...conversation) (out []conversation) {
	for _, conv := range all {
		for suffix, revision := range map[string]string{"_legacy": mcp.Revision20251125, "_modern": mcp.Revision20260728} {
			both := conv
			both.name += suffix
			both.opts.Protocol.Revision = revision
			out = append(out, both)
		}
	}
	return out
}

// asks installs handlers with fixed answers.
func asks(o mcpclient.Options) mcpclient.Options {
	o.Sampling = mcp.SamplingFunc(func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		return &mcp.CreateMessageResult{Model: "m", StopReason: "endTurn", Content: []mcp.Content{&mcp.TextContent{Text: "tea"}}}, nil
	})
	o.Elicitation = mcp.ElicitationFunc(func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: map[string]any{"n": "Ada"}}, nil
	})
	o.Roots = []mcp.Root{{URI: "file:///w", Name: "work"}}
	return o
}

// samples installs a sampling handler.
func samples(o mcpclient.Options, fn mcp.SamplingFunc) mcpclient.Options {
	o.Sampling = fn
	return o
}

// callText calls a tool and checks the text of the result.
func callText(t *testing.T, ctx context.Context, c *mcpclient.Client, tool, want string, opts ...mcpclient.CallOption) {
	t.Helper()
	res, err := c.CallTool(ctx, tool, nil, opts...)
	if err != nil {
		t.Errorf("%s: %v", tool, err)
	} else if got := res.Text(); got != want {
		t.Errorf("%s: got %q, want %q", tool, got, want)
	}
}
