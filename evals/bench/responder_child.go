package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
)

// First arguments that make this program a child process of the comparison.
const (
	respondHTTP = "respond-http"
	weighOne    = "weigh" // then the arguments of weighHere
)

// child runs a child process's role if the arguments name one, and then does
// not return.
func child(args []string) {
	var err error
	switch {
	case len(args) == 2 && args[1] == respondHTTP:
		err = respondOverHTTP(os.Stdin, os.Stdout)
	case len(args) == 7 && args[1] == weighOne:
		err = weighHere(args[2:], os.Stdout)
	default:
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "child process:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// respondOverHTTP writes the address of a server on loopback to out, and serves
// until in ends.
func respondOverHTTP(in io.Reader, out io.Writer) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: httpResponder()}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	fmt.Fprintln(out, l.Addr())
	_, err = io.Copy(io.Discard, in)
	err = errors.Join(err, server.Shutdown(context.Background()))
	if e := <-served; e != http.ErrServerClosed {
		err = errors.Join(err, e)
	}
	return err
}

// httpResponder answers at /json/ and /sse/ with the revision behind it.
func httpResponder() http.Handler {
	mux := http.NewServeMux()
	for _, revision := range []string{legacy, modern} {
		a := answersOf(revision)
		mux.HandleFunc("POST /json/"+revision, func(w http.ResponseWriter, r *http.Request) { a.post(w, r, false) })
		mux.HandleFunc("POST /sse/"+revision, func(w http.ResponseWriter, r *http.Request) { a.post(w, r, true) })
	}
	return mux
}
