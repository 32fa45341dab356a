package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"sync/atomic"

	"github.com/mcpchain/mcpchain/evals/bench/rig"
)

// request returns the id of a request and its answer. The id of a notification is nil.
func (a *answers) request(message []byte) (id, rest []byte) {
	id = rig.Value(message, `"id":`)
	if id == nil {
		return nil, nil
	}
	switch string(rig.Value(message, `"method":`)) {
	case `"tools/call"`:
		tool := message[bytes.Index(message, []byte("bench_")):]
		return id, a.texts[string(tool[:bytes.IndexByte(tool, '"')])]()
	case `"tools/list"`:
		page := 0
		if i := bytes.Index(message, []byte("page_")); i >= 0 {
			page = int(message[i+5]-'0')*10 + int(message[i+6]-'0')
		}
		return id, a.pages()[page]
	case `"initialize"`:
		return id, a.initialize
	}
	return id, a.discover
}

// serve answers requests, one on each line, until the reader ends.
func (a *answers) serve(r io.Reader, w io.Writer, size int) error {
	return rig.Serve(r, w, size, a.request)
}

// post answers a POST with JSON of a known length, or with an event stream of one flushed event.
func (a *answers) post(w http.ResponseWriter, r *http.Request, stream bool) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	id, rest := a.request(body)
	if id == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	head := rig.Head + string(id)
	if stream {
		w.Header().Set("Content-Type", "text/event-stream")
		head = "event: message\ndata: " + head
	} else {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(head)+len(rest)))
	}
	_, _ = io.WriteString(w, head) // the client sees a failure, too
	_, _ = w.Write(rest)
	if stream {
		_, _ = io.WriteString(w, "\n") // after the newline of the data
		_ = http.NewResponseController(w).Flush()
	}
}

// First arguments that make this program a child process of the comparison.
const (
	respondStdio  = "respond-stdio" // followed by the revision
	respondHTTP   = "respond-http"
	measureMemory = "memory" // followed by the arguments of memoryHere
)

// runRole runs the role of a child process if the arguments name one, and then does not return.
func runRole(args []string) {
	var err error
	switch {
	case len(args) == 3 && args[1] == respondStdio:
		err = newAnswers(args[2]).serve(os.Stdin, os.Stdout, 64<<10)
	case len(args) == 2 && args[1] == respondHTTP:
		err = respondOverHTTP(os.Stdin, os.Stdout)
	case len(args) == 6 && args[1] == measureMemory:
		err = memoryHere(args[2], args[3], args[4], args[5], os.Stdout)
	default:
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "child process:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// respondOverHTTP writes the URL of a server on loopback to out, and serves until in ends. It answers at /json/ and
// /sse/ with the revision behind it, and at /opened with the number of connections.
func respondOverHTTP(in io.Reader, out io.Writer) error {
	var opened atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("GET /opened", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, opened.Load()) })
	for _, revision := range []string{legacy, modern} {
		a := newAnswers(revision)
		mux.HandleFunc("POST /json/"+revision, func(w http.ResponseWriter, r *http.Request) { a.post(w, r, false) })
		mux.HandleFunc("POST /sse/"+revision, func(w http.ResponseWriter, r *http.Request) { a.post(w, r, true) })
	}
	server := httptest.NewUnstartedServer(mux)
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	fmt.Fprintln(out, server.URL)
	_, err := io.Copy(io.Discard, in)
	return err
}
