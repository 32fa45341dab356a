package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"sync/atomic"

	"github.com/mcpchain/mcpchain/mcpclient/internal/pipe"
	"github.com/mcpchain/mcpchain/mcpclient/internal/stdio"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// Transport describes how to connect to a server. See [transport.Transport].
type Transport = transport.Transport

// Conn carries JSON-RPC messages without framing. See [transport.Conn].
type Conn = transport.Conn

// IO is the stdio transport over a reader and a writer, one message per line. It can be dialed
// once. Close closes both if they are io.Closers.
//
// Messages that span several lines, such as indented JSON, are accepted. A line that does not
// begin like a JSON object or array is skipped, up to an answer that it may contain, and logged
// by a client. A line over MaxMessage is a [*transport.MessageError] as soon as that is known;
// the connection continues after it. Send queues a message; it blocks while 1 MiB is queued.
//
// Closing a network connection, an [os.File] with deadlines or an [io.PipeReader] makes its
// Read return. Other readers, such as a terminal, are read by a goroutine of the connection, so
// that Recv returns when the connection is closed; that goroutine remains until its last Read
// returns. So does a goroutine whose Write or Close does not return.
type IO struct {
	Reader io.Reader
	Writer io.Writer

	// MaxMessage bounds one message in bytes. Default 32 MiB.
	MaxMessage int

	dialed atomic.Bool
}

// Dial starts reading.
func (t *IO) Dial(ctx context.Context) (Conn, error) {
	if t == nil {
		return nil, missing(t)
	}
	return (&stdio.IO{Reader: t.Reader, Writer: t.Writer, MaxMessage: t.MaxMessage, Dialed: &t.dialed}).Dial(ctx)
}

// Pipe returns two ends of a connection within this process: a transport for a client, which
// can be dialed once, and the server's end.
//
// Messages are copied, not framed, and of any size. Send blocks while 64 of them are unread.
// When an end is closed, the other still receives what was sent before, then io.EOF. A pipe has
// no goroutines or timers, and works in bubbles of testing/synctest.
func Pipe() (Transport, Conn) { return pipe.New() }

// ErrClosed is the error of calls on a client that was closed, or whose connection has ended.
var ErrClosed = transport.ErrClosed

// missing returns the error for a nil transport or nil pointer, nil for other transports.
func missing(t Transport) error {
	if t == nil {
		return errors.New("no transport (nil): a disabled server of a config has none")
	}
	if v := reflect.ValueOf(t); v.Kind() == reflect.Pointer && v.IsNil() {
		return fmt.Errorf("no transport (a nil %T)", t)
	}
	return nil
}
