package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// tuned is the HTTP client that all share, except in the cells with defaults. It keeps an
// idle connection for each concurrent call.
var tuned = &http.Client{Transport: tunedTransport()}

// tunedTransport returns net/http's default transport with enough idle connections.
func tunedTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, 1024
	return t
}

// lab has the responders of a comparison.
type lab struct {
	sessions int // idle sessions that are measured together

	self string              // the path of this program
	pipe map[string]*answers // by revision, for responders in this process

	address string // of the HTTP responder
	child   *exec.Cmd
	stop    io.Closer
	control *http.Client // for unmeasured requests
}

// inProcessLab returns a lab with responders in this process, and the one over HTTP at an address.
func inProcessLab(address string) *lab {
	return &lab{
		sessions: 99,
		pipe:     map[string]*answers{legacy: answersOf(legacy), modern: answersOf(modern)},
		address:  address,
		control:  &http.Client{Transport: tunedTransport()},
	}
}

// newLab returns a lab with an HTTP responder in a child process.
func newLab() (_ *lab, err error) {
	l := inProcessLab("")
	if l.self, err = os.Executable(); err != nil {
		return nil, err
	}
	l.child = exec.Command(l.self, respondHTTP)
	l.child.Stderr = os.Stderr
	if l.stop, err = l.child.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := l.child.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := l.child.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the address of the HTTP responder: %w", err), l.close())
	}
	l.address = strings.TrimSpace(line)
	return l, nil
}

// close closes idle connections, and ends the child process by the end of its input.
func (l *lab) close() error {
	l.control.CloseIdleConnections()
	tuned.CloseIdleConnections()
	http.DefaultClient.CloseIdleConnections()
	return errors.Join(l.stop.Close(), l.child.Wait())
}

// connections returns the number of connections that the HTTP responder has accepted.
func (l *lab) connections() (n int, err error) {
	resp, err := l.control.Get(l.address + "/opened")
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(body))
}

// endpoint makes an endpoint for one connection. release ends it.
func (l *lab) endpoint(transport, revision string) (e endpoint, release func()) {
	e.revision = revision
	switch transport {
	case "pipe":
		return l.pipeEndpoint(e)
	case "stdio":
		e.command = []string{l.self, respondStdio, revision}
	default:
		kind, ownClient := strings.CutSuffix(transport, "-default")
		e.url = l.address + "/" + kind + "/" + revision
		if !ownClient {
			e.httpClient = tuned
		}
	}
	return e, func() {}
}

// pipeEndpoint starts a responder in this process, and adds its pipes to an endpoint. release ends both.
func (l *lab) pipeEndpoint(e endpoint) (endpoint, func()) {
	requests, toResponder := io.Pipe()
	fromResponder, responses := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = l.pipe[e.revision].serve(requests, responses, 4<<10) // an error means a closed pipe
	}()
	e.reader, e.writer = fromResponder, toResponder
	return e, func() {
		_ = toResponder.Close()
		_ = fromResponder.Close()
		<-ended
	}
}

// connection is a session with its endpoint.
type connection struct {
	session
	release func()
}

// connect opens a session over a new endpoint.
func (l *lab) connect(ctx context.Context, c client, transport, revision string) (*connection, error) {
	e, release := l.endpoint(transport, revision)
	s, err := c.dial(ctx, e)
	if err != nil {
		release()
		return nil, fmt.Errorf("connect: %w", err)
	}
	return &connection{s, release}, nil
}

// close closes the session, and then ends its endpoint.
func (c *connection) close() error {
	err := c.session.close()
	c.release()
	return err
}
