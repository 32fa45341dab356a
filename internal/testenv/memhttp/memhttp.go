// Package memhttp provides an HTTP server with its own in-memory network, for tests.
//
// Everything waits only on channels, so it works inside a bubble of [testing/synctest]; connections
// over a real network do not. A connection has no buffer: a write waits until the peer reads.
package memhttp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
)

var errDown = errors.New("connection refused")

// Server serves one handler to its own clients. They reach only this server,
// under every host name. Its methods may be called concurrently.
//
// A bubble's server must be made and closed inside the bubble.
type Server struct {
	server    *http.Server
	transport *http.Transport
	accept    chan net.Conn
	done      chan struct{}  // closed by Close
	running   sync.WaitGroup // Serve, and every accepted connection

	mu      sync.Mutex // guards the fields below
	open    map[net.Conn]net.Conn
	closed  bool
	refuses bool
}

// New returns a running server of h. The caller calls [Server.Close].
func New(h http.Handler) *Server {
	s := &Server{
		accept: make(chan net.Conn),
		done:   make(chan struct{}),
		open:   map[net.Conn]net.Conn{},
	}
	s.server = &http.Server{Handler: h, ConnState: s.connState, Protocols: new(http.Protocols)}
	s.server.Protocols.SetHTTP1(true)
	s.server.Protocols.SetUnencryptedHTTP2(true)
	s.transport = &http.Transport{DialContext: s.dial, DialTLSContext: s.dial}
	s.running.Go(func() { s.server.Serve(listener{s}) })
	return s
}

// URL returns the server's address, without a slash at the end. Other host names
// lead to the server, too, and so does https, without encryption.
func (s *Server) URL() string { return "http://memhttp.test" }

// Client returns a client over [Server.Transport] without a timeout.
func (s *Server) Client() *http.Client { return &http.Client{Transport: s.transport} }

// Transport returns the one transport of the server's clients.
func (s *Server) Transport() *http.Transport { return s.transport }

// Drop cuts every connection, like a failing network. New connections are possible.
func (s *Server) Drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for server, client := range s.open {
		server.Close()
		client.Close()
	}
}

// Refuse sets whether new connections are refused. Open connections stay open.
func (s *Server) Refuse(refuse bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuses = refuse
}

// Close cuts every connection, refuses new ones, and returns when no handler runs; a handler must
// watch its request's context. Hijacked connections are cut, too, but Close does not wait for their
// goroutines. Close may be called more than once.
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

func (s *Server) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var err error = &net.OpError{Op: "dial", Net: network, Addr: memAddr(addr), Err: errDown}
	client, server := net.Pipe()
	if !s.add(server, client) {
		return nil, err
	}
	select {
	case s.accept <- server:
		return client, nil
	case <-s.done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	s.forget(server)
	return nil, err
}

// add counts a connection. It returns false if the server is closed or refuses connections.
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

// connState forgets a connection when the server has closed it. A hijacked connection stays known until it is dropped.
func (s *Server) connState(conn net.Conn, state http.ConnState) {
	switch state {
	case http.StateClosed:
		s.forget(conn)
	case http.StateHijacked:
		s.running.Done()
	}
}

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

// Wire answers the requests of a client with prepared JSON bodies, at least one, in turn. It repeats the last one, and
// keeps the requests. It is for one request at a time.
type Wire struct {
	Replies  []string
	Requests []map[string]any
}

// Do answers a request whose body is a JSON object, with status 200.
func (w *Wire) Do(r *http.Request) (*http.Response, error) {
	var request map[string]any
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		return nil, err
	}
	reply := w.Replies[min(len(w.Requests), len(w.Replies)-1)]
	w.Requests = append(w.Requests, request)
	return &http.Response{
		StatusCode: http.StatusOK,
		Header:     http.Header{"Content-Type": {"application/json"}},
		Body:       io.NopCloser(strings.NewReader(reply)),
		Request:    r,
	}, nil
}
