package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func TestProgress(t *testing.T) {
	playAll(t, bothEras(conversation{name: "progress", play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		var got []mcp.Progress
		callText(t, ctx, c, "slow", "done", mcpclient.WithMeta("trace", json.RawMessage(`"t"`)),
			mcpclient.WithProgress(func(p mcp.Progress) { got = append(got, p) }))
		three := 3.0
		want := []mcp.Progress{{Progress: 1, Total: &three, Message: "one"}, {Progress: 2.5}, {Progress: 3}}
		wrong(t, !reflect.DeepEqual(got, want), "got %+v, want %+v", got, want)
		callText(t, ctx, c, "slow", "done", mcpclient.WithProgress(func(p mcp.Progress) { t.Errorf("got %+v of a call that is over", p) }))
	}}))
}

func TestCustomMessages(t *testing.T) {
	do := func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		params := json.RawMessage(`{"x": [1], "_meta": {"a": 1, "b": 0}}`)
		raw, err := c.Call(ctx, "acme/do", params, mcpclient.WithMeta("b", json.RawMessage("2")), mcpclient.WithProgress(func(mcp.Progress) {}))
		wrong(t, err != nil || string(raw) != `{"y":1}`, "got %s, %v", raw, err)
		for _, key := range []string{"progressToken", "io.modelcontextprotocol/clientInfo", "com.mcp.tools/x", "a b", "example-/x"} {
			if _, err := c.Call(ctx, "acme/do", nil, mcpclient.WithMeta(key, json.RawMessage("1"))); err == nil || !strings.Contains(err.Error(), key) {
				t.Errorf("WithMeta(%q): got %v", key, err)
			}
			if _, err := c.Call(ctx, "acme/do", map[string]any{"_meta": map[string]any{key: 1}}); err == nil || !strings.Contains(err.Error(), key) {
				t.Errorf("_meta with %q: got %v", key, err)
			}
		}
		for name, params := range map[string]any{"_meta that is not an object": map[string]any{"_meta": 1}, "array": []int{1}, "broken": json.RawMessage("{")} {
			_, err := c.Call(ctx, "acme/do", params)
			wrong(t, err == nil, "%s: got no error", name)
		}
		if _, err := c.Call(ctx, "acme/do", nil, mcpclient.WithMeta("a", json.RawMessage("{"))); err == nil {
			t.Error("broken value of WithMeta: got no error")
		}
		fails(t, errOf(c.Call(ctx, "acme/do", nil, mcpclient.WithLogLevel("loud"))), "unknown log level")
	}
	playAll(t, []conversation{
		{name: "custom", opts: legacy(), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			do(t, ctx, c)
			raw, err := c.Call(ctx, "acme/do", nil)
			wrong(t, err != nil || string(raw) != "true", "got %s, %v", raw, err)
			noError(t, c.Notify(ctx, "acme/happened", map[string]any{"z": nil}))
			noError(t, errOf(c.Call(ctx, "acme/do", json.RawMessage("null"), mcpclient.WithMeta("k", json.RawMessage("\n\"<&>\"\n")))))
		}},
		{name: "custom_modern", opts: modern(), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			do(t, ctx, c)
			_, err := c.Call(ctx, "tools/call", map[string]any{"name": "t", "requestState": "mine", "inputResponses": map[string]any{"k": struct{}{}}})
			noError(t, err)
		}},
	})
}

// giveUp ends one call by its context and one by its timeout.
func giveUp(t *testing.T, ctx context.Context, c *mcpclient.Client) {
	for i := range 2 {
		short, cancel := context.WithCancel(ctx)
		returned := background(func() error {
			return errOf(c.CallTool(short, "slow", nil, mcpclient.WithTimeout(3*time.Second*time.Duration(i))))
		})
		want := context.DeadlineExceeded
		if i == 0 {
			synctest.Wait()
			cancel()
			want = context.Canceled
		}
		start := time.Now()
		err := <-returned
		wrong(t, !errors.Is(err, want) || !strings.HasPrefix(err.Error(), `call tool "slow": `), "got %v, want %v", err, want)
		equal(t, "the call returned after", time.Since(start), time.Duration(i)*3*time.Second)
		cancel()
		synctest.Wait()
		if i == 0 {
			time.Sleep(2 * time.Second)
			callText(t, ctx, c, "next", "fine")
		}
	}
}

func TestCancel(t *testing.T) {
	playAll(t, []conversation{
		{name: "cancel_legacy", opts: legacy(), play: giveUp},
		{name: "cancel_modern", way: "pipe", opts: modern(), play: giveUp},
		{name: "cancel_modern_http", way: "json", opts: modern(), play: giveUp},
		{name: "cancel_modern_http", way: "stream", opts: modern(), play: giveUp},
	})
}

// A call whose context has ended sends nothing.
func TestCancelledBefore(t *testing.T) {
	playAll(t, []conversation{{name: "capabilities", opts: legacy(), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		over, cancel := context.WithCancelCause(ctx)
		cause := errors.New("the user left")
		cancel(cause)
		_, err := c.Call(over, "acme/do", nil)
		wantBoth(t, err, context.Canceled, cause.Error())
		ping(t, ctx, c)
	}}})
}

// A modern server may refuse the revision at any time, or require a capability. The caller gets
// the server's error, and nothing is sent again.
func TestModernRefusals(t *testing.T) {
	inBubble(t, modern(), func(t *testing.T, c *mcpclient.Client, p *peer) {
		for code, data := range map[int]string{
			mcp.CodeUnsupportedRevision: `{"supported":["2027-01-01"],"requested":"2026-07-28"}`,
			mcp.CodeMissingCapability:   `{"requiredCapabilities":{"sampling":{}}}`,
			mcp.CodeHeaderMismatch:      `{}`, // a connection without headers cannot send better ones
		} {
			go p.reply(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"no","data":%s}}`, code, data)
			_, err := c.CallTool(t.Context(), "a", nil)
			e := wantError[*mcp.RPCError](t, err)
			wrong(t, e.Code != code || string(e.Data) != data, "got %v with %s, want code %d with %s", e, e.Data, code, data)
			p.quiet()
		}
	})
}

// Nil arguments are errors, not panics.
func TestNilArguments(t *testing.T) {
	eachPeer(t, func(t *testing.T, name string, c *mcpclient.Client, p *peer) {
		go p.echo()
		for want, call := range map[string]func() error{
			"no tool":           func() error { return errOf(c.StartTask(t.Context(), nil, nil, 0)) },
			"no params":         func() error { return errOf(c.Complete(t.Context(), nil)) },
			"no round":          func() error { return errOf(mcpclient.Continue[mcp.CallToolResult](t.Context(), c, nil, nil)) },
			"tools[0]: no tool": func() error { return c.RegisterTools(nil) },
		} {
			wantText(t, call(), want+" (nil)")
		}
		_, err := c.CallTool(t.Context(), "a", nil, nil)
		wrong(t, err != nil, "an option that is nil: got %v", err)
	})
}

// Server SDKs refuse with texts of their own to send requests in the modern era. The caller of
// such a tool gets advice.
func TestToolThatMayNotAsk(t *testing.T) {
	const advice = "connect with 2025-11-25, by Options.Protocol.Revision"
	for name, tt := range map[string]struct {
		text  string
		known bool
	}{
		"mcp-go":  {`\"elicitation/create\": server-initiated requests are not supported in protocol version 2026-07-28`, true},
		"go-sdk":  {`\"sampling/createMessage\" cannot be sent while serving a request on protocol version 2026-07-28: return an InputRequests map instead (multi round-trip requests, SEP-2322)`, true},
		"refused": {"calling roots/list: this revision has no requests of the server: it asks by the result input_required", true},
		"other":   {"disk full", false},
	} {
		for era, opts := range eras() {
			for kind, answer := range map[string]string{
				"result": `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}],"isError":true}}`,
				"error":  `{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"%s"}}`,
			} {
				t.Run(name+"/"+era+"/"+kind, func(t *testing.T) {
					inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
						go p.reply(answer, tt.text)
						result, err := c.CallTool(t.Context(), "asks", nil)
						if err == nil {
							err = result.Err()
						}
						want := tt.known && era == "modern"
						if got := inquiry.Advice(err); strings.Contains(got, advice) != want || strings.Contains(fmt.Sprint(err), advice) != want {
							t.Errorf("got %v and the advice %q, want one: %v", err, got, want)
						}
					})
				})
			}
		}
	}
}
