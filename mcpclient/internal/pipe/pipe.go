// Package pipe connects two ends in the process.
package pipe

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// pipeQueue is how many messages may be unread at one end of a pipe.
const pipeQueue = 64

// New returns the two ends of a pipe: see mcpclient.Pipe.
func New() (transport.Transport, transport.Conn) {
	there, back := make(chan []byte, pipeQueue), make(chan []byte, pipeQueue)
	clientClosed, serverClosed := make(chan struct{}), make(chan struct{})
	client := &pipeEnd{in: back, out: there, closed: clientClosed, peerClosed: serverClosed}
	server := &pipeEnd{in: there, out: back, closed: serverClosed, peerClosed: clientClosed}
	return &pipeTransport{end: client}, server
}

type pipeTransport struct {
	end    *pipeEnd
	dialed atomic.Bool
}

func (t *pipeTransport) Dial(ctx context.Context) (transport.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if t.dialed.Swap(true) {
		return nil, fmt.Errorf("dial a pipe: %w: make a new one", transport.ErrDialedOnce)
	}
	return t.end, nil
}

// pipeEnd is a [transport.Conn].
type pipeEnd struct {
	in         <-chan []byte
	out        chan<- []byte
	once       sync.Once // closes closed
	closed     chan struct{}
	peerClosed <-chan struct{}
}

func (e *pipeEnd) Send(ctx context.Context, message []byte) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	select { // a closed end refuses messages even if there is room
	case <-e.closed:
		return transport.ErrClosed
	case <-e.peerClosed:
		return fmt.Errorf("send to the other end of a pipe: %w", io.ErrClosedPipe)
	default:
	}
	select {
	case e.out <- bytes.Clone(message):
		return nil
	case <-e.closed:
		return transport.ErrClosed
	case <-e.peerClosed:
		return fmt.Errorf("send to the other end of a pipe: %w", io.ErrClosedPipe)
	case <-ctx.Done():
		return fmt.Errorf("send: the other end of the pipe does not read: %w", ctx.Err())
	}
}

// Err returns why the end is closed, or nil.
func (e *pipeEnd) Err() error {
	select {
	case <-e.closed:
		return transport.ErrClosed
	case <-e.peerClosed:
		return io.EOF
	default:
		return nil
	}
}

// Acknowledged reports that Send does not wait for the other end to read.
func (e *pipeEnd) Acknowledged() bool { return false }

func (e *pipeEnd) Recv() ([]byte, error) {
	select {
	case <-e.closed:
		return nil, transport.ErrClosed
	default:
	}
	select {
	case message := <-e.in:
		return message, nil
	case <-e.closed:
		return nil, transport.ErrClosed
	case <-e.peerClosed:
	}
	select { // messages that were sent before it closed
	case message := <-e.in:
		return message, nil
	default:
		return nil, io.EOF
	}
}

func (e *pipeEnd) Close() error {
	e.once.Do(func() { close(e.closed) })
	return nil
}
