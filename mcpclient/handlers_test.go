package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// inMind are handlers of a custom method and of roots/list.
func inMind() map[string]mcpclient.Handler {
	return map[string]mcpclient.Handler{
		"com.example/echo": func(ctx context.Context, r *mcpclient.Request) (json.RawMessage, error) {
			if origin, ok := mcp.OriginFrom(ctx); !ok || origin.Session != r.Client || string(r.Meta["k"]) != "1" {
				return nil, errors.New("who asks?")
			}
			return r.Params, nil
		},
		"com.example/refuse": func(context.Context, *mcpclient.Request) (json.RawMessage, error) {
			return nil, &mcp.RPCError{Code: 7, Message: "no"}
		},
		"com.example/secret":  func(context.Context, *mcpclient.Request) (json.RawMessage, error) { return nil, errors.New("secret") },
		"com.example/panic":   func(context.Context, *mcpclient.Request) (json.RawMessage, error) { panic("secret") },
		"com.example/nothing": func(context.Context, *mcpclient.Request) (json.RawMessage, error) { return nil, nil },
		"com.example/list":    func(context.Context, *mcpclient.Request) (json.RawMessage, error) { return json.RawMessage("[]"), nil },
		"roots/list": func(context.Context, *mcpclient.Request) (json.RawMessage, error) {
			return json.RawMessage(`{"roots":[{"uri":"file:///now"}]}`), nil
		},
	}
}

func TestHandlers(t *testing.T) {
	through := func(next mcpclient.Handler) mcpclient.Handler {
		return func(ctx context.Context, r *mcpclient.Request) (json.RawMessage, error) {
			same := *r
			return next(ctx, &same)
		}
	}
	for _, around := range [][]mcpclient.Middleware{nil, {through}} {
		opts := legacy()
		opts.Handlers, opts.ServerMiddleware = inMind(), around
		inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
			for method, want := range map[string]string{
				"com.example/echo":    `{"a":1,"_meta":{"k":1}}`,
				"com.example/refuse":  "7 no",
				"com.example/secret":  "-32603 internal error",
				"com.example/panic":   "-32603 the handler panicked",
				"com.example/nothing": "-32603 internal error",
				"com.example/list":    "-32603 internal error",
				"com.example/other":   `-32601 method "com.example/other" is not available`,
				"roots/list":          `{"roots":[{"uri":"file:///now"}]}`,
				"ping":                "{}",
			} {
				p.send(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"a":1,"_meta":{"k":1}}}`, method)
				m := p.next()
				got := string(m.Result)
				if m.Error != nil {
					got = fmt.Sprint(m.Error.Code, " ", m.Error.Message)
				}
				equal(t, method, got, want)
			}
			wantText(t, c.SetRoots(t.Context(), nil), "Options.Handlers answers roots/list", "set roots")
		})
	}
}

// In the modern era a handler answers a question of an input round.
func TestHandlersInRounds(t *testing.T) {
	opts := modern()
	opts.Handlers = inMind()
	inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
		go func() {
			p.reply(`{"id":%s,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"},"b":{"method":"com.example/echo","params":{"_meta":{"k":1}}}}}}`)
			m := p.next()
			if want := `{"a":{"roots":[{"uri":"file:///now"}]},"b":{"_meta":{"k":1}}}`; string(m.Params.Answers) != want {
				t.Errorf("got the answers %s, want %s", m.Params.Answers, want)
			}
			p.answer(m)
		}()
		callText(t, t.Context(), c, "x", "x")
	})
}

// A handler of roots/list declares roots, as Options.Roots does.
func TestHandlerOfRootsDeclaresThem(t *testing.T) {
	for _, opts := range []mcpclient.Options{legacy(), modern()} {
		for _, handlers := range []map[string]mcpclient.Handler{nil, inMind()} {
			var sent string
			opts.Handlers = handlers
			_ = connectError(t, spying(&sent), opts)
			if got := strings.Contains(sent, `"roots":{`); got != (handlers != nil) {
				t.Errorf("%d handlers: got %s, want roots declared: %t", len(handlers), sent, handlers != nil)
			}
		}
	}
}

// spying is a server that records the first message and closes the connection.
func spying(sent *string) mcpclient.Transport {
	transport, conn := mcpclient.Pipe()
	go func() {
		raw, _ := conn.Recv()
		*sent = string(raw)
		_ = conn.Close()
	}()
	return transport
}
