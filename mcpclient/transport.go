package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient/internal/pipe"
	"github.com/mcpchain/mcpchain/mcpclient/internal/stdio"
	"github.com/mcpchain/mcpchain/mcpclient/internal/streamable"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// Transport describes how to connect to a server. See [transport.Transport].
type Transport = transport.Transport

// IO is the stdio transport over a reader and a writer, one message per line. It can be dialed
// once; then Dial returns [transport.ErrDialedOnce]. Close closes both if they are io.Closers.
//
// A line that does not begin with { or [ is skipped, except for an answer in it, and logged by a
// client. A line over MaxMessage is a [*transport.MessageError] as soon as that is known; the
// connection continues after it. Send queues a message; it blocks while 1 MiB is queued.
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
func (t *IO) Dial(ctx context.Context) (transport.Conn, error) {
	if t == nil {
		return nil, missingTransportError(t)
	}
	return (&stdio.IO{Reader: t.Reader, Writer: t.Writer, MaxMessage: t.MaxMessage, Dialed: &t.dialed}).Dial(ctx)
}

// Pipe returns two ends of a connection within this process: a transport for a client, which can be
// dialed once ([transport.ErrDialedOnce]), and the server's end.
//
// Messages are copied, not framed, and of any size. Send blocks while 64 of them are unread.
// When an end is closed, the other still receives what was sent before, then io.EOF. A pipe has
// no goroutines or timers, and works in bubbles of testing/synctest.
func Pipe() (Transport, transport.Conn) { return pipe.New() }

// ErrClosed is the error of calls on a client that was closed, or whose connection has ended.
var ErrClosed = transport.ErrClosed

func missingTransportError(t Transport) error {
	if t == nil {
		return errors.New("no transport (nil): a disabled server of a config has none")
	}
	if v := reflect.ValueOf(t); v.Kind() == reflect.Pointer && v.IsNil() {
		return fmt.Errorf("no transport (a nil %T)", t)
	}
	return nil
}

// Command is the stdio transport: it starts a process and exchanges messages over its standard
// input and output, one per line.
//
// When the process exits or closes its output, Recv returns what it wrote and then a
// [*transport.ProcessError]. A descendant that keeps the output open delays that by at most 200 ms.
// A line that does not begin with { or [ is skipped, except for an answer in it; a client logs it,
// and the error that ends the connection quotes the last such line. A line over MaxMessage is a
// [*transport.MessageError] as soon as that is known; the connection continues after it. Send
// queues a message; it blocks while 1 MiB is queued.
//
// Close ends the whole process group: it closes the process's input, waits for StopTimeout,
// sends SIGTERM, waits again, then kills. On Windows it terminates the process tree. If this
// process is killed, the server sees the end of its input, and on Windows is killed, too.
type Command struct {
	Path string   // the program; looked up in PATH if it has no slash
	Args []string // without the program's name
	Dir  string   // default: the current directory

	// Env is added to the server's environment, as "KEY=value"; later entries take precedence.
	// Default: nothing. The basic environment has what programs need to find files (PATH, HOME,
	// TMPDIR, …), the user and the place, and the form of output (LANG, TERM, TZ, …), but no
	// secrets of this process; [os.Environ] passes these on, too.
	Env []string

	// Stderr gets the server's standard error, from one goroutine. Default: discarded, except
	// for the last 2 KiB, which errors quote; for a crash with a long stack trace these are its
	// beginning and end. If a Write blocks for a second, output is dropped so that the server
	// is not held up, and Close leaves the writer behind if it blocks for StopTimeout. After an
	// error the writer is not called again.
	Stderr io.Writer

	// MaxMessage bounds one message in bytes. Default 32 MiB.
	MaxMessage int

	// StopTimeout is how long Close waits for the end of the process after closing its input, and
	// again after SIGTERM. Default 2 s.
	StopTimeout time.Duration
}

// Dial starts the process. The error of a process that does not start is a
// [*transport.ProcessError] and wraps the operating system's.
func (t *Command) Dial(ctx context.Context) (transport.Conn, error) {
	return (*stdio.Command)(t).Dial(ctx)
}

// Identity returns what distinguishes the server from others, for an [EraCache]. It includes
// the absolute directory, because the same command may start another program elsewhere.
func (t *Command) Identity() string {
	dir, err := filepath.Abs(t.Dir)
	if err != nil {
		dir = t.Dir
	}
	return fmt.Sprintf("command %q", append([]string{dir, t.Path}, t.Args...))
}

// BundledPath returns the path of a program next to the running one, for [Command.Path] of
// servers that ship with their host. name has no directory; ".exe" is added if only that file
// exists. If the running program is a symbolic link, the directory of the link is tried first,
// then that of the file. The error matches [os.ErrNotExist] if there is no such file.
func BundledPath(name string) (string, error) { return stdio.BundledPath(name) }

// HTTP is the Streamable HTTP transport, in the form of the negotiated revision. A server that
// refuses initialize with status 400, 404 or 405 is tried over HTTP+SSE, as with SSE set.
//
// The standalone stream of a legacy server carries its own requests and notifications. The
// client opens it if something reads it: a handler, Options.OnNotification, a subscription, or
// a call with progress.
//
// Connections carry every request in an exchange of its own, so that a failure of one, such as
// a status or a truncated stream, is the error of that call alone. A Conn that wraps such a
// connection loses this.
type HTTP struct {
	// URL is absolute: http://host/path or https://host/path. Errors and logs show it without
	// user info and query.
	URL string

	// SSE uses HTTP+SSE from the start, the transport of revision 2024-11-05 that later revisions
	// replaced: one event stream at the URL carries every message of the server, and its first
	// event names the endpoint for posts. Set it for a server that is known to have nothing newer.
	// The stream is the connection: when it ends, all calls end. Unlike a session of Streamable
	// HTTP it is shared by all owners of tokens ([transport.Token]).
	SSE bool

	// Client sends the requests; it is never modified or closed. Unless it has a CheckRedirect,
	// redirects to another origin are refused. Default: a client that keeps enough idle
	// connections for many concurrent calls. Do not set its Timeout, which would cut long calls
	// and streams: bound calls by their contexts. Errors of its Transport can be found with
	// errors.As in the errors of calls.
	Client *http.Client

	// Header is added to every request. Headers of the protocol (Accept, Content-Type, Mcp-*) and
	// the Authorization of Token override it. A User-Agent replaces "mcpchain" with the version of
	// this module.
	Header http.Header

	// Token, if set, returns the token of each request: a [transport.Bearer], or a source of
	// the host's. Errors contain no tokens. The request that ends a session has the last token
	// of that session.
	Token transport.TokenSource

	// WrapTransport, if set, wraps the transport of Client for this connection only. It sees
	// every HTTP request, including redirects and repetitions, with its credentials.
	// GetBody of a request returns its message. Dial calls it once. Its errors can be found
	// with errors.As in the errors of calls.
	//
	// A call waits for its RoundTrip and for a Read of its bodies. As with net/http, both must
	// return when the context of the request ends, and Read must also return when the body is
	// closed.
	WrapTransport func(next http.RoundTripper) http.RoundTripper

	// MaxMessage bounds one message in bytes. Default 32 MiB.
	MaxMessage int
}

// Dial prepares the connection without sending a request. It fails if the URL is invalid or
// WrapTransport returns nil. With SSE it opens the stream and waits up to 10 s, without the time of
// a sign-in, for the endpoint, which must be on the same origin: the error is a
// [*transport.HTTPError] if the status explains it, and matches [mcp.ErrInvalidResult] if the
// response is not such a stream.
func (t *HTTP) Dial(ctx context.Context) (transport.Conn, error) {
	return (*streamable.HTTP)(t).Dial(ctx)
}

// Identity returns what distinguishes the server from others, for an [EraCache].
func (t *HTTP) Identity() string {
	if t.SSE {
		return "sse " + t.URL
	}
	return "http " + t.URL
}
