package stdio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

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

// A reader that only a goroutine can wait for gives all that it has.
func TestIOPump(t *testing.T) {
	in := "{}\n[" + strings.Repeat("1", 100<<10) + "]\n"
	conn := dialReader(t, io.MultiReader(strings.NewReader(in)))
	for _, want := range strings.Fields(in) {
		recv(t, conn, want)
	}
}
