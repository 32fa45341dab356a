package mcpclient

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/mcpchain/mcpchain/mcpclient/transport"
	"github.com/mcpchain/mcpchain/mcpclient/transport/streamable"
)

// Transport is a recipe for reaching one server. See [transport.Transport].
type Transport = transport.Transport

// Conn carries whole JSON-RPC messages, without framing. See [transport.Conn].
type Conn = transport.Conn

// Command reaches a server by starting a process: Path is the program, Args are its arguments, Dir
// is its directory, Env is added to its environment, Stderr gets its standard error. "go doc
// mcpclient/transport.Command" shows all fields, see [transport.Command].
type Command = transport.Command

// IO speaks over a reader and a writer. See [transport.IO].
type IO = transport.IO

// HTTP reaches a server at a URL. "go doc mcpclient/transport/streamable.HTTP" shows its fields, see
// [streamable.HTTP].
type HTTP = streamable.HTTP

// SSE reaches a server over HTTP+SSE. See [streamable.SSE].
type SSE = streamable.SSE

// Pipe returns two ends of a connection inside this process: a transport for a
// client, which can be dialed once, and the server's end. See [transport.Pipe].
func Pipe() (Transport, Conn) { return transport.Pipe() }

// ErrClosed is the error of calls on a client that was closed, or whose
// connection has ended.
var ErrClosed = transport.ErrClosed

// missing is the error for a nil transport or a nil pointer; nil for other
// transports.
func missing(t Transport) error {
	if t == nil {
		return errors.New("no transport (nil): a disabled server of a config has none")
	}
	if v := reflect.ValueOf(t); v.Kind() == reflect.Pointer && v.IsNil() {
		return fmt.Errorf("no transport (a nil %T)", t)
	}
	return nil
}
