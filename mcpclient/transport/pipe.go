package transport

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
)

// pipeQueue is how many messages one end of a pipe can be ahead of the other.
const pipeQueue = 64

// Pipe returns two ends of a connection inside this process: a transport for a
// client, which can be dialed once, and the server's end.
//
// Messages are copied, not framed, and of any size. Send waits while 64 of them
// are unread. When an end is closed, the other can still receive what was sent
// before, then io.EOF. A pipe has no goroutines and no timers, and works in
// bubbles of testing/synctest.
func Pipe() (Transport, Conn) {
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

func (t *pipeTransport) Dial(ctx context.Context) (Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if t.dialed.Swap(true) {
		return nil, fmt.Errorf("dial a pipe: %w: make a new one", ErrDialedOnce)
	}
	return t.end, nil
}

// pipeEnd is a Conn.
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
	select { // an end that is closed refuses, also when there is room
	case <-e.closed:
		return ErrClosed
	case <-e.peerClosed:
		return fmt.Errorf("send to the other end of a pipe: %w", io.ErrClosedPipe)
	default:
	}
	select {
	case e.out <- bytes.Clone(message):
		return nil
	case <-e.closed:
		return ErrClosed
	case <-e.peerClosed:
		return fmt.Errorf("send to the other end of a pipe: %w", io.ErrClosedPipe)
	case <-ctx.Done():
		return fmt.Errorf("send: the other end of the pipe does not read: %w", ctx.Err())
	}
}

// Err is why the end is over, nil before that.
func (e *pipeEnd) Err() error {
	select {
	case <-e.closed:
		return ErrClosed
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
		return nil, ErrClosed
	default:
	}
	select {
	case message := <-e.in:
		return message, nil
	case <-e.closed:
		return nil, ErrClosed
	case <-e.peerClosed:
	}
	select { // what it sent before it closed
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
