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

	"github.com/mcpchain/mcpchain/mcpclient"
)

// Lines that a server prints between its messages are logged, before and after the handshake,
// up to a bound, even if the server is silent otherwise.
func TestSkippedLinesAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fromServer, out := io.Pipe()
		in, toServer := io.Pipe()
		go func() {
			_, _ = fmt.Fprintf(out, "Starting…\n%s\n", strings.Repeat("x", 10_000))
			for d := json.NewDecoder(in); ; {
				var m message
				if d.Decode(&m) != nil {
					return
				}
				if m.ID != nil {
					_, _ = fmt.Fprintln(out, handshakeAnswer(m))
				}
			}
		}()
		var log logged
		o := legacy()
		o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
		connected(t, &mcpclient.IO{Reader: fromServer, Writer: toServer}, o)
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		if len(lines) != 2 || !strings.Contains(lines[0], "Starting…") || len(lines[1]) < 1000 || len(lines[1]) > 1500 {
			t.Errorf("got the log %q, want both lines, the second cut to 1 KiB", lines)
		}
		for i := range 1000 {
			_, _ = fmt.Fprintln(out, "line", i)
		}
		synctest.Wait()
		text := log.String()
		if got := strings.Count(text, "\n"); got != 100 || !strings.Contains(text, "later ones are not logged") {
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
		greeting := &noisyServers{ends: make(chan func() error, 2)}
		c := connected(t, greeting, o)
		_ = (<-greeting.ends)()
		synctest.Wait()
		noError(t, c.Ping(t.Context()))
		got := strings.Count(log.String(), "hello count=1\n")
		wrong(t, got != 2, "got %d greetings, want one from each connection:\n%s", got, log.String())
	})
}

// noisyServers is a transport with an [mcpclient.IO] for each connection, whose servers print a
// greeting.
type noisyServers struct{ ends chan func() error }

func (n *noisyServers) Dial(ctx context.Context) (mcpclient.Conn, error) {
	fromServer, out := io.Pipe()
	in, toServer := io.Pipe()
	n.ends <- out.Close
	go func() {
		_, _ = fmt.Fprintln(out, "hello")
		for d := json.NewDecoder(in); ; {
			var m message
			if d.Decode(&m) != nil {
				return
			}
			if m.ID != nil {
				_, _ = fmt.Fprintln(out, handshakeAnswer(m))
			}
		}
	}()
	return (&mcpclient.IO{Reader: fromServer, Writer: toServer}).Dial(ctx)
}

// A host's own transport may read while it dials, before the client observes skipped lines.
func TestSkippedLinesWhileDialing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logged
		o := legacy()
		o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
		in := "not ready\nready\n{}\n" // the whole input
		fails(t, errOf(mcpclient.Connect(t.Context(), &awaited{&mcpclient.IO{Reader: strings.NewReader(in), Writer: io.Discard}}, &o)), "")
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
