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

	"github.com/mcpchain/mcpchain/mcpclient"
)

func calls(tool string) func(*testing.T, context.Context, *mcpclient.Client) {
	return func(t *testing.T, ctx context.Context, c *mcpclient.Client) { callText(t, ctx, c, tool, "done") }
}

func TestLegacyServerAsks(t *testing.T) {
	unreachable := mcpclient.SamplingFunc(func(context.Context, *mcpclient.CreateMessageParams) (*mcpclient.CreateMessageResult, error) {
		return nil, errors.New("the handler was called")
	})
	invalid := samples(asks(legacy()), unreachable)
	blocks := mcpclient.SamplingFunc(func(context.Context, *mcpclient.CreateMessageParams) (*mcpclient.CreateMessageResult, error) {
		return &mcpclient.CreateMessageResult{Model: "m", Content: []mcpclient.Content{&mcpclient.TextContent{Text: "a"}, &mcpclient.TextContent{Text: "b"}}}, nil
	})
	playAll(t, []conversation{
		{name: "ask_legacy", opts: asks(legacy()), play: calls("ask")},
		{name: "ask_uninstalled_legacy", opts: legacy(), play: calls("ask")},
		{name: "ask_invalid_legacy", opts: invalid, play: calls("ask")},
		{name: "sampling_blocks_legacy", opts: samples(legacy(), blocks), play: calls("ask")},
		{name: "sampling_blocks_2025-06-18", opts: samples(mcpclient.Options{Protocol: mcpclient.Protocol{Revision: mcpclient.Revision20250618}}, blocks), play: calls("ask")},
	})
}

// late is a refusal with words for the server.
type late struct{}

func (late) Error() string { return "late" }
func (late) Unwrap() error { return mcpclient.ErrRejected }
func (late) RPCError() *mcpclient.RPCError {
	return &mcpclient.RPCError{Code: -1, Message: "too late in the day"}
}

// A server is told what was made for it, and nothing that others said.
func TestHandlerErrors(t *testing.T) {
	for _, way := range ways {
		n := 0
		fn := func(context.Context, *mcpclient.CreateMessageParams) (*mcpclient.CreateMessageResult, error) {
			switch n++; n {
			case 1:
				return nil, fmt.Errorf("not now: %w", mcpclient.ErrRejected)
			case 2:
				return nil, fmt.Errorf("wrapped: %w", &mcpclient.RPCError{Code: -32000, Message: "mine", Data: json.RawMessage(`{"why": 1}`)})
			case 3:
				return nil, errors.New("no model")
			case 4:
				panic("oops")
			case 6:
				return nil, &mcpclient.RPCError{Code: -32000, Message: "mine", Data: json.RawMessage(`{"why": 1}`)}
			case 7:
				return nil, late{}
			case 8:
				return nil, fmt.Errorf("%w: %w", mcpclient.ErrRejected, &mcpclient.RPCError{Code: -32000, Message: "of another"})
			}
			return nil, nil
		}
		playAll(t, []conversation{{name: "reject_legacy", way: way, opts: samples(legacy(), fn), play: calls("ask")}})
	}
}

func TestServerCancelsItsRequest(t *testing.T) {
	ended := make(chan error, len(ways))
	opts := samples(legacy(), func(ctx context.Context, _ *mcpclient.CreateMessageParams) (*mcpclient.CreateMessageResult, error) {
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	})
	var log logged
	opts.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	playAll(t, []conversation{{name: "cancelled_by_server", opts: opts, play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		callText(t, ctx, c, "ask", "done")
		synctest.Wait()
		if !strings.Contains(log.String(), `reason="too slow"`) {
			t.Errorf("the log does not have the reason: %s", log.String())
		}
		select {
		case err := <-ended:
			if err != context.Canceled {
				t.Errorf("got %v", err)
			}
		default:
			t.Error("the handler goes on")
		}
	}}})
}

func TestSetRoots(t *testing.T) {
	change := func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		for _, uri := range []string{"https://example.com", "file:relative", "", "file://%zz"} {
			if err := c.SetRoots(ctx, []mcpclient.Root{{URI: uri}}); err == nil || !strings.Contains(err.Error(), uri) {
				t.Errorf("%q: got %v", uri, err)
			}
		}
		if err := c.SetRoots(ctx, nil); err != nil {
			t.Error(err)
		}
		callText(t, ctx, c, "ask", "done")
	}
	legacyRoots, modernRoots := legacy(), modern()
	legacyRoots.Roots, modernRoots.Roots = []mcpclient.Root{}, []mcpclient.Root{{URI: "file:///old"}}
	playAll(t, []conversation{
		{name: "roots_changed_legacy", opts: legacyRoots, play: change},
		{name: "roots_changed_modern", opts: modernRoots, play: change},
		{name: "capabilities", opts: legacy(), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			if err := c.SetRoots(ctx, nil); err == nil {
				t.Error("roots that were not declared: got no error")
			}
			ping(t, ctx, c)
		}},
	})
}

func TestInputRounds(t *testing.T) {
	broken := asks(modern())
	broken.Limits.ServerRequests = 3
	endless := modern()
	endless.Limits.Rounds, endless.Roots = 2, []mcpclient.Root{{URI: "file:///w"}}
	playAll(t, []conversation{
		{name: "ask_modern", opts: asks(modern()), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			res, err := c.CallTool(ctx, "ask", map[string]int{"a": 1})
			if err != nil || res.Text() != "done" {
				t.Errorf("got %+v, %v", res, err)
			}
		}},
		{name: "ask_prompt_resource_modern", opts: asks(modern()), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			if _, err := c.GetPrompt(ctx, "p", nil); err != nil {
				t.Error(err)
			}
			if _, err := c.ReadResource(ctx, "file:///r"); err != nil {
				t.Error(err)
			}
		}},
		{name: "ask_broken_modern", opts: broken, play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			for i := 2; i <= 11; i++ {
				var err error
				if i == 7 {
					_, err = collect(c.Tools(ctx), toolName)
				} else {
					_, err = c.CallTool(ctx, "t", nil)
				}
				var rpc *mcpclient.RPCError
				if !errors.Is(err, mcpclient.ErrInvalidResult) || errors.As(err, &rpc) {
					t.Errorf("request %d: got %v", i, err)
				}
			}
		}},
		{name: "ask_endless_modern", opts: endless, play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			start := time.Now()
			if _, err := c.CallTool(ctx, "t", nil); !errors.Is(err, mcpclient.ErrTooManyRounds) || !strings.Contains(err.Error(), "asked for input 3 times") {
				t.Errorf("got %v", err)
			}
			within(t, "questions that are answered", start, 0)
		}},
	})
}

// A form that is declined is an answer; a sampling request that is rejected
// ends the call, and the question beside it.
func TestDecline(t *testing.T) {
	opts := samples(modern(), func(context.Context, *mcpclient.CreateMessageParams) (*mcpclient.CreateMessageResult, error) {
		return nil, fmt.Errorf("not now: %w", mcpclient.ErrRejected)
	})
	first := true
	opts.Elicitation = mcpclient.ElicitationFunc(func(ctx context.Context, _ *mcpclient.ElicitParams) (*mcpclient.ElicitResult, error) {
		if first {
			first = false
			return &mcpclient.ElicitResult{Action: mcpclient.ElicitDecline}, nil
		}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	for _, way := range ways {
		first = true
		playAll(t, []conversation{{name: "decline_modern", way: way, opts: opts, play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			callText(t, ctx, c, "t", "a pity")
			if _, err := c.CallTool(ctx, "t", nil); !errors.Is(err, mcpclient.ErrRejected) {
				t.Errorf("got %v, want the rejection", err)
			}
		}}})
	}
}

// Over HTTP there is no way to answer a modern server.
func TestModernServerSendsRequestsOverHTTP(t *testing.T) {
	opts := samples(modern(), func(context.Context, *mcpclient.CreateMessageParams) (*mcpclient.CreateMessageResult, error) {
		return nil, errors.New("the handler was called")
	})
	for _, way := range []string{"json", "stream"} {
		playAll(t, []conversation{{name: "request_modern", way: way, opts: opts, play: calls("t")}})
	}
}

// wide is a handler that declares all that there is to declare.
type wide struct{ elicitationModes }

func (wide) SamplingCapability() mcpclient.SamplingCapability {
	return mcpclient.SamplingCapability{Tools: true, Context: true}
}

func (wide) CreateMessage(_ context.Context, p *mcpclient.CreateMessageParams) (*mcpclient.CreateMessageResult, error) {
	use := p.Messages[0].Content[0].(*mcpclient.ToolUseContent)
	if len(p.Tools) != 1 || p.ToolChoice.Mode != "required" || p.IncludeContext != "thisServer" || *p.Temperature != 0 {
		return nil, fmt.Errorf("got %+v", p)
	}
	return &mcpclient.CreateMessageResult{Model: "m", StopReason: "toolUse", Content: []mcpclient.Content{&mcpclient.ToolUseContent{ID: "u2", Name: use.Name, Input: use.Input}}}, nil
}

func (wide) Elicit(_ context.Context, p *mcpclient.ElicitParams) (*mcpclient.ElicitResult, error) {
	if p.Mode != mcpclient.ElicitURL || p.URL != "https://example.com/a?b=c" || p.ElicitationID != "e1" {
		return nil, fmt.Errorf("got %+v", p)
	}
	return &mcpclient.ElicitResult{Action: mcpclient.ElicitAccept}, nil
}

func TestDeclaredCapabilities(t *testing.T) {
	h := wide{elicitationModes{form: true, url: true}}
	playAll(t, bothEras(conversation{name: "ask_wide", opts: mcpclient.Options{Sampling: h, Elicitation: h}, play: calls("ask")}))
}

// A modern server sends no requests. One that does so waits for the answers, and so
// does who called its tool.
func TestModernServerSendsRequests(t *testing.T) {
	var log logged
	opts := samples(modern(), func(context.Context, *mcpclient.CreateMessageParams) (*mcpclient.CreateMessageResult, error) {
		t.Error("the handler was called")
		return tea(), nil
	})
	opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
	inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			callText(t, t.Context(), c, "asks", "asks")
		}()
		call := p.next()
		p.send(`{"jsonrpc":"2.0","id":"a","method":"ping"}`)
		if m := p.next(); string(m.ID) != `"a"` || string(m.Result) != "{}" {
			t.Errorf("got %+v, want the answer to a ping", m)
		}
		for _, method := range []string{"sampling/createMessage", "elicitation/create", "roots/list", "tasks/list", "acme/do"} {
			p.send(`{"jsonrpc":"2.0","id":7,"method":%q,"params":%s}`, method, samplingParams)
			if m := p.next(); string(m.ID) != "7" || m.Error == nil || m.Error.Code != mcpclient.CodeMethodNotFound {
				t.Errorf("%s: got %+v, want it refused", method, m)
			}
		}
		p.answer(call)
		<-done
		for range 200 {
			p.send(`{"jsonrpc":"2.0","id":8,"method":"roots/list"}`)
			p.next()
		}
		if n := strings.Count(log.String(), "level=WARN"); n != 100 {
			t.Errorf("got %d warnings, want them bounded by 100", n)
		}
	})
}
