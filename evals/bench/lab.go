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
	"strings"
	"sync"
)

// tuned is the HTTP client that all share. It keeps an idle connection for each concurrent call.
var tuned = func() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, 1024
	return &http.Client{Transport: t}
}()

// lab has the responders of a comparison.
type lab struct {
	sessions int    // idle sessions that are measured together
	large    string // the tool to measure alive memory with

	self string              // the path of this program
	pipe map[string]*answers // by revision, for responders in this process

	address string // of the HTTP responder
	child   *exec.Cmd
	stop    io.Closer
}

// inProcessLab returns a lab with responders in this process, and the one over HTTP at an address.
func inProcessLab(address string) *lab {
	return &lab{
		sessions: 99,
		large:    mib10Tool,
		pipe:     map[string]*answers{legacy: answersOf(legacy), modern: answersOf(modern)},
		address:  address,
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
	l.address = "http://" + strings.TrimSpace(line)
	return l, nil
}

func (l *lab) close() error {
	tuned.CloseIdleConnections()
	return errors.Join(l.stop.Close(), l.child.Wait())
}

// endpoint makes an endpoint for one connection. release ends it.
func (l *lab) endpoint(transport, revision string) (e endpoint, release func()) {
	if transport != "pipe" {
		return endpoint{revision: revision, url: l.address + "/" + transport + "/" + revision}, func() {}
	}
	requests, toResponder := io.Pipe()
	fromResponder, responses := io.Pipe()
	var serving sync.WaitGroup
	serving.Go(func() {
		_ = l.pipe[revision].serve(requests, responses, 4<<10) // an error means a closed pipe
	})
	return endpoint{revision: revision, reader: fromResponder, writer: toResponder}, func() {
		_ = toResponder.Close()
		_ = fromResponder.Close()
		serving.Wait()
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

func (c *connection) close() error {
	err := c.session.close()
	c.release()
	return err
}
