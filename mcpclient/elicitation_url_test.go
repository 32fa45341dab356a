package mcpclient_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// visitor handles URLs. It accepts all except those that end in "decline".
type visitor struct {
	seen []string
	wait bool // for the completion
	done []<-chan struct{}
}

func (v *visitor) ElicitationCapability() mcp.ElicitationCapability {
	return mcp.ElicitationCapability{URL: true}
}

func (v *visitor) Elicit(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	v.seen = append(v.seen, p.URL)
	v.done = append(v.done, mcpclient.ElicitationDone(ctx))
	if v.wait {
		select {
		case <-mcpclient.ElicitationDone(ctx):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	action := mcp.ElicitAccept
	if path.Base(p.URL) == "decline" {
		action = mcp.ElicitDecline
	}
	return &mcp.ElicitResult{Action: action}, nil
}

func visiting(o mcpclient.Options, v *visitor) mcpclient.Options {
	o.Elicitation = v
	return o
}

// wantVisits checks the error of a call that requires visits.
func wantVisits(t *testing.T, err error, action string, urls int) {
	t.Helper()
	e := wantError[*mcpclient.URLElicitationError](t, err)
	rpc := wantError[*mcp.RPCError](t, err)
	if e.Action != action || len(e.Elicitations) != urls || rpc.Code != mcp.CodeURLElicitationNeeded {
		t.Errorf("got %q with %d URLs (%v), want %q with %d", e.Action, len(e.Elicitations), err, action, urls)
	}
}

func TestURLElicitationError(t *testing.T) {
	person := new(visitor)
	playAll(t, []conversation{{name: "url_legacy", way: "pipe", opts: visiting(legacy(), person), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		start := time.Now()
		callText(t, ctx, c, "t", "done")
		equal(t, "completed visits: took", time.Since(start), 2*time.Second)
		_, err := c.CallTool(ctx, "t", nil)
		wantVisits(t, err, mcp.ElicitDecline, 2)
		start = time.Now()
		_, err = c.CallTool(ctx, "t", nil)
		wantVisits(t, err, mcp.ElicitAccept, 1)
		equal(t, "no word of completion: took", time.Since(start), 5*time.Minute)
		_, err = c.CallTool(ctx, "t", nil)
		wantVisits(t, err, "", 0)
		callText(t, ctx, c, "t", "done")
		want := []string{"one", "two", "decline", "silent", "one"}
		for i := range person.seen {
			person.seen[i] = path.Base(person.seen[i])
		}
		same(t, "visits", person.seen, want)
	}}})
	form := asks(legacy())
	form.Sampling, form.Roots = nil, nil
	other := mcpclient.Options{Protocol: mcpclient.Protocol{Revision: mcp.Revision20250618}}
	plain := func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		_, err := c.CallTool(ctx, "t", nil)
		visits, ok := errors.AsType[*mcpclient.URLElicitationError](err)
		wrong(t, ok, "got %v, want the server's error alone", visits)
		wantError[*mcp.RPCError](t, err)
	}
	playAll(t, []conversation{
		{name: "url_unhandled_legacy", opts: form, play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			_, err := c.CallTool(ctx, "t", nil)
			wantVisits(t, err, "", 1)
		}},
		{name: "url_2025-06-18", opts: visiting(other, new(visitor)), play: plain},
		{name: "url_modern", opts: visiting(modern(), new(visitor)), play: plain},
	})
}

// A URL that runs code or reaches into the person's machine is never shown: the request is
// refused.
func TestURLsThatNobodyVisits(t *testing.T) {
	for _, url := range []string{"javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "vbscript:x", "ssh://example.com", "https:", "//example.com", "http://[::1", ""} {
		params := fmt.Sprintf(`{"mode":"url","elicitationId":"e","url":%q,"message":"m"}`, url)
		person := new(visitor)
		inBubble(t, visiting(legacy(), person), func(t *testing.T, c *mcpclient.Client, p *peer) {
			p.send(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":%s}`, params)
			p.refused(mcp.CodeInvalidParams)
		})
		inBubble(t, visiting(modern(), person), func(t *testing.T, c *mcpclient.Client, p *peer) {
			go p.replyAll(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":%s}}}}`, params)
			wantIs(t, errOf(c.CallTool(t.Context(), "t", nil)), mcp.ErrInvalidResult, url)
			_, err := c.CallTool(t.Context(), "t", nil, mcpclient.WithManualInput())
			question := round(t, err).Requests["k"]
			if params, ok := inquiry.Elicitation(&question); ok {
				t.Errorf("%q: by hand: got %+v, want none", url, params)
			}
		})
		wrong(t, len(person.seen) > 0, "%q: the person was asked about %q", url, person.seen)
	}
}

// A handler can wait for the completion itself.
func TestElicitationDone(t *testing.T) {
	playAll(t, []conversation{{name: "url_request_legacy", way: "pipe", opts: visiting(legacy(), &visitor{wait: true}), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		callText(t, ctx, c, "t", "done")
	}}})
	wrong(t, mcpclient.ElicitationDone(t.Context()) != nil, "outside a handler: got a channel, want nil")
	person := new(visitor)
	inBubble(t, visiting(modern(), person), func(t *testing.T, c *mcpclient.Client, p *peer) {
		go func() {
			p.reply(`{"id":%s,"result":{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":{"mode":"url","elicitationId":"e","url":"https://example.com","message":"m"}}}}}`)
			p.echo()
		}()
		callText(t, t.Context(), c, "t", "t")
		wrong(t, len(person.done) != 1 || person.done[0] != nil, "in the modern era: got %v, want nil once", person.done)
	})
}

// A call that waits for a visit ends with its context and with the client.
func TestVisitGivenUp(t *testing.T) {
	const visit = `{"jsonrpc":"2.0","id":%s,"error":{"code":-32042,"message":"visit","data":{"elicitations":[{"mode":"url","elicitationId":"e","url":"https://example.com/e","message":"m"}]}}}`
	inBubble(t, visiting(legacy(), new(visitor)), func(t *testing.T, c *mcpclient.Client, p *peer) {
		go func() {
			for m := range p.inbox {
				if m.Method == "tools/call" {
					p.send(visit, m.ID)
				}
			}
		}()
		wantIs(t, errOf(c.CallTool(t.Context(), "t", nil, mcpclient.WithTimeout(time.Second))), context.DeadlineExceeded)
		time.AfterFunc(time.Second, func() { _ = c.Close() })
		wantIs(t, errOf(c.CallTool(t.Context(), "t", nil)), mcpclient.ErrClosed)
	})
}

// The number of elicitations that the server may report as complete is bounded: the oldest is
// forgotten.
func TestVisitsBound(t *testing.T) {
	person := new(visitor)
	inBubble(t, visiting(legacy(), person), func(t *testing.T, c *mcpclient.Client, p *peer) {
		for i := range 257 {
			p.send(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"mode":"url","elicitationId":"%d","url":"https://example.com","message":"m"}}`, i)
			p.next()
		}
		p.send(`{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"0"}}`)
		p.send(`{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"1"}}`)
		synctest.Wait()
		isDone := func(i int) bool {
			select {
			case <-person.done[i]:
				return true
			default:
				return false
			}
		}
		wrong(t, isDone(0) || !isDone(1) || isDone(2), "got %v, %v, %v, want the second alone to be done", isDone(0), isDone(1), isDone(2))
	})
}

// If the handler itself waits for completion, the call is repeated at once. A too long id is
// not remembered, so completion is never reported.
func TestVisitsWithoutAWait(t *testing.T) {
	person := new(visitor)
	opts := visiting(legacy(), person)
	opts.Timeouts.ElicitationDone = -1
	inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
		go func() {
			p.reply(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32042,"message":"visit","data":{"elicitations":[{"mode":"url","elicitationId":"e","url":"https://example.com/e","message":"m"}]}}}`)
			p.answer(p.next())
		}()
		start := time.Now()
		callText(t, t.Context(), c, "t", "t")
		within(t, "the call", start, 0)
		p.send(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"mode":"url","elicitationId":"%s","url":"https://example.com","message":"m"}}`, strings.Repeat("x", 1<<10+1))
		p.next()
		wrong(t, len(person.done) != 2 || person.done[0] == nil || person.done[1] != nil, "got %v, want a channel for the first only", person.done)
	})
}
