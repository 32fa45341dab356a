package adapter

import (
	"context"
	"fmt"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// asks is a tool that asks the person during its call.
func asks(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	answer, err := req.Session.Elicit(ctx, nameForm())
	if err != nil {
		return nil, err
	}
	return say(answer.Action), nil
}

// legacy makes the server ask by requests, which do not say which call they belong to.
var legacy = mcpclient.Options{Protocol: mcpclient.Protocol{Revision: "2025-11-25"}}

func seenIn(ctx context.Context) (o origin) {
	o.server, o.call = OriginFrom(ctx)
	return o
}

func TestSourceInTheModernEra(t *testing.T) {
	var mu sync.Mutex
	got := map[origin]bool{}
	opts := mcpclient.Options{Elicitation: mcp.ElicitationFunc(func(ctx context.Context, _ *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		mu.Lock()
		defer mu.Unlock()
		got[seenIn(ctx)] = true
		return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
	})}
	var both sync.WaitGroup // both calls are under way before either asks
	both.Add(2)
	p := newPeer().tool("asks", object, func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if len(req.Params.InputResponses) > 0 {
			return say("thanks"), nil
		}
		both.Done()
		both.Wait()
		return forName(), nil
	})
	ts := open(t, &Options{ClientOptions: &opts}, Server{Name: "mine", Transport: p.transport(t)})
	check.Equal(t, "revision", ts.Servers()[0].Client.Server().Revision, mcp.Revision20260728)
	check.Must(t, check.Err(ts.Catalog(profile.Plain).Dispatch(t.Context(), []llms.ToolCall{call("c1", "asks", ""), call("c2", "asks", "")})))
	check.That(t, len(got) == 2 && got[origin{"mine", "c1"}] && got[origin{"mine", "c2"}], "got %v, want both calls", got)
}

// A handler knows the server and the call, unless there are several current calls.
func TestSourceOfSeveralCalls(t *testing.T) {
	for _, tt := range []struct {
		tools []string
		want  origin
	}{
		{[]string{"asks"}, origin{"mine", "0"}},
		{[]string{"asks", "asks"}, origin{server: "mine"}},
		{[]string{"asks", "waits"}, origin{server: "mine"}},
	} {
		t.Run(fmt.Sprint(tt.tools), func(t *testing.T) {
			var all sync.WaitGroup
			asked := make(chan origin, 2)
			release := make(chan struct{})
			opts := legacy
			opts.Elicitation = mcp.ElicitationFunc(func(ctx context.Context, _ *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				asked <- seenIn(ctx)
				<-release
				return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
			})
			p := newPeer().tool("asks", object, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				all.Done()
				all.Wait()
				return asks(ctx, req)
			}).tool("waits", object, saying(func(*sdk.CallToolRequest) string { all.Done(); <-release; return "ok" }))
			catalog := open(t, &Options{ClientOptions: &opts}, Server{Name: "mine", Transport: p.transport(t)}).Catalog(profile.Plain)
			texts := make(chan string)
			all.Add(len(tt.tools))
			for i, tool := range tt.tools {
				go func() { texts <- catalog.Call(t.Context(), call(fmt.Sprint(i), tool, "")).Text }()
			}
			check.Equal(t, "source", <-asked, tt.want)
			close(release)
			for range tt.tools {
				text := <-texts
				check.That(t, text == "decline" || text == "ok", "got %q, want the answer of the handler", text)
			}
		})
	}
}

// A sampling handler may call tools of other servers. Their requests do not belong to the tool of the first call.
func TestSourceInsideAHandler(t *testing.T) {
	outer := &Tool{name: "outer", server: newServerState(new(Options).withDefaults(), &Server{Name: "a"})}
	ctx := withRequestOrigin((&pendingCall{tool: outer, call: llms.ToolCall{ID: "1"}}).withContext(t.Context()), "a")
	check.Equal(t, "source", seenIn(ctx), origin{"a", "1"})
	check.Equal(t, "source", seenIn(withRequestOrigin(ctx, "b")), origin{server: "b"})
	check.Equal(t, "source outside of a handler", seenIn(t.Context()), origin{})
}

type ableSampler struct{ mcp.SamplingFunc }

func (ableSampler) SamplingCapability() mcp.SamplingCapability {
	return mcp.SamplingCapability{Tools: true}
}

type ableAsker struct{ mcp.ElicitationFunc }

func (ableAsker) ElicitationCapability() mcp.ElicitationCapability {
	return mcp.ElicitationCapability{URL: true}
}

func TestHandlersKeepTheirCapabilities(t *testing.T) {
	sample := func(ctx context.Context, _ *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		return &mcp.CreateMessageResult{Model: seenIn(ctx).server}, nil
	}
	asked := func(opts *mcpclient.Options) *mcpclient.Options {
		return withQuestions(opts, "s", func(context.Context) func(error) { return func(error) {} })
	}
	given := &mcpclient.Options{Sampling: ableSampler{sample}, Elicitation: ableAsker{}}
	got := asked(given)
	check.Equal(t, "another sampling capability", inquiry.SamplingCapabilityOf(got.Sampling), (mcp.SamplingCapability{Tools: true}))
	check.Equal(t, "another elicitation capability", inquiry.ElicitationCapabilityOf(got.Elicitation), (mcp.ElicitationCapability{URL: true}))
	res, err := got.Sampling.CreateMessage(t.Context(), nil)
	check.That(t, err == nil && res.Model == "s", "got %v, %v, want a handler that knows its server", res, err)
	_, ok := given.Sampling.(ableSampler)
	check.That(t, ok, "got the caller's options changed")
	plain := asked(&mcpclient.Options{Sampling: mcp.SamplingFunc(sample), Elicitation: mcp.ElicitationFunc(nil)})
	check.Equal(t, "a sampling capability", inquiry.SamplingCapabilityOf(plain.Sampling), (mcp.SamplingCapability{}))
	check.Equal(t, "no forms", inquiry.ElicitationCapabilityOf(plain.Elicitation), (mcp.ElicitationCapability{Form: true}))
	none := asked(nil)
	check.That(t, none.Sampling == nil && inquiry.ElicitationCapabilityOf(none.Elicitation) == (mcp.ElicitationCapability{Form: true, URL: true}),
		"got other handlers than one of questions, which callers answer")
	check.Is(t, check.Err(none.Elicitation.Elicit(t.Context(), &mcp.ElicitParams{Message: "who?"})), inquiry.ErrNotAsked, "without a caller")
}
