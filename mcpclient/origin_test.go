package mcpclient_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

type contextKey string

// asking is what a handler sees of a request.
type asking struct {
	origin mcp.Origin
	known  bool
	values map[contextKey]any
}

// watches installs a sampling handler that reports what it sees.
func watches(o mcpclient.Options, seen chan asking) mcpclient.Options {
	return samples(o, func(ctx context.Context, _ *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		a := asking{values: map[contextKey]any{}}
		a.origin, a.known = mcp.OriginFrom(ctx)
		for _, key := range []contextKey{"same", "different", "uncomparable"} {
			a.values[key] = ctx.Value(key)
		}
		seen <- a
		return tea(), nil
	})
}

func TestOriginOnSharedConnection(t *testing.T) {
	seen := make(chan asking, 1)
	inBubble(t, watches(legacy(), seen), func(t *testing.T, c *mcpclient.Client, p *peer) {
		p.ask(`"q0"`)
		a := <-seen
		check.That(t, a.origin.Call == nil && a.known && string(a.origin.ID) == `"q0"` && string(a.origin.Meta) == `{"k":1}` && a.origin.Server.Info.Name == "peer",
			"no call: got %+v", a.origin)
		p.next()
		for _, tool := range []string{"one", "two"} {
			ctx := context.WithValue(t.Context(), contextKey("same"), "s")
			ctx = context.WithValue(ctx, contextKey("different"), tool)
			ctx = context.WithValue(ctx, contextKey("uncomparable"), []int{1})
			go callText(t, ctx, c, tool, tool)
			synctest.Wait()
			p.ask(`1`)
			a := <-seen
			check.That(t, a.values["same"] == "s", "%s: got %+v, want the value that the calls share", tool, a.values)
			switch {
			case tool == "one" && (a.origin.Call == nil || a.origin.Call.ID == 0 || a.origin.Call.Method != "tools/call" || a.origin.Call.Name != "one" || a.values["different"] != "one"):
				t.Errorf("one call: got %+v, %+v", a.origin.Call, a.values)
			case tool == "two" && (a.origin.Call != nil || a.values["different"] != nil || a.values["uncomparable"] != nil):
				t.Errorf("two calls: got %+v, %+v", a.origin.Call, a.values)
			}
		}
		go p.echo()
		synctest.Wait() // for the answers
	})
}

// Background requests, such as lists, do not make it ambiguous which call a question belongs to.
func TestOriginBesideLists(t *testing.T) {
	seen := make(chan asking, 1)
	inBubble(t, undeclared(watches(legacy(), seen)), func(t *testing.T, c *mcpclient.Client, p *peer) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for _, ask := range []func(context.Context) error{
			func(ctx context.Context) error { return listOnce(ctx, c) },
			func(ctx context.Context) error { return c.Ping(ctx) },
			func(ctx context.Context) error { return c.SetLogLevel(ctx, "error") },
			func(ctx context.Context) error { return check.Err(collect(c.Resources(ctx), resourceURI)) },
		} {
			go func() { _ = ask(ctx) }()
			p.next()
		}
		p.ask(`0`)
		a := <-seen
		check.That(t, a.origin.Call == nil, "of several lists: got %+v, want no call", a.origin.Call)
		p.next()
		call := goCall(context.WithValue(t.Context(), contextKey("different"), "mine"), c, "one")
		m := p.next()
		p.ask(`1`)
		a = <-seen
		check.That(t, a.origin.Call != nil && a.origin.Call.Name == "one" && a.values["different"] == "mine", "of a call beside lists: got %+v, %v", a.origin.Call, a.values)
		p.next()
		p.answer(m)
		<-call
	})
}

// A question of a task belongs to the call of its tool.
func TestOriginOfTask(t *testing.T) {
	seen := make(chan asking, 1)
	inBubble(t, undeclared(watches(legacy(), seen)), func(t *testing.T, c *mcpclient.Client, p *peer) {
		waited := background(func() error { return check.Err(c.Task("secret-id", "slow").Wait(t.Context())) })
		p.reply(`{"jsonrpc":"2.0","id":%s,"result":{"taskId":"secret-id","status":"completed","ttl":null,"createdAt":"","lastUpdatedAt":""}}`)
		result := p.next()
		p.ask(`1`)
		call := (<-seen).origin.Call
		check.That(t, call != nil && call.ID != 0 && call.Method == "tools/call" && call.Name == "slow", "got %+v in %s, want the call of the tool", call, result.Method)
		p.next()
		p.send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, result.ID)
		check.NoError(t, <-waited)
	})
}

// Over HTTP, and in the modern era, a question arrives in the response to its call.
func TestOriginInResponse(t *testing.T) {
	inEras(t, func(t *testing.T, name string, opts mcpclient.Options) {
		seen, answered := make(chan asking, 2), make(chan bool, 2)
		s := httpServer(t, func(w http.ResponseWriter, _ *http.Request, m message) {
			switch {
			case m.Method == "" && m.ID != nil: // an answer of a legacy client
				w.WriteHeader(http.StatusAccepted)
				answered <- true
			case m.Method != "tools/call":
				w.WriteHeader(http.StatusMethodNotAllowed)
			case name == "legacy":
				say := stream(w)
				say(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"method":"sampling/createMessage","params":` + samplingParams + `}`)
				<-answered
				say(answerTo(m))
			case m.Params.Answers == nil:
				_, _ = fmt.Fprintf(jsonWriter(w), `{"id":%s,"result":{"resultType":"input_required","inputRequests":{"q":%s}}}`, m.ID, samplingQuestion)
			default:
				_, _ = jsonWriter(w).Write([]byte(answerTo(m)))
			}
		})
		c := connectTo(t, s, watches(opts, seen))
		for _, tool := range []string{"one", "two"} {
			go func() { callText(t, context.WithValue(t.Context(), contextKey("different"), tool), c, tool, tool) }()
		}
		names, ids := map[string]bool{}, map[int64]bool{}
		for range 2 {
			a := <-seen
			if a.origin.Call == nil || a.values["different"] != a.origin.Call.Name || (a.origin.ID == nil) != (name == "modern") {
				t.Errorf("got %+v with %+v", a.origin, a.values)
				continue
			}
			names[a.origin.Call.Name], ids[a.origin.Call.ID] = true, true
		}
		check.That(t, len(names) == 2 && len(ids) == 2 && !ids[0], "got calls %v with the ids %v, want both", names, ids)
		synctest.Wait() // for the answers
	})
}

// ending installs a handler that reports its start and its end.
func ending(o mcpclient.Options) (opts mcpclient.Options, began chan bool, ended chan error) {
	began, ended = make(chan bool, 1), make(chan error, 1)
	opts = samples(o, func(ctx context.Context, _ *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		began <- true
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	})
	return opts, began, ended
}

// A handler whose own work was cancelled has failed, unlike one whose question was.
func TestCancelledWorkOfHandlerIsLogged(t *testing.T) {
	opts, log := logs(samples(legacy(), func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		return nil, context.Canceled
	}), slog.LevelWarn)
	inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
		p.ask("1")
		p.next() // the answer
		check.That(t, strings.Contains(log.String(), "server request failed"), "got the log %q", log.String())
	})
}

// A shared connection does not show which call a question belongs to. The handler ends when the
// only call is cancelled, and not when it is answered: then the question belongs to something else.
// That is not a failure to warn of.
func TestHandlerOutlivesAnsweredCall(t *testing.T) {
	for _, gaveUp := range []bool{false, true} {
		opts, began, ended := ending(legacy())
		opts, log := logs(opts, slog.LevelInfo)
		inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
			ctx, cancel := context.WithCancel(t.Context())
			call, m := goCall(ctx, c, "a"), p.next()
			p.ask("1")
			<-began
			if !gaveUp {
				p.answer(m)
				synctest.Wait()
			}
			cancel()
			<-call
			synctest.Wait()
			check.Equal(t, "handler ended", len(ended) == 1, gaveUp)
			check.Equal(t, "log", log.String(), "")
		})
	}
}

// The handler of a question that arrived in the response to a call ends with the call.
func TestHandlerEndsWithItsCall(t *testing.T) {
	opts, began, ended := ending(legacy())
	synctest.Test(t, func(t *testing.T) {
		s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
			if m.Method != "tools/call" {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			say := stream(w)
			say(`{"id":1,"method":"sampling/createMessage","params":` + samplingParams + `}`)
			<-began
			say(answerTo(m))
		})
		callText(t, t.Context(), connectTo(t, s, opts), "a", "a")
		synctest.Wait()
		check.Equal(t, "handlers that ended", len(ended), 1)
	})
}
