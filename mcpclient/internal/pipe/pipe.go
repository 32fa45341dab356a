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

const maxUnread = 64

// New returns the two ends of a pipe: see mcpclient.Pipe.
func New() (transport.Transport, transport.Conn) {
	toServer, toClient := make(chan []byte, maxUnread), make(chan []byte, maxUnread)
	clientClosed, serverClosed := make(chan struct{}), make(chan struct{})
	client := &end{in: toClient, out: toServer, closed: clientClosed, peerClosed: serverClosed}
	server := &end{in: toServer, out: toClient, closed: serverClosed, peerClosed: clientClosed}
	return &dialer{end: client}, server
}

type dialer struct {
	end    *end
	dialed atomic.Bool
}

func (d *dialer) Dial(ctx context.Context) (transport.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if d.dialed.Swap(true) {
		return nil, fmt.Errorf("dial a pipe: %w: make a new one", transport.ErrDialedOnce)
	}
	return d.end, nil
}

type end struct {
	in         <-chan []byte
	out        chan<- []byte
	once       sync.Once // closes closed
	closed     chan struct{}
	peerClosed <-chan struct{}
}

func (e *end) Send(ctx context.Context, message []byte) error {
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
func (e *end) Err() error {
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
func (e *end) Acknowledged() bool { return false }

func (e *end) Recv() ([]byte, error) {
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

func (e *end) Close() error {
	e.once.Do(func() { close(e.closed) })
	return nil
}
