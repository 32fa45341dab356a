package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/evals/bench/rig"
)

// sharedClient is the HTTP client of all compared clients, except in cells with [ownClientSuffix]. It
// keeps an idle connection for each concurrent call.
var sharedClient = &http.Client{Transport: newTransport()}

// controlClient is for requests that are not measured.
var controlClient = &http.Client{Transport: newTransport()}

// newTransport returns net/http's default transport with enough idle connections.
func newTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, 1024
	return t
}

// child is a process of this program that runs an HTTP responder.
type child struct {
	cmd     *exec.Cmd
	stdin   io.Closer // the child ends at the end of its input
	address string    // URL of the responder
}

// startChild starts a child process and waits for the address of its responder.
func startChild() (_ *child, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{cmd: exec.Command(self, respondHTTP)}
	c.cmd.Stderr = os.Stderr
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the address of the HTTP responder: %w", err), c.close())
	}
	c.address = strings.TrimSpace(line)
	return c, nil
}

// close closes idle connections, and ends the process.
func (c *child) close() error {
	controlClient.CloseIdleConnections()
	sharedClient.CloseIdleConnections()
	http.DefaultClient.CloseIdleConnections()
	return errors.Join(c.stdin.Close(), c.cmd.Wait())
}

// lab makes the endpoints that the compared clients connect to.
type lab struct {
	sessions int                 // idle sessions that are measured together
	self     string              // the path of this program, for responders over stdio
	pipe     map[string]*answers // answers of responders in this process, by revision
	address  string              // URL of the HTTP responder
}

// newLab returns a lab that uses the HTTP responder at an address, which another process serves.
func newLab(address string) (*lab, error) {
	self, err := os.Executable()
	return &lab{
		sessions: 99, // enough for the noise of a heap to hardly matter
		self:     self,
		pipe:     map[string]*answers{legacy: newAnswers(legacy), modern: newAnswers(modern)},
		address:  address,
	}, err
}

// connections returns the number of connections that the HTTP responder has accepted.
func (l *lab) connections() (n int, err error) {
	resp, err := controlClient.Get(l.address + "/opened")
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return 0, err
	case resp.StatusCode != http.StatusOK:
		return 0, fmt.Errorf("get the number of connections: %s", resp.Status)
	}
	return strconv.Atoi(string(body))
}

// ownClientSuffix ends the name of an HTTP transport with which each client uses its own default HTTP
// client instead of the shared one.
const ownClientSuffix = "-default"

// newEndpoint returns an endpoint for one connection. release ends it.
func (l *lab) newEndpoint(transport, revision string) (e endpoint, release func()) {
	e.revision = revision
	switch transport {
	case "pipe":
		var end func() error
		e.reader, e.writer, end = rig.Pipe(func(r io.Reader, w io.Writer) error { return l.pipe[revision].serve(r, w, 4<<10) })
		return e, func() { _ = end() } // an error means a closed pipe
	case "stdio":
		e.command = []string{l.self, respondStdio, revision}
	default:
		path, ownClient := strings.CutSuffix(transport, ownClientSuffix)
		e.url = l.address + "/" + path + "/" + revision
		if !ownClient {
			e.httpClient = sharedClient
		}
	}
	return e, func() {}
}

// connection is a session and the function that releases its endpoint.
type connection struct {
	session
	release func()
}

// close closes the session, and then ends its endpoint.
func (c *connection) close() error {
	err := c.session.close()
	c.release()
	return err
}
