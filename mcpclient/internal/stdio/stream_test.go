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

	"github.com/mcpchain/mcpchain/mcpclient/internal/pipe"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// newTestStream is a stream over a pair of io.Pipes: what is sent comes out of
// the reader, and what is written to the writer is received.
func newTestStream(t *testing.T) (transport.Conn, *io.PipeReader, *io.PipeWriter) {
	t.Helper()
	fromServer, toClient := io.Pipe()
	fromClient, toServer := io.Pipe()
	conn, err := (&IO{Reader: fromServer, Writer: toServer}).Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn, fromClient, toClient
}

// A sender's deadline holds without a reader; a begun message is finished, and
// a cancelled one is never begun.
func TestSendDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, server, _ := newTestStream(t)
		big := "{" + strings.Repeat("x", 4<<20) + "}"
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := conn.Send(ctx, []byte(big)); err != nil {
			t.Fatalf("first message: %v", err)
		}
		began := time.Now()
		if err := conn.Send(ctx, []byte(`{"lost":true}`)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the deadline", err)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("Send took %v, want %v", took, time.Second)
		}
		if err := conn.Send(ctx, []byte("{}")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with a context that has ended: got %v, want the deadline", err)
		}
		sent := make(chan error, 1)
		go func() { sent <- conn.Send(t.Context(), []byte(`{"after":true}`)) }()
		l := &lineReader{src: server, max: 8 << 20}
		for _, want := range []string{big, `{"after":true}`} {
			if got, err := l.next(); err != nil || string(got) != want {
				t.Errorf("got %.20q… and error %v, want %.20q…", got, err, want)
			}
		}
		if err := <-sent; err != nil {
			t.Error(err)
		}
	})
}

func TestSendRefusesNewline(t *testing.T) {
	conn, _, _ := newTestStream(t)
	if err := conn.Send(t.Context(), []byte("{\n}")); err == nil || !strings.Contains(err.Error(), "newline") {
		t.Errorf("got %v, want an error about the newline", err)
	}
}

// Messages of many senders come out whole, whatever their size.
func TestSendConcurrently(t *testing.T) {
	const senders, each = 16, 50
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	never, _ := io.Pipe()
	conn, err := (&IO{Reader: never, Writer: w}).Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			for i := range each {
				m := fmt.Sprintf("[%d,%d,%q]", s, i, strings.Repeat("x", s*i*23))
				if err := conn.Send(t.Context(), []byte(m)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	defer conn.Close()
	defer wg.Wait()
	var next [senders]int
	l := &lineReader{src: r, max: 1 << 20}
	for range senders * each {
		m, err := l.next()
		if err != nil {
			t.Fatal(err)
		}
		var s, i int
		if _, err := fmt.Sscanf(string(m), "[%d,%d,", &s, &i); err != nil {
			t.Fatalf("torn message %.60q: %v", m, err)
		}
		want := fmt.Sprintf("[%d,%d,%q]", s, next[s], strings.Repeat("x", s*next[s]*23))
		if string(m) != want {
			t.Fatalf("got %.60q, want %.60q", m, want)
		}
		next[s]++
	}
}

func TestWriteErrorEndsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, server, _ := newTestStream(t)
		broken := errors.New("broken")
		server.CloseWithError(broken)
		if err := conn.Send(t.Context(), []byte("{}")); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Recv(); !errors.Is(err, broken) {
			t.Errorf("Recv: got %v, want %v", err, broken)
		}
		if err := conn.Send(t.Context(), []byte("{}")); !errors.Is(err, broken) {
			t.Errorf("Send: got %v, want %v", err, broken)
		}
	})
}

func TestStreamCloseUnblocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, _, _ := newTestStream(t)
		results := make(chan error, 3)
		go func() { _, err := conn.Recv(); results <- err }()
		if err := conn.Send(t.Context(), bytes.Repeat([]byte("x"), maxQueued)); err != nil {
			t.Fatal(err)
		}
		go func() { results <- conn.Send(t.Context(), []byte("{}")) }()
		synctest.Wait()
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		results <- conn.Send(t.Context(), []byte("{}"))
		for range 3 {
			if err := <-results; !errors.Is(err, transport.ErrClosed) {
				t.Errorf("got %v, want %v", err, transport.ErrClosed)
			}
		}
		if err := conn.Close(); err != nil {
			t.Errorf("second Close: %v", err)
		}
		if _, err := conn.Recv(); !errors.Is(err, transport.ErrClosed) {
			t.Errorf("Recv after Close: got %v, want %v", err, transport.ErrClosed)
		}
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
		if got, want := <-got, "{\"method\":\"notifications/cancelled\"}\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func BenchmarkStream(b *testing.B) {
	for _, size := range []int{100, 1 << 20} {
		b.Run(fmt.Sprintf("io.Pipe/%d", size), func(b *testing.B) {
			r1, w1 := io.Pipe()
			r2, w2 := io.Pipe()
			benchmarkRoundTrip(b, size, &IO{Reader: r1, Writer: w2}, &IO{Reader: r2, Writer: w1})
		})
		b.Run(fmt.Sprintf("os.Pipe/%d", size), func(b *testing.B) {
			r1, w1, err1 := os.Pipe()
			r2, w2, err2 := os.Pipe()
			if err := errors.Join(err1, err2); err != nil {
				b.Fatal(err)
			}
			benchmarkRoundTrip(b, size, &IO{Reader: r1, Writer: w2}, &IO{Reader: r2, Writer: w1})
		})
	}
}

func BenchmarkPipe(b *testing.B) {
	for _, size := range []int{100, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			recipe, server := pipe.New()
			client, err := recipe.Dial(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			benchmarkConns(b, size, client, server)
		})
	}
}

// benchmarkRoundTrip measures one message there and back.
func benchmarkRoundTrip(b *testing.B, size int, there, back transport.Transport) {
	client, err1 := there.Dial(b.Context())
	server, err2 := back.Dial(b.Context())
	if err := errors.Join(err1, err2); err != nil {
		b.Fatal(err)
	}
	benchmarkConns(b, size, client, server)
}

func benchmarkConns(b *testing.B, size int, client, server transport.Conn) {
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			m, err := server.Recv()
			if err != nil {
				return
			}
			_ = server.Send(b.Context(), m)
		}
	})
	message := []byte("[" + strings.Repeat("1", size-2) + "]")
	b.SetBytes(int64(2 * size))
	b.ReportAllocs()
	for b.Loop() {
		if err := client.Send(b.Context(), message); err != nil {
			b.Fatal(err)
		}
		if _, err := client.Recv(); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	client.Close()
	server.Close()
	wg.Wait()
}
