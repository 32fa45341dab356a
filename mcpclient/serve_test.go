package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func calls(tool string) func(*testing.T, context.Context, *mcpclient.Client) {
	return func(t *testing.T, ctx context.Context, c *mcpclient.Client) { callText(t, ctx, c, tool, "done") }
}

// failing is a handler whose calls a server is told of.
func failing(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	return nil, errors.New("the handler was called")
}

func TestLegacyServerAsks(t *testing.T) {
	invalid := samples(asks(legacy()), failing)
	blocks := mcp.SamplingFunc(func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		return &mcp.CreateMessageResult{Model: "m", Content: []mcp.Content{&mcp.TextContent{Text: "a"}, &mcp.TextContent{Text: "b"}}}, nil
	})
	playAll(t, []conversation{
		{name: "ask_legacy", opts: asks(legacy()), play: calls("ask")},
		{name: "ask_uninstalled_legacy", opts: legacy(), play: calls("ask")},
		{name: "ask_invalid_legacy", opts: invalid, play: calls("ask")},
		{name: "sampling_blocks_legacy", opts: samples(legacy(), blocks), play: calls("ask")},
		{name: "sampling_blocks_2025-06-18", opts: samples(speaking(mcp.Revision20250618), blocks), play: calls("ask")},
	})
}

// late is a refusal with a message for the server.
type late struct{}

func (late) Error() string           { return "late" }
func (late) Unwrap() error           { return mcp.ErrRejected }
func (late) RPCError() *mcp.RPCError { return &mcp.RPCError{Code: -1, Message: "too late in the day"} }

// A server gets errors that were made for it, and none of other servers.
func TestHandlerErrors(t *testing.T) {
	mine, of := &mcp.RPCError{Code: -32000, Message: "mine", Data: json.RawMessage(`{"why": 1}`)}, &mcp.RPCError{Code: -32000, Message: "of another"}
	errs := []error{
		fmt.Errorf("not now: %w", mcp.ErrRejected), fmt.Errorf("wrapped: %w", mine), errors.New("no model"), errors.New("panic"), nil,
		mine, late{}, fmt.Errorf("%w: %w", mcp.ErrRejected, of),
	}
	for _, way := range ways {
		n := 0
		fn := func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			if n++; n == 4 {
				panic("oops")
			}
			return nil, errs[n-1]
		}
		playAll(t, []conversation{{name: "reject_legacy", way: way, opts: samples(legacy(), fn), play: calls("ask")}})
	}
}

func TestServerCancelsItsRequest(t *testing.T) {
	ended := make(chan error, len(ways))
	opts, log := logs(samples(legacy(), func(ctx context.Context, _ *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	}), slog.LevelDebug)
	playAll(t, []conversation{{name: "cancelled_by_server", opts: opts, play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		callText(t, ctx, c, "ask", "done")
		synctest.Wait()
		check.Contains(t, "log", log.String(), `reason="too slow"`)
		check.Require(t, len(ended) == 1, "the handler continues")
		check.Equal(t, "", <-ended, context.Canceled)
	}}})
}

func TestSetRoots(t *testing.T) {
	change := func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		for _, uri := range []string{"https://example.com", "file:relative", "", "file://%zz"} {
			check.Text(t, c.SetRoots(ctx, []mcp.Root{{URI: uri}}), uri, uri)
		}
		check.NoError(t, c.SetRoots(ctx, nil))
		callText(t, ctx, c, "ask", "done")
	}
	legacyRoots, modernRoots := legacy(), modern()
	legacyRoots.Roots, modernRoots.Roots = []mcp.Root{}, []mcp.Root{{URI: "file:///old"}}
	playAll(t, []conversation{
		{name: "roots_changed_legacy", opts: legacyRoots, play: change},
		{name: "roots_changed_modern", opts: modernRoots, play: change},
		{name: "capabilities", opts: legacy(), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			check.Fails(t, c.SetRoots(ctx, nil), "roots that were not declared")
			ping(t, ctx, c)
		}},
	})
}

func TestInputRounds(t *testing.T) {
	broken := asks(modern())
	broken.Limits.ServerRequests = 3
	endless := modern()
	endless.Limits.Rounds, endless.Roots = 2, []mcp.Root{{URI: "file:///w"}}
	playAll(t, []conversation{
		{name: "ask_modern", opts: asks(modern()), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			check.Equal(t, "", textOf(c.CallTool(ctx, "ask", map[string]int{"a": 1})), "done")
		}},
		{name: "ask_prompt_resource_modern", opts: asks(modern()), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			check.NoError(t, check.Err(c.GetPrompt(ctx, "p", nil)))
			check.NoError(t, check.Err(c.ReadResource(ctx, "file:///r")))
		}},
		{name: "ask_broken_modern", opts: broken, play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			for i := 2; i <= 11; i++ {
				var err error
				if i == 7 {
					_, err = collect(c.Tools(ctx), toolName)
				} else {
					_, err = c.CallTool(ctx, "t", nil)
				}
				var rpc *mcp.RPCError
				check.That(t, errors.Is(err, mcp.ErrInvalidResult) && !errors.As(err, &rpc), "request %d: got %v", i, err)
			}
		}},
		{name: "ask_endless_modern", opts: endless, play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			start := time.Now()
			wantBoth(t, check.Err(c.CallTool(ctx, "t", nil)), mcpclient.ErrTooManyRounds, "asked for input more than 2 times")
			within(t, "questions that are answered", start, 0)
		}},
	})
}

// A declined form is an answer. A rejected sampling request ends the call and its other question.
func TestDecline(t *testing.T) {
	opts := samples(modern(), func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		return nil, fmt.Errorf("not now: %w", mcp.ErrRejected)
	})
	first := true
	opts.Elicitation = mcp.ElicitationFunc(func(ctx context.Context, _ *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		if first {
			first = false
			return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
		}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	for _, way := range ways {
		first = true
		playAll(t, []conversation{{name: "decline_modern", way: way, opts: opts, play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			callText(t, ctx, c, "t", "a pity")
			check.Is(t, check.Err(c.CallTool(ctx, "t", nil)), mcp.ErrRejected)
		}}})
	}
}

// Over HTTP a modern server's request cannot be answered.
func TestModernServerSendsRequestsOverHTTP(t *testing.T) {
	for _, way := range []string{"json", "stream"} {
		playAll(t, []conversation{{name: "request_modern", way: way, opts: samples(modern(), failing), play: calls("t")}})
	}
}

// wide is a handler that declares every capability.
type wide struct{ elicitationModes }

func (wide) SamplingCapability() mcp.SamplingCapability {
	return mcp.SamplingCapability{Tools: true, Context: true}
}

func (wide) CreateMessage(_ context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	use := p.Messages[0].Content[0].(*mcp.ToolUseContent)
	if len(p.Tools) != 1 || p.ToolChoice.Mode != "required" || p.IncludeContext != "thisServer" || *p.Temperature != 0 {
		return nil, fmt.Errorf("got %+v", p)
	}
	return &mcp.CreateMessageResult{Model: "m", StopReason: "toolUse", Content: []mcp.Content{&mcp.ToolUseContent{ID: "u2", Name: use.Name, Input: use.Input}}}, nil
}

func (wide) Elicit(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	if p.Mode != mcp.ElicitURL || p.URL != "https://example.com/a?b=c" || p.ElicitationID != "e1" {
		return nil, fmt.Errorf("got %+v", p)
	}
	return &mcp.ElicitResult{Action: mcp.ElicitAccept}, nil
}

func TestDeclaredCapabilities(t *testing.T) {
	h := wide{elicitationModes{form: true, url: true}}
	playAll(t, bothEras(conversation{name: "ask_wide", opts: mcpclient.Options{Sampling: h, Elicitation: h}, play: calls("ask")}))
}

// A modern server must not send requests. The client refuses them, so that neither the server nor the caller waits.
func TestModernServerSendsRequests(t *testing.T) {
	opts, log := logs(samples(modern(), func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		t.Error("the handler was called")
		return tea(), nil
	}), slog.LevelInfo)
	inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
		done := goCall(t.Context(), c, "asks")
		call := p.next()
		p.send(`{"jsonrpc":"2.0","id":"a","method":"ping"}`)
		m := p.next()
		check.That(t, string(m.ID) == `"a"` && string(m.Result) == "{}", "got %+v, want the answer to a ping", m)
		for _, method := range []string{"sampling/createMessage", "elicitation/create", "roots/list", "tasks/list", "acme/do"} {
			p.send(`{"jsonrpc":"2.0","id":7,"method":%q,"params":%s}`, method, samplingParams)
			m := p.next()
			check.That(t, string(m.ID) == "7" && m.Error != nil && m.Error.Code == mcp.CodeMethodNotFound, "%s: got %+v, want it refused", method, m)
		}
		p.answer(call)
		check.Equal(t, "call", <-done, outcome{text: "asks"})
		for range 200 {
			p.send(`{"jsonrpc":"2.0","id":8,"method":"roots/list"}`)
			p.next()
		}
		check.Equal(t, "warnings", strings.Count(log.String(), "level=WARN"), 100)
	})
}

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
	copies := handlerOf(func(ctx context.Context, r *mcpclient.Request, next mcpclient.Handler) (json.RawMessage, error) {
		return next(ctx, new(*r))
	})
	for _, around := range [][]mcpclient.Middleware{nil, {copies}} {
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
				check.Equal(t, method, got, want)
			}
			check.Text(t, c.SetRoots(t.Context(), nil), "Options.Handlers answers roots/list", "set roots")
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
			want := `{"a":{"roots":[{"uri":"file:///now"}]},"b":{"_meta":{"k":1}}}`
			check.That(t, string(m.Params.Answers) == want, "got the answers %s, want %s", m.Params.Answers, want)
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
			transport, conn := mcpclient.Pipe()
			go func() { // it records the first message and closes the connection
				raw, _ := conn.Recv()
				sent = string(raw)
				_ = conn.Close()
			}()
			_ = connectError(t, transport, opts)
			got := strings.Contains(sent, `"roots":{`)
			check.That(t, got == (handlers != nil), "%d handlers: got %s, want roots declared: %t", len(handlers), sent, handlers != nil)
		}
	}
}
