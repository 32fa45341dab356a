package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

type observed struct {
	diary
	logs []mcp.LogMessage
}

func (o *observed) add(n *mcp.Notification) {
	o.write("%s", n.Method)
	var m mcp.LogMessage
	if n.Method == "notifications/message" && json.Unmarshal(n.Params, &m) == nil {
		o.logs = append(o.logs, m)
	}
}

func (o *observed) check(t *testing.T, want ...string) {
	t.Helper()
	check.Same(t, "notifications", o.read(), want)
}

func TestLogging(t *testing.T) {
	talk := func(seen *observed) func(*testing.T, context.Context, *mcpclient.Client) {
		return func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			seen.read()
			seen.logs = nil
			callText(t, ctx, c, "talk", "done")
			seen.check(t, "notifications/message", "notifications/tools/list_changed")
			check.That(t, len(seen.logs) == 1 && seen.logs[0].Level == "error" && seen.logs[0].Logger == "db", "got logs %+v", seen.logs)
			check.Fails(t, c.SetLogLevel(ctx, "loud"), "unknown level")
			for _, level := range []mcp.LogLevel{"debug", ""} {
				check.NoError(t, c.SetLogLevel(ctx, level))
				callText(t, ctx, c, "talk", "done")
			}
			callText(t, ctx, c, "talk", "done", mcpclient.WithLogLevel("alert"))
		}
	}
	var seen observed
	legacy, modern := legacy(), modern()
	legacy.LogLevel, legacy.OnNotification = "warning", seen.add
	modern.LogLevel, modern.OnNotification = "warning", seen.add
	playAll(t, []conversation{
		{name: "logging_legacy", opts: legacy, play: talk(&seen)},
		{name: "logging_refused", opts: legacy, play: ping},
		{name: "logging_modern", opts: modern, play: talk(&seen)},
	})
}

// A server without logging is not sent a level.
func TestLogLevelForNobody(t *testing.T) {
	opts := legacy()
	opts.LogLevel = "warning"
	inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
		check.NoError(t, c.SetLogLevel(t.Context(), ""), "none")
		p.quiet()
	})
	eachPeer(t, func(t *testing.T, _ string, c *mcpclient.Client, p *peer) {
		check.Is(t, c.SetLogLevel(t.Context(), "debug"), mcpclient.ErrUndeclared)
		p.quiet()
	})
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
	opts := speaking(mcp.Revision20250326)
	opts.OnNotification = seen.add
	playAll(t, []conversation{{name: "batch", way: "pipe", opts: opts, play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		for _, tool := range []string{"a", "b"} {
			go callText(t, ctx, c, tool, "for "+tool)
			synctest.Wait()
		}
		seen.check(t, "notifications/tools/list_changed")
	}}})
}

func TestGarbage(t *testing.T) {
	playAll(t, []conversation{{name: "garbage", way: "pipe", opts: legacy(), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		check.Is(t, check.Err(c.CallTool(ctx, "a", nil)), mcp.ErrInvalidResult, "a")
		callText(t, ctx, c, "b", "fine")
		waits := goCall(ctx, c, "c")
		synctest.Wait()
		check.Is(t, check.Err(c.CallTool(ctx, "d", nil)), mcp.ErrInvalidResult, "d")
		check.Equal(t, "c", <-waits, outcome{text: "fine"})
	}}})
}

// A message over the limit fails the call whose id it begins with, and no other, even if that call has been cancelled.
func TestTooLargeMessage(t *testing.T) {
	overLinesUpTo(t, 1000, legacy(), func(t *testing.T, c *mcpclient.Client, p *peer) {
		long := strings.Repeat("x", 2000)
		first := goCall(t.Context(), c, "long")
		cut := p.next()
		second := goCall(t.Context(), c, "short")
		whole := p.next()
		p.send(`{"method":"notifications/message","params":{"data":%q}}`, long)
		p.send(`{"method":"ping","id":%s,"params":{"data":%q}}`, whole.ID, long)
		for range 2 {
			p.send(`{"id":%s,"result":{"content":[{"type":"text","text":%q}]}}`, cut.ID, long)
			synctest.Wait()
		}
		p.answer(whole)
		check.Is(t, (<-first).err, transport.ErrMessageTooLarge)
		check.Equal(t, "another call", <-second, outcome{text: "short"})
		third := goCall(t.Context(), c, "long")
		p.send(`{"result":{"content":[{"type":"text","text":%q}]},"id":%s}`, long, p.next().ID) // the only call that waits
		check.Is(t, (<-third).err, transport.ErrMessageTooLarge, "id at the end")
	})
}

func TestBatchIsBounded(t *testing.T) {
	var seen observed
	opts := legacy()
	opts.OnNotification = seen.add
	inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
		call := goCall(t.Context(), c, "a")
		p.send("[" + strings.Repeat(`{"method":"n"},`, 1000) + answerTo(p.next()) + "]")
		check.Is(t, (<-call).err, mcp.ErrInvalidResult)
		seen.check(t)
		call = goCall(t.Context(), c, "a")
		p.send("[" + strings.Repeat(`{"method":"n"},`, 999) + answerTo(p.next()) + "]")
		check.Equal(t, "call", <-call, outcome{text: "a"})
		check.Equal(t, "notifications", len(seen.read()), 999)
	})
}

// The log says that an answer was found among other text, but does not quote it.
func TestAnswersAmongTextAreNotLogged(t *testing.T) {
	for _, text := range []string{"Loading… ", "[INFO] sent "} {
		opts, log := logs(legacy(), slog.LevelInfo)
		overLines(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
			call := goCall(t.Context(), c, "private")
			p.send("%s", text+answerTo(p.next()))
			check.Equal(t, text, <-call, outcome{text: "private"})
		})
		check.That(t, log.String() != "" && !strings.Contains(log.String(), "private"), "got the log %s, want a warning without what the tool said", log)
	}
}

// Text that a server prints between its messages answers nothing, even if it looks like the beginning of the only call's answer.
func TestNoiseIsNoAnswer(t *testing.T) {
	for _, line := range []string{"[INFO] running tool", "{'debug': 1}", "[2026-01-01T00:00:00Z] x", `{"level":"info"`, `{"id":99,"x":}`} {
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
		check.That(t, n.Params == nil || json.Valid(n.Params), "got params %q, want JSON", n.Params)
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

// Lines that a server prints between its messages are logged, before and after the handshake,
// up to a bound, even if the server is silent otherwise.
func TestSkippedLinesAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport, out := greeting("Starting…\n" + strings.Repeat("x", 10_000))
		o, log := logs(legacy(), slog.LevelWarn)
		connected(t, transport, o)
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		check.That(t, len(lines) == 2 && strings.Contains(lines[0], "Starting…") && len(lines[1]) >= 1000 && len(lines[1]) <= 1500,
			"got the log %q, want both lines, the second cut to 1 KiB", lines)
		for i := range 1000 {
			_, _ = fmt.Fprintln(out, "line", i)
		}
		synctest.Wait()
		text := log.String()
		check.Equal(t, "lines", strings.Count(text, "\n"), 100)
		check.Contains(t, "the last one", text, "later ones on this connection are logged at Debug")
	})
}

// The bound applies to each connection.
func TestSkippedLinesOfNextConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, log := logs(legacy(), slog.LevelWarn)
		o.Limits.Restarts = 5
		ends := make(chan *io.PipeWriter, 2)
		c := connected(t, dialer(func(ctx context.Context) (transport.Conn, error) {
			transport, out := greeting("hello")
			ends <- out
			return transport.Dial(ctx)
		}), o)
		_ = (<-ends).Close()
		synctest.Wait()
		check.NoError(t, c.Ping(t.Context()))
		check.Equal(t, "greetings", strings.Count(log.String(), "hello count=1\n"), 2)
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
		o, log := logs(legacy(), slog.LevelWarn)
		connect := func(input string) error {
			return connectError(t, &awaited{&mcpclient.IO{Reader: strings.NewReader(input), Writer: io.Discard}}, o)
		}
		check.Fails(t, connect("not ready\nready\n{}\n"))
		check.Contains(t, "what the server said last", log.String(), `text=ready count=1`)
		err := connect("not ready\n")
		check.That(t, err != nil && strings.HasSuffix(err.Error(), `the last: "not ready"`), "got %v, want what the server said", err)
	})
}

// awaited is a transport that waits in Dial for the first message of its server.
type awaited struct{ mcpclient.Transport }

func (a *awaited) Dial(ctx context.Context) (transport.Conn, error) {
	conn, err := a.Transport.Dial(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Recv(); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}
