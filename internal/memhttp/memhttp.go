// Package memhttp is an HTTP server with its own in-memory network, for tests.
//
// Everything waits on channels only, so that it works inside a bubble of
// [testing/synctest], where connections over a real network do not. Unlike
// those, a connection has no buffer: a write waits until the peer reads.
package memhttp

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
)

// errDown is why a server that is closed or refuses cannot be reached.
var errDown = errors.New("connection refused")

// Server serves one handler to its own clients, which reach it, and nothing
// else, under every host name. Its methods may be called concurrently.
//
// A bubble's server must be made and closed inside the bubble.
type Server struct {
	server    *http.Server
	transport *http.Transport
	accept    chan net.Conn
	done      chan struct{}  // closed by Close
	running   sync.WaitGroup // Serve, and every connection that it was handed

	mu      sync.Mutex // guards what follows
	open    map[net.Conn]net.Conn
	closed  bool
	refuses bool
}

// New returns a running server of h, to be ended by [Server.Close].
func New(h http.Handler) *Server {
	s := &Server{
		accept: make(chan net.Conn),
		done:   make(chan struct{}),
		open:   map[net.Conn]net.Conn{},
	}
	s.server = &http.Server{Handler: h, ConnState: s.connState}
	s.transport = &http.Transport{DialContext: s.dial, DialTLSContext: s.dial}
	s.running.Go(func() { s.server.Serve(listener{s}) })
	return s
}

// URL is the server's address, without a slash at the end. Other host names
// lead to the server too, and so does https, though unencrypted.
func (s *Server) URL() string { return "http://memhttp.test" }

// Client returns a client of [Server.Transport] that has no timeout.
func (s *Server) Client() *http.Client { return &http.Client{Transport: s.transport} }

// Transport returns the one transport of the server's clients.
func (s *Server) Transport() *http.Transport { return s.transport }

// Drop cuts every connection, as a failing network does. New ones can be made.
func (s *Server) Drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for server, client := range s.open {
		server.Close()
		client.Close()
	}
}

// Refuse says whether new connections are refused from now on. Those that are
// open stay open.
func (s *Server) Refuse(refuse bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuses = refuse
}

// Close cuts every connection, refuses new ones, and returns when the handler
// runs no more; it must heed its request's context. A connection that was
// hijacked is cut too, but its handler's own goroutines are not waited for.
// Close may be called more than once.
func (s *Server) Close() {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.mu.Unlock()
	if first {
		close(s.done)
		s.server.Close()
		s.transport.CloseIdleConnections()
	}
	s.Drop()
	s.running.Wait()
}

// dial makes a connection and hands its other end to the server.
func (s *Server) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	client, server := net.Pipe()
	if !s.add(server, client) {
		return nil, &net.OpError{Op: "dial", Net: network, Addr: memAddr(addr), Err: errDown}
	}
	select {
	case s.accept <- server:
		return client, nil
	case <-s.done:
		s.forget(server)
		return nil, &net.OpError{Op: "dial", Net: network, Addr: memAddr(addr), Err: errDown}
	case <-ctx.Done():
		s.forget(server)
		return nil, ctx.Err()
	}
}

func (s *Server) add(server, client net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.refuses {
		return false
	}
	s.open[server] = client
	s.running.Add(1)
	return true
}

func (s *Server) forget(server net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, server)
	s.running.Done()
}

// connState learns when the server is done with a connection. One that was
// hijacked stays open, and thereby known, until it is dropped.
func (s *Server) connState(conn net.Conn, state http.ConnState) {
	switch state {
	case http.StateClosed:
		s.forget(conn)
	case http.StateHijacked:
		s.running.Done()
	}
}

// listener is a server's end of its network.
type listener struct{ s *Server }

func (l listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.s.accept:
		return conn, nil
	case <-l.s.done:
		return nil, net.ErrClosed
	}
}

func (l listener) Close() error   { return nil } // Server.Close has closed done before
func (l listener) Addr() net.Addr { return memAddr("memhttp.test:80") }

type memAddr string

func (a memAddr) Network() string { return "memory" }
func (a memAddr) String() string  { return string(a) }
