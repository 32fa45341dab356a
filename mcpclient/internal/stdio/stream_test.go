package stdio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// newTestStream is a stream over a pair of io.Pipes: what is sent comes out of
// the reader, and what is written to the writer is received.
func newTestStream(t *testing.T) (transport.Conn, *io.PipeReader, *io.PipeWriter) {
	t.Helper()
	fromServer, toClient := io.Pipe()
	fromClient, toServer := io.Pipe()
	conn := check.Value((&IO{Reader: fromServer, Writer: toServer}).Dial(t.Context()))(t)
	t.Cleanup(func() { conn.Close() })
	return conn, fromClient, toClient
}

// A sender's deadline holds without a reader; a begun message is finished, and a cancelled one is never begun.
func TestSendDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, server, _ := newTestStream(t)
		big := "{" + strings.Repeat("x", 4<<20) + "}"
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		check.Must(t, conn.Send(ctx, []byte(big)))
		began := time.Now()
		check.Is(t, conn.Send(ctx, []byte(`{"lost":true}`)), context.DeadlineExceeded)
		check.Equal(t, "Send took", time.Since(began), time.Second)
		check.Is(t, conn.Send(ctx, []byte("{}")), context.DeadlineExceeded, "with a context that has ended")
		sent := make(chan error, 1)
		go func() { sent <- conn.Send(t.Context(), []byte(`{"after":true}`)) }()
		l := &lineReader{src: server, max: 8 << 20}
		for _, want := range []string{big, `{"after":true}`} {
			wantNext(t, l, want)
		}
		check.NoError(t, <-sent)
	})
}

func TestSendRefusesNewline(t *testing.T) {
	conn, _, _ := newTestStream(t)
	check.Text(t, conn.Send(t.Context(), []byte("{\n}")), "newline")
}

// Messages of many senders come out whole, whatever their size.
func TestSendConcurrently(t *testing.T) {
	const senders, each = 16, 50
	r, w, err := os.Pipe()
	check.Must(t, err)
	never, _ := io.Pipe()
	conn := check.Value((&IO{Reader: never, Writer: w}).Dial(t.Context()))(t)
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			for i := range each {
				check.NoError(t, conn.Send(t.Context(), fmt.Appendf(nil, "[%d,%d,%q]", s, i, strings.Repeat("x", s*i*23))))
			}
		})
	}
	defer conn.Close()
	defer wg.Wait()
	var next [senders]int
	l := &lineReader{src: r, max: 1 << 20}
	for range senders * each {
		m := check.Value(l.next())(t)
		var s, i int
		_, err = fmt.Sscanf(string(m), "[%d,%d,", &s, &i)
		check.Require(t, err == nil, "torn message %.60q: %v", m, err)
		want := fmt.Sprintf("[%d,%d,%q]", s, next[s], strings.Repeat("x", s*next[s]*23))
		check.Require(t, string(m) == want, "got %.60q, want %.60q", m, want)
		next[s]++
	}
}

func TestWriteErrorEndsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, server, _ := newTestStream(t)
		broken := errors.New("broken")
		server.CloseWithError(broken)
		check.Must(t, conn.Send(t.Context(), []byte("{}")))
		check.Is(t, check.Err(conn.Recv()), broken, "Recv")
		check.Is(t, conn.Send(t.Context(), []byte("{}")), broken, "Send")
	})
}

func TestStreamCloseUnblocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, _, _ := newTestStream(t)
		results := make(chan error, 3)
		go func() { results <- check.Err(conn.Recv()) }()
		check.Must(t, conn.Send(t.Context(), bytes.Repeat([]byte("x"), maxQueued)))
		go func() { results <- conn.Send(t.Context(), []byte("{}")) }()
		synctest.Wait()
		check.NoError(t, conn.Close())
		results <- conn.Send(t.Context(), []byte("{}"))
		for range 3 {
			check.Is(t, <-results, transport.ErrClosed)
		}
		check.NoError(t, conn.Close(), "second Close")
		check.Is(t, check.Err(conn.Recv()), transport.ErrClosed, "Recv after Close")
	})
}

func TestStreamCloseWritesWhatIsQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, server, _ := newTestStream(t)
		got := make(chan string, 1)
		go func() {
			time.Sleep(closingTime / 2)
			b, _ := io.ReadAll(server)
			got <- string(b)
		}()
		_ = conn.Send(t.Context(), []byte(`{"method":"notifications/cancelled"}`))
		conn.Close()
		check.Equal(t, "", <-got, "{\"method\":\"notifications/cancelled\"}\n")
	})
}
