package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/bound"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// Silence ends a call, and a limit of the whole ends it regardless of progress. The error names the limit and its options.
func TestCallLimits(t *testing.T) {
	const (
		minute, hour, day = time.Minute, time.Hour, 24 * time.Hour
		silence           = "neither an answer nor progress within %v (Options.Timeouts.Idle or WithIdleTimeout)"
		whole             = "no answer within %v (Options.Timeouts.Call or WithTimeout)"
		context           = "context deadline exceeded" // that of the test, after 99 h
	)
	idle, total := mcpclient.WithIdleTimeout, mcpclient.WithTimeout
	for name, tt := range map[string]struct {
		idle, call time.Duration // of Options
		opts       []mcpclient.CallOption
		progress   bool // without end
		want       time.Duration
		text       string
	}{
		"default":                        {want: 5 * minute, text: silence},
		"default, progress":              {progress: true, want: day, text: whole},
		"idle":                           {idle: minute, want: minute, text: silence},
		"idle, progress":                 {idle: 2 * minute, progress: true, want: day, text: whole},
		"long idle":                      {idle: 2 * day, want: 2 * day, text: silence},
		"whole":                          {call: 10 * minute, want: 10 * minute, text: whole},
		"whole, progress":                {call: 10 * minute, progress: true, want: 10 * minute, text: whole},
		"both":                           {idle: 2 * minute, call: 10 * minute, want: 2 * minute, text: silence},
		"both, progress":                 {idle: 2 * minute, call: 10 * minute, progress: true, want: 10 * minute, text: whole},
		"no idle":                        {idle: -1, want: day, text: whole},
		"no whole":                       {call: -1, want: 5 * minute, text: silence},
		"no whole, progress":             {call: -1, progress: true, want: 99 * hour, text: context},
		"neither":                        {idle: -1, call: -1, want: 99 * hour, text: context},
		"idle of the call":               {idle: minute, opts: []mcpclient.CallOption{idle(3 * minute)}, want: 3 * minute, text: silence},
		"whole of the call":              {opts: []mcpclient.CallOption{total(20 * minute)}, want: 20 * minute, text: whole},
		"whole of the call beside idle":  {idle: minute, opts: []mcpclient.CallOption{total(20 * minute)}, want: minute, text: silence},
		"idle of the call beside whole":  {call: 2 * hour, opts: []mcpclient.CallOption{idle(minute)}, want: minute, text: silence},
		"both of the call":               {idle: 1, call: 1, opts: []mcpclient.CallOption{total(20 * minute), idle(2 * minute)}, progress: true, want: 20 * minute, text: whole},
		"no whole of the call":           {call: minute, opts: []mcpclient.CallOption{total(0)}, want: 99 * hour, text: context},
		"no idle of the call":            {idle: minute, opts: []mcpclient.CallOption{idle(-1)}, want: day, text: whole},
		"neither of the call":            {idle: minute, call: hour, opts: []mcpclient.CallOption{idle(0), total(0)}, want: 99 * hour, text: context},
		"no whole of the call, progress": {opts: []mcpclient.CallOption{idle(2 * minute), total(-1)}, progress: true, want: 99 * hour, text: context},
	} {
		for era, opts := range eras() {
			t.Run(name+"/"+era, func(t *testing.T) {
				opts.Timeouts.Idle, opts.Timeouts.Call = tt.idle, tt.call
				inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
					ended := make(chan struct{})
					var advancing sync.WaitGroup
					if tt.progress {
						advancing.Go(func() { p.advance(minute, ended) })
					}
					check.Text(t, limited(t, c, tt.want, tt.opts...), strings.ReplaceAll(tt.text, "%v", tt.want.String()))
					close(ended)
					advancing.Wait() // before the connection ends
				})
			})
		}
	}
}

// The error names the limit also if it ends a call between two requests.
func TestLimitInAPause(t *testing.T) {
	inBubble(t, modern(), func(t *testing.T, c *mcpclient.Client, p *peer) {
		go p.replyAll(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","requestState":"busy"}}`)
		err := limited(t, c, time.Second, mcpclient.WithTimeout(time.Second))
		check.Equal(t, "limit", wantError[*mcpclient.TimeoutError](t, err).Limit, time.Second)
	})
}

// limited calls a tool that does not answer, and checks when the call ends.
func limited(t *testing.T, c *mcpclient.Client, want time.Duration, opts ...mcpclient.CallOption) error {
	t.Helper()
	start := time.Now()
	err := check.Err(c.CallTool(withTimeout(t, 99*time.Hour), "silent", nil, opts...))
	check.Is(t, err, context.DeadlineExceeded)
	check.Equal(t, "the call took", time.Since(start), want)
	return err
}

// advance receives a call and sends progress for it, but no answer.
func (p *peer) advance(every time.Duration, ended <-chan struct{}) {
	m := p.next()
	for {
		select {
		case <-time.After(every):
			p.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`, m.ID)
		case <-ended:
			return
		}
	}
}

// Tool calls ask for progress, which extends their time; other requests do so only with certain options.
func TestProgressIsAskedFor(t *testing.T) {
	for name, tt := range map[string]struct {
		tool, want bool
		opt        mcpclient.CallOption
	}{
		"tool":                  {true, true, nil},
		"tool without idle":     {true, false, mcpclient.WithIdleTimeout(0)},
		"tool with a timeout":   {true, false, mcpclient.WithTimeout(time.Hour)},
		"request":               {false, false, nil},
		"request with idle":     {false, true, mcpclient.WithIdleTimeout(time.Hour)},
		"request with progress": {false, true, mcpclient.WithProgress(func(mcp.Progress) {})},
	} {
		peerBubble(t, name, modern(), func(t *testing.T, c *mcpclient.Client, p *peer) {
			go func() {
				m := p.next()
				check.Equal(t, "a token in "+string(m.Params.Meta), strings.Contains(string(m.Params.Meta), `"progressToken":`+string(m.ID)), tt.want)
				p.answer(m)
			}()
			if tt.tool {
				callText(t, t.Context(), c, "t", "t", tt.opt)
			} else {
				check.NoError(t, check.Err(c.Call(t.Context(), "acme/do", nil, tt.opt)))
			}
		})
	}
}

// The end of the caller's own context is not reported as silence.
func TestIdleTimeoutCancelled(t *testing.T) {
	inBubble(t, modern(), func(t *testing.T, c *mcpclient.Client, p *peer) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		err := check.Err(c.CallTool(ctx, "silent", nil, mcpclient.WithIdleTimeout(time.Minute)))
		check.That(t, errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded), "got %v, want that the context was canceled", err)
	})
}

// A subscription waits 30 s for its acknowledgement, whatever the limits of calls are.
func TestSubscribeLimit(t *testing.T) {
	for _, tt := range []struct {
		call time.Duration
		opts []mcpclient.CallOption
		want time.Duration
	}{
		{want: 30 * time.Second},
		{opts: []mcpclient.CallOption{mcpclient.WithTimeout(0)}, want: 30 * time.Second},
		{call: 7 * time.Second, want: 7 * time.Second},
		{call: 7 * time.Second, opts: []mcpclient.CallOption{mcpclient.WithTimeout(time.Hour)}, want: time.Hour},
	} {
		opts := modern()
		opts.Timeouts.Call = tt.call
		inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
			start := time.Now()
			check.Fails(t, check.Err(c.Subscribe(t.Context(), onTools, tt.opts...)), "")
			check.Equal(t, "took", time.Since(start), tt.want)
		})
	}
}

// slowly installs a handler that answers a form after two hours.
func slowly(o mcpclient.Options) mcpclient.Options {
	o.Timeouts.Call, o.Timeouts.Idle = 24*time.Hour, time.Minute
	o.Elicitation = mcp.ElicitationFunc(func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		time.Sleep(2 * time.Hour)
		return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
	})
	return o
}

const askedForm = `{"message":"?","requestedSchema":{"type":"object","properties":{}}}`

// The time that a person takes is not the server's silence. On a shared connection it is unknown which of several calls asks.
func TestIdleTimeoutWaitsForPeople(t *testing.T) {
	peerBubble(t, "legacy", slowly(legacy()), func(t *testing.T, c *mcpclient.Client, p *peer) {
		done := background(func() error {
			together(2, func() { callText(t, t.Context(), c, "a", "a") })
			return nil
		})
		first, second := p.next(), p.next()
		p.send(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":%s}`, askedForm)
		start := time.Now()
		check.Equal(t, "answer to", string(p.next().ID), "1")
		check.Equal(t, "it took", time.Since(start), 2*time.Hour)
		time.Sleep(59 * time.Second)
		p.answer(first)
		p.answer(second)
		<-done
		_ = limited(t, c, time.Minute)
	})
	peerBubble(t, "modern", slowly(modern()), func(t *testing.T, c *mcpclient.Client, p *peer) {
		go func() {
			p.askIn(p.next(), "modern", "elicitation/create", askedForm)
			again := p.next()
			time.Sleep(59 * time.Second)
			p.answer(again)
		}()
		callText(t, t.Context(), c, "a", "a")
		_ = limited(t, c, time.Minute)
	})
}

// A server that asks a question is not silent.
func TestQuestionEndsSilence(t *testing.T) {
	opts := legacy()
	opts.Timeouts.Idle = time.Minute
	opts.Roots = []mcp.Root{}
	inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
		go func() {
			m := p.next()
			time.Sleep(59 * time.Second)
			p.send(`{"jsonrpc":"2.0","id":1,"method":"roots/list"}`)
			p.next()
			time.Sleep(59 * time.Second)
			p.answer(m)
		}()
		callText(t, t.Context(), c, "a", "a")
		_ = limited(t, c, time.Minute)
	})
}

// The time that a host's own code waits is not the server's silence if that code says so.
func TestPauseIdleTimeout(t *testing.T) {
	opts := modern()
	opts.Timeouts.Idle = time.Minute
	opts.Middleware = []mcpclient.Middleware{handlerOf(func(ctx context.Context, r *mcpclient.Request, next mcpclient.Handler) (json.RawMessage, error) {
		if r.Name == "asks" {
			resume := bound.From(ctx).Hold()
			time.Sleep(30 * time.Minute)
			resume()
		}
		return next(ctx, r)
	})}
	inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
		go func() { p.answer(p.next()) }()
		callText(t, t.Context(), c, "asks", "asks")
		_ = limited(t, c, time.Minute)
	})
}

// A person may log in while HTTP.Token runs.
func TestIdleTimeoutWaitsForToken(t *testing.T) {
	inEras(t, func(t *testing.T, era string, opts mcpclient.Options) {
		opts.Timeouts.Idle = time.Minute
		s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
			if r.Header.Get("Authorization") == "" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			answerCall(w, r, m)
		})
		token := new(transport.Bearer)
		token.Refused = func(context.Context, *transport.Refusal) error {
			time.Sleep(30 * time.Minute)
			return token.Renew("new")
		}
		callText(t, t.Context(), connectWith(t, s, token, opts), "a", "a")
	})
}

// With WithIdleTimeout, progress counts even outside of the response.
func TestIdleTimeoutOverStandaloneStream(t *testing.T) {
	inSessionWith(t, legacy(), func(t *testing.T, c *mcpclient.Client, s *sessionServer) {
		s.on("tools/call", func(w http.ResponseWriter, r *http.Request, m message) bool {
			for range 3 {
				time.Sleep(59 * time.Second)
				select {
				case s.says("s-1") <- fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`, m.ID):
				case <-r.Context().Done():
				}
			}
			time.Sleep(59 * time.Second)
			return false
		})
		callText(t, t.Context(), c, "a", "a", mcpclient.WithIdleTimeout(time.Minute))
	})
}
