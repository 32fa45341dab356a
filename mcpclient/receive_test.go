package mcpclient_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// observed collects notifications.
type observed struct {
	mu      sync.Mutex
	methods []string
	logs    []mcp.LogMessage
}

func (o *observed) add(n *mcp.Notification) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.methods = append(o.methods, n.Method)
	var m mcp.LogMessage
	if n.Method == "notifications/message" && json.Unmarshal(n.Params, &m) == nil {
		o.logs = append(o.logs, m)
	}
}

func (o *observed) check(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	check.Same(t, "notifications", o.methods, want)
}

func TestLogging(t *testing.T) {
	talk := func(seen *observed) func(*testing.T, context.Context, *mcpclient.Client) {
		return func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			seen.methods, seen.logs = nil, nil
			callText(t, ctx, c, "talk", "done")
			seen.check(t, "notifications/message", "notifications/tools/list_changed")
			wrong(t, len(seen.logs) != 1 || seen.logs[0].Level != mcp.LogError || seen.logs[0].Logger != "db", "got logs %+v", seen.logs)
			check.Fails(t, c.SetLogLevel(ctx, "loud"), "unknown level")
			for _, level := range []mcp.LogLevel{mcp.LogDebug, ""} {
				check.NoError(t, c.SetLogLevel(ctx, level))
				callText(t, ctx, c, "talk", "done")
			}
			callText(t, ctx, c, "talk", "done", mcpclient.WithLogLevel(mcp.LogAlert))
		}
	}
	var seen observed
	legacy, modern := legacy(), modern()
	legacy.LogLevel, legacy.OnNotification = mcp.LogWarning, seen.add
	modern.LogLevel, modern.OnNotification = mcp.LogWarning, seen.add
	playAll(t, []conversation{
		{name: "logging_legacy", opts: legacy, play: talk(&seen)},
		{name: "logging_refused", opts: legacy, play: ping},
		{name: "logging_modern", opts: modern, play: talk(&seen)},
	})
}

// A server without logging is not sent a level.
func TestLogLevelForNobody(t *testing.T) {
	opts := legacy()
	opts.LogLevel = mcp.LogWarning
	inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
		check.NoError(t, c.SetLogLevel(t.Context(), ""), "none")
		p.quiet()
	})
	for _, opts := range []mcpclient.Options{legacy(), modern()} {
		inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
			wantError[*mcpclient.CapabilityError](t, c.SetLogLevel(t.Context(), mcp.LogDebug))
			p.quiet()
		})
	}
}

func TestPingBothWays(t *testing.T) {
	playAll(t, []conversation{{name: "ping_legacy", opts: legacy(), play: ping}})
}

func TestIDs(t *testing.T) {
	playAll(t, []conversation{{name: "ids", way: "pipe", opts: legacy(), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		callText(t, ctx, c, "a", "quoted")
		callText(t, ctx, c, "b", "")
		ping(t, ctx, c)
	}}})
}

func TestBatch(t *testing.T) {
	var seen observed
	opts := mcpclient.Options{Protocol: mcpclient.Protocol{Revision: mcp.Revision20250326}, OnNotification: seen.add}
	playAll(t, []conversation{{name: "batch", way: "pipe", opts: opts, play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		var wg sync.WaitGroup
		for _, tool := range []string{"a", "b"} {
			wg.Go(func() { callText(t, ctx, c, tool, "for "+tool) })
			synctest.Wait()
		}
		wg.Wait()
		seen.check(t, "notifications/tools/list_changed")
	}}})
}

func TestGarbage(t *testing.T) {
	playAll(t, []conversation{{name: "garbage", way: "pipe", opts: legacy(), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		check.Is(t, check.Err(c.CallTool(ctx, "a", nil)), mcp.ErrInvalidResult, "a")
		callText(t, ctx, c, "b", "fine")
		var wg sync.WaitGroup
		wg.Go(func() { callText(t, ctx, c, "c", "fine") })
		synctest.Wait()
		wg.Go(func() { check.Is(t, check.Err(c.CallTool(ctx, "d", nil)), mcp.ErrInvalidResult, "d") })
		wg.Wait()
	}}})
}

// A message over the limit fails the call whose id it begins with, and no other, even if that
// call has been cancelled.
func TestTooLargeMessage(t *testing.T) {
	overLinesUpTo(t, 1000, legacy(), func(t *testing.T, c *mcpclient.Client, p *peer) {
		long := strings.Repeat("x", 2000)

		var calls sync.WaitGroup
		calls.Go(func() { check.Is(t, check.Err(c.CallTool(t.Context(), "long", nil)), transport.ErrMessageTooLarge) })
		first := p.next()
		calls.Go(func() { callText(t, t.Context(), c, "short", "short") })
		second := p.next()
		p.send(`{"method":"notifications/message","params":{"data":%q}}`, long)
		p.send(`{"method":"ping","id":%s,"params":{"data":%q}}`, second.ID, long)
		p.send(`{"id":%s,"result":{"content":[{"type":"text","text":%q}]}}`, first.ID, long)
		synctest.Wait()
		p.send(`{"id":%s,"result":{"content":[{"type":"text","text":%q}]}}`, first.ID, long)
		synctest.Wait()
		p.answer(second)
		calls.Wait()

		calls.Go(func() {
			check.Is(t, check.Err(c.CallTool(t.Context(), "long", nil)), transport.ErrMessageTooLarge, "id at the end")
		})
		third := p.next()
		p.send(`{"result":{"content":[{"type":"text","text":%q}]},"id":%s}`, long, third.ID) // the only call that waits
		calls.Wait()
	})
}

func TestBatchIsBounded(t *testing.T) {
	var seen observed
	opts := legacy()
	opts.OnNotification = seen.add
	inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
		var call sync.WaitGroup
		call.Go(func() { check.Is(t, check.Err(c.CallTool(t.Context(), "a", nil)), mcp.ErrInvalidResult) })
		m := p.next()
		p.send("[" + strings.Repeat(`{"method":"n"},`, 1000) + answerTo(m) + "]")
		call.Wait()
		seen.check(t)
		call.Go(func() { callText(t, t.Context(), c, "a", "a") })
		m = p.next()
		p.send("[" + strings.Repeat(`{"method":"n"},`, 999) + answerTo(m) + "]")
		call.Wait()
		synctest.Wait()
		check.Equal(t, "notifications", len(seen.methods), 999)
	})
}

// The log says that an answer was found among other text, but does not quote it.
func TestAnswersAmongTextAreNotLogged(t *testing.T) {
	var log bytes.Buffer
	opts := modern()
	opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
	inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
		go p.reply(`Loading… {"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","content":[{"type":"text","text":"private"}]}}`)
		callText(t, t.Context(), c, "a", "private")
	})
	if text := log.String(); !strings.Contains(text, "do not stand alone") || strings.Contains(text, "private") {
		t.Errorf("got the log %s, want a warning without what the tool said", text)
	}
}

// A broken answer behind another on its line fails its call, with an error that does not quote the
// other one.
func TestBrokenAnswerBehindAnother(t *testing.T) {
	overLines(t, legacy(), func(t *testing.T, c *mcpclient.Client, p *peer) {
		var calls sync.WaitGroup
		calls.Go(func() { callText(t, t.Context(), c, "a", "private") })
		first := p.next()
		calls.Go(func() {
			err := check.Err(c.CallTool(t.Context(), "b", nil))
			wantBoth(t, err, mcp.ErrInvalidResult, "broken")
			if text := fmt.Sprint(err); strings.Contains(text, "private") || strings.Contains(text, "text after the message") {
				t.Errorf("got %s, want the reason and the text of the broken answer", text)
			}
		})
		second := p.next()
		p.send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"private"}]}}{"jsonrpc":"2.0","id":%s,"result":{"broken":}}`, first.ID, second.ID)
		calls.Wait()
	})
}

// The messages of a line are received, however many there are.
func TestManyMessagesOnALine(t *testing.T) {
	overLines(t, legacy(), func(t *testing.T, c *mcpclient.Client, p *peer) {
		for _, n := range []int{1000, 2000} {
			var call sync.WaitGroup
			call.Go(func() { callText(t, t.Context(), c, "a", "a") })
			p.send("%s", strings.Repeat(`{"method":"n"}`, n)+answerTo(p.next()))
			call.Wait()
		}
	})
}

// Text that a server prints between its messages answers nothing, even if only one call waits
// and the text looks like the beginning of a message.
func TestNoiseIsNoAnswer(t *testing.T) {
	noise := []string{"[INFO] running tool", "{'debug': 1}", "[2026-01-01T00:00:00Z] x", `{"level":"info"`, `{"id":99,"x":}`}
	for _, line := range noise {
		bubble(t, line, func(t *testing.T) {
			transport, _ := program(func(m message) string {
				if m.Method == "server/discover" {
					return line + "\n" + handshakeAnswer(m)
				}
				return line + "\n" + answerTo(m)
			})
			c := connected(t, transport, mcpclient.Options{})
			check.Equal(t, "revision", c.Server().Revision, mcp.Revision20260728)
			callText(t, t.Context(), c, "a", "a")
		})
	}
}

// A callback gets params that are valid JSON; a notification with others is dropped.
func TestNotificationParamsAreJSON(t *testing.T) {
	opts := legacy()
	var seen observed
	opts.OnNotification = func(n *mcp.Notification) {
		wrong(t, n.Params != nil && !json.Valid(n.Params), "got params %q, want JSON", n.Params)
		seen.add(n)
	}
	inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
		for _, params := range []string{`{"a":1-2}`, `{"a" "b"}`, `{"a":"\q"}`} {
			p.send(`{"method":"bad","params":%s}`, params)
		}
		p.send(`{"method":"good","params":{"a":1}}`)
		p.send(`{"method":"bare"}`)
		seen.check(t, "good", "bare")
	})
}

// A request among other text is quoted from another log. Several messages on one line with
// nothing else are real messages.
func TestRequestsOnALine(t *testing.T) {
	const note, asks = `{"jsonrpc":"2.0","method":"notifications/x"}`, `{"jsonrpc":"2.0","id":5,"method":"ping"}`
	var seen observed
	opts := legacy()
	opts.OnNotification = seen.add
	overLines(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
		for _, line := range []string{"received " + asks, "[INFO] received " + asks, "[INFO] sent [" + note + "]", note + " " + asks + " is over"} {
			p.send("%s", line)
			p.quiet()
		}
		seen.check(t)
		p.send("%s", note+asks)
		m := p.next()
		wrong(t, string(m.ID) != "5" || m.Result == nil, "got %+v, want the answer to the ping", m)
		seen.check(t, "notifications/x")
	})
}

// Lines that a server prints between its messages are logged, before and after the handshake,
// up to a bound, even if the server is silent otherwise.
func TestSkippedLinesAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport, out := greeting("Starting…\n" + strings.Repeat("x", 10_000))
		var log logged
		o := legacy()
		o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
		connected(t, transport, o)
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		if len(lines) != 2 || !strings.Contains(lines[0], "Starting…") || len(lines[1]) < 1000 || len(lines[1]) > 1500 {
			t.Errorf("got the log %q, want both lines, the second cut to 1 KiB", lines)
		}
		for i := range 1000 {
			_, _ = fmt.Fprintln(out, "line", i)
		}
		synctest.Wait()
		text := log.String()
		if got := strings.Count(text, "\n"); got != 100 || !strings.Contains(text, "later ones on this connection are logged at Debug") {
			t.Errorf("got %d lines, want 100, of which the last says so:\n%s", got, text)
		}
	})
}

// The bound applies to each connection.
func TestSkippedLinesOfNextConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logged
		o := legacy()
		o.Restart = &mcpclient.Restart{}
		o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
		ends := make(chan *io.PipeWriter, 2)
		c := connected(t, dialer(func(ctx context.Context) (mcpclient.Conn, error) {
			transport, out := greeting("hello")
			ends <- out
			return transport.Dial(ctx)
		}), o)
		_ = (<-ends).Close()
		synctest.Wait()
		check.NoError(t, c.Ping(t.Context()))
		got := strings.Count(log.String(), "hello count=1\n")
		wrong(t, got != 2, "got %d greetings, want one from each connection:\n%s", got, log.String())
	})
}

// greeting is a program that prints a text before its messages.
func greeting(text string) (*mcpclient.IO, *io.PipeWriter) {
	transport, out := program(func(m message) string {
		if m.ID == nil {
			return ""
		}
		return handshakeAnswer(m)
	})
	go func() { _, _ = fmt.Fprintln(out, text) }()
	synctest.Wait() // until it waits for its reader
	return transport, out
}

// A host's own transport may read while it dials, before the client observes skipped lines.
func TestSkippedLinesWhileDialing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logged
		o := legacy()
		o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
		in := "not ready\nready\n{}\n" // the whole input
		check.Fails(t, check.Err(mcpclient.Connect(t.Context(), &awaited{&mcpclient.IO{Reader: strings.NewReader(in), Writer: io.Discard}}, &o)), "")
		text := log.String()
		wrong(t, !strings.Contains(text, `text=ready count=1`), "got the log %q, want what the server said last", text)
		in = "not ready\n"
		_, err := mcpclient.Connect(t.Context(), &awaited{&mcpclient.IO{Reader: strings.NewReader(in), Writer: io.Discard}}, &o)
		wrong(t, err == nil || !strings.HasSuffix(err.Error(), `the last: "not ready"`), "got %v, want what the server said", err)
	})
}

// awaited is a transport that waits in Dial for the first message of its server.
type awaited struct{ mcpclient.Transport }

func (a *awaited) Dial(ctx context.Context) (mcpclient.Conn, error) {
	conn, err := a.Transport.Dial(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Recv(); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}
