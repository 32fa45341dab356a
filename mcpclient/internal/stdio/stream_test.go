package stdio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// newTestStream is a stream over a pair of io.Pipes: what is sent comes out of the reader; what the writer gets is received.
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

func TestIODial(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	recipe := &IO{Reader: strings.NewReader(""), Writer: io.Discard, Dialed: new(atomic.Bool)}
	check.Is(t, check.Err(recipe.Dial(ended)), context.Canceled, "with a context that has ended")
	conn := check.Value(recipe.Dial(t.Context()))(t)
	defer conn.Close()
	check.Text(t, check.Err(recipe.Dial(t.Context())), "once", "second Dial")
	check.Text(t, check.Err((&IO{Reader: strings.NewReader("")}).Dial(t.Context())), "Writer", "without a writer")
}

// dialReader returns a connection that receives what a reader has.
func dialReader(t *testing.T, r io.Reader) transport.Conn {
	t.Helper()
	conn := check.Value((&IO{Reader: r, Writer: io.Discard}).Dial(t.Context()))(t)
	t.Cleanup(func() { conn.Close() })
	return conn
}

func TestIOEnd(t *testing.T) {
	reset := errors.New("reset")
	for _, test := range []struct {
		name   string
		reader io.Reader
		is     error
		text   string
	}{
		{"regular", strings.NewReader("{}\n"), io.EOF, "EOF"},
		{"cut off", strings.NewReader("{}\n{"), io.ErrUnexpectedEOF, "read: unexpected EOF"},
		{"error", io.MultiReader(strings.NewReader("{}\n"), readerFunc(func([]byte) (int, error) { return 0, reset })), reset, "read: reset"},
		{"skipped", strings.NewReader("{}\nusage: server\x1b [flags]\n"), io.EOF,
			"EOF; it wrote a line that is not a JSON-RPC message, the last: \"usage: server\\x1b [flags]\""},
	} {
		t.Run(test.name, func(t *testing.T) {
			conn := dialReader(t, test.reader)
			recv(t, conn, "{}")
			for range 2 {
				err := check.Err(conn.Recv())
				check.Is(t, err, test.is)
				check.Equal(t, "", fmt.Sprint(err), test.text)
			}
			check.Is(t, conn.Send(t.Context(), []byte("{}")), test.is, "Send")
		})
	}
}

func TestIOSkippedLines(t *testing.T) {
	conn := dialReader(t, strings.NewReader("one\n"+strings.Repeat("two", 1<<10)+"\n{}\n"))
	check.Must(t, check.Err(conn.Recv()))
	skipped := &conn.(*stream).lines.skipped
	if last := skipped.last(); !strings.HasPrefix(last, "twotwo") || len(last) > excerpt.Max+len("…") {
		t.Errorf("got %.20q of %d bytes, want the last line and at most 1 KiB", last, len(last))
	}
}

// Recv returns when the connection is closed, whatever it reads from.
func TestIOCloseUnblocksRecv(t *testing.T) {
	pipeReader, _ := io.Pipe()
	file, fileWriter, err := os.Pipe()
	check.Must(t, err)
	defer fileWriter.Close()
	socket, _ := net.Pipe()
	release := make(chan struct{})
	defer close(release)
	for name, reader := range map[string]io.Reader{
		"io.Pipe": pipeReader,
		"os.Pipe": file,
		"net":     socket,
		"stuck":   readerFunc(func([]byte) (int, error) { <-release; return 0, io.EOF }),
	} {
		t.Run(name, func(t *testing.T) {
			conn, got := dialReader(t, reader), make(chan error)
			go func() { got <- check.Err(conn.Recv()) }()
			check.NoError(t, conn.Close())
			check.Is(t, <-got, transport.ErrClosed)
		})
	}
}

// Reading, writing and closing that cannot be ended costs Close a moment each, and
// the goroutines that are left behind end with the last call.
func TestIOCloseLeavesStuckBehind(t *testing.T) {
	for name, test := range map[string]struct {
		closes  bool
		moments time.Duration
	}{
		"read and write":        {false, 3},
		"read, write and close": {true, 5},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				stuck := func([]byte) (int, error) { <-release; return 0, io.EOF }
				over := &IO{Reader: readerFunc(stuck), Writer: writerFunc(stuck)}
				if test.closes {
					closer := closerFunc(func() error { <-release; return nil })
					over.Reader = struct {
						io.Reader
						io.Closer
					}{over.Reader, closer}
					over.Writer = struct {
						io.Writer
						io.Closer
					}{over.Writer, closer}
				}
				conn := check.Value(over.Dial(t.Context()))(t)
				go conn.Recv()
				_ = conn.Send(t.Context(), []byte("{}"))
				synctest.Wait()
				began := time.Now()
				check.NoError(t, conn.Close())
				took, want := time.Since(began), test.moments*closingTime
				check.That(t, took <= want, "Close took %v, want at most %v", took, want)
				close(release) // the bubble waits for all goroutines
			})
		})
	}
}

type closerFunc func() error

func (f closerFunc) Close() error { return f() }

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// The channel of an SSH client is reader and writer, and its second Close returns io.EOF.
func TestIOClosesOneValueTwice(t *testing.T) {
	closed := false
	channel := struct {
		io.Reader
		writerFunc
		closerFunc
	}{strings.NewReader(""), func(b []byte) (int, error) { return len(b), nil }, func() error {
		if closed {
			return io.EOF
		}
		closed = true
		return nil
	}}
	conn := check.Value((&IO{Reader: channel, Writer: channel}).Dial(t.Context()))(t)
	check.NoError(t, conn.Close())
	check.That(t, closed, "the channel is open")
}

// A reader that only a goroutine can wait for gives all that it has.
func TestIOPump(t *testing.T) {
	in := "{}\n[" + strings.Repeat("1", 100<<10) + "]\n"
	conn := dialReader(t, io.MultiReader(strings.NewReader(in)))
	for _, want := range strings.Fields(in) {
		recv(t, conn, want)
	}
}
