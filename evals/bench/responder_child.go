package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
)

// First arguments that make this program a child process of the comparison.
const (
	respondStdio = "respond-stdio" // followed by the revision
	respondHTTP  = "respond-http"
	weighOne     = "weigh" // followed by a weighing as JSON
)

// runRole runs the role of a child process if the arguments name one, and then does not return.
func runRole(args []string) {
	var err error
	switch {
	case len(args) == 3 && args[1] == respondStdio:
		err = newAnswers(args[2]).serve(os.Stdin, os.Stdout, 64<<10)
	case len(args) == 2 && args[1] == respondHTTP:
		err = respondOverHTTP(os.Stdin, os.Stdout)
	case len(args) == 3 && args[1] == weighOne:
		err = weighHere([]byte(args[2]), os.Stdout)
	default:
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "child process:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// respondOverHTTP writes the URL of a server on loopback to out, and serves until in ends.
func respondOverHTTP(in io.Reader, out io.Writer) error {
	var opened atomic.Int64
	server := httptest.NewUnstartedServer(httpResponder(&opened))
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

// httpResponder answers at /json/ and /sse/ with the revision behind it, and at
// /opened with the number of connections.
func httpResponder(opened *atomic.Int64) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /opened", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, opened.Load()) })
	for _, revision := range []string{legacy, modern} {
		a := newAnswers(revision)
		mux.HandleFunc("POST /json/"+revision, func(w http.ResponseWriter, r *http.Request) { a.post(w, r, false) })
		mux.HandleFunc("POST /sse/"+revision, func(w http.ResponseWriter, r *http.Request) { a.post(w, r, true) })
	}
	return mux
}
