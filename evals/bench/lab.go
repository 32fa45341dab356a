package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
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

// startResponder runs an HTTP responder in a process of its own, until stop is called, and returns its URL.
func startResponder() (address string, stop func() error, err error) {
	cmd := exec.Command(os.Args[0], respondHTTP)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() error {
		for _, client := range []*http.Client{controlClient, sharedClient, http.DefaultClient} {
			client.CloseIdleConnections()
		}
		return errors.Join(stdin.Close(), cmd.Wait()) // the process ends at the end of its input
	}
	if _, err := fmt.Fscanln(stdout, &address); err != nil {
		return "", nil, errors.Join(fmt.Errorf("read the address of the HTTP responder: %w", err), stop())
	}
	return address, stop, nil
}

// lab makes the endpoints that the compared clients connect to.
type lab struct {
	sessions int                 // idle sessions that are measured together
	pipe     map[string]*answers // answers of responders in this process, by revision
	address  string              // URL of the HTTP responder
}

// newLab returns a lab that uses the HTTP responder at an address, which another process serves.
func newLab(address string) *lab {
	return &lab{
		sessions: 99, // enough for the noise of a heap to hardly matter
		pipe:     map[string]*answers{legacy: newAnswers(legacy), modern: newAnswers(modern)},
		address:  address,
	}
}

// connections returns the number of connections that the HTTP responder has accepted.
func (l *lab) connections() (n int, err error) {
	resp, err := controlClient.Get(l.address + "/opened")
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	_, err = fmt.Fscan(resp.Body, &n)
	return n, err
}

// ownClientSuffix ends the name of an HTTP transport with which each client uses its own default HTTP
// client instead of the shared one.
const ownClientSuffix = "-default"

// newEndpoint returns an endpoint for one connection.
func (l *lab) newEndpoint(transport, revision string) endpoint {
	e := endpoint{revision: revision}
	switch transport {
	case "pipe":
		e.reader, e.writer = rig.Pipe(func(r io.Reader, w io.Writer) error { return l.pipe[revision].serve(r, w, 4<<10) })
	case "stdio":
		e.command = []string{os.Args[0], respondStdio, revision}
	default:
		path, ownClient := strings.CutSuffix(transport, ownClientSuffix)
		e.url = l.address + "/" + path + "/" + revision
		if !ownClient {
			e.httpClient = sharedClient
		}
	}
	return e
}
