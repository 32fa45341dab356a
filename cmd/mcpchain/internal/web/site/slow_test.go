package site_test

import (
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
)

// unread is the server's end of a connection whose browser reads nothing: a write blocks until the end of the test,
// and no deadline ends it.
type unread struct {
	net.Conn
	begun chan struct{} // a write is under way
	over  atomic.Bool   // and has ended
}

func (u *unread) Write(p []byte) (int, error) {
	close(u.begun) // there is no second one
	defer u.over.Store(true)
	return u.Conn.Write(p)
}

func (u *unread) SetDeadline(t time.Time) error      { return u.SetReadDeadline(t) }
func (u *unread) SetWriteDeadline(_ time.Time) error { return nil }

// single is a listener with one connection.
type single struct {
	conns chan net.Conn
	done  chan struct{}
	addr  net.Addr
}

func (l *single) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *single) Addr() net.Addr { return l.addr }
func (l *single) Close() error   { return nil }

// watchUnread opens a window that reads nothing, and waits until the server is in the middle of a write to it.
func (w *world) watchUnread(t *testing.T, user, id string) *unread {
	t.Helper()
	browser, server := net.Pipe() // without a buffer
	conn := &unread{Conn: server, begun: make(chan struct{})}
	listener := &single{conns: make(chan net.Conn, 1), done: make(chan struct{}), addr: w.Listener.Addr()}
	listener.conns <- conn
	served := make(chan error, 1)
	go func() { served <- w.Config.Serve(listener) }()
	t.Cleanup(func() {
		_ = browser.Close()
		close(listener.done)
		<-served
	})
	check.Must(t, check.Err(fmt.Fprintf(browser, "GET /api/events?conversation=%s HTTP/1.1\r\nHost: %s\r\nX-Test-User: %s\r\n\r\n", id, w.Listener.Addr(), user)))
	select {
	case <-conn.begun:
	case <-time.After(time.Minute):
		t.Fatal("the server writes nothing")
	}
	return conn
}
