package oauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/internal/bound"
)

// callbackPath is the path of redirect URIs on this machine.
const callbackPath = "/callback"

// Bounds of one request to a redirect URI.
const (
	callbackTimeout = 10 * time.Second // bounds reading the callback, and writing the page
	maxCallback     = 128 << 10        // bytes of its header, in which the answer is
)

// Loopback returns a [Receiver] that receives the redirect at a port of this machine: for programs on the same machine
// as the person's browser. It listens only on 127.0.0.1, only during the sign-in, and accepts one redirect.
//
// open sends the person to the URL: it shows the whole URL, and opens it in a browser if the person agrees, for example
// with [OpenBrowser]. The sign-in waits for the redirect while open runs and after it has returned.
//
// If port is taken, the sign-in fails. Port 0 stands for any: the one of the client's registration if it is free.
func Loopback(open func(ctx context.Context, url string) error, port int) Receiver {
	return &loopback{open, port}
}

type loopback struct {
	open func(ctx context.Context, url string) error
	port int
}

// Receive opens the port until the answer has come.
func (l *loopback) Receive(ctx context.Context, previous string, authorize func(string) (string, error)) (url.Values, error) {
	if l.open == nil {
		return nil, errors.New("Loopback has no function to open a URL")
	}
	listener, err := l.listen(ctx, previous)
	if err != nil {
		return nil, err
	}
	r := &loopbackReception{open: l.open, uri: "http://" + listener.Addr().String() + callbackPath, answer: make(chan url.Values, 1)}
	r.server = &http.Server{
		Handler: r, ReadTimeout: callbackTimeout, WriteTimeout: callbackTimeout, MaxHeaderBytes: maxCallback,
		ErrorLog: log.New(io.Discard, "", 0),
	}
	r.done.Go(func() { _ = r.server.Serve(listener) })
	defer r.close()
	authorizationURL, err := authorize(r.uri)
	if err != nil {
		return nil, err
	}
	return r.receive(ctx, authorizationURL)
}

// listen tries the port of the previous redirect URI first.
func (l *loopback) listen(ctx context.Context, previous string) (net.Listener, error) {
	var config net.ListenConfig
	if port := loopbackPort(previous); port != "" && l.port == 0 {
		listener, err := config.Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", port))
		if err == nil {
			return listener, nil
		}
	}
	return config.Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(l.port)))
}

// loopbackPort returns the port of a redirect URI of a Loopback, "" for another URI.
func loopbackPort(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Hostname() != "127.0.0.1" {
		return ""
	}
	return u.Port()
}

// loopbackReception is a server that takes one answer.
type loopbackReception struct {
	open   func(context.Context, string) error
	uri    string
	server *http.Server
	answer chan url.Values // has room for the single answer
	done   sync.WaitGroup

	mu    sync.Mutex
	state string // required in the answer; empty if no answer is expected
}

// receive opens the sign-in page and waits for the answer with its state.
func (r *loopbackReception) receive(ctx context.Context, authorizationURL string) (url.Values, error) {
	u, err := url.Parse(authorizationURL)
	if err != nil || u.Query().Get("state") == "" {
		return nil, errors.New("authorization URL has no state")
	}
	r.mu.Lock()
	r.state = u.Query().Get("state")
	r.mu.Unlock()
	opened := make(chan error, 1)
	go func() { // may outlive the sign-in, like the function of Paste
		opened <- bound.Run("the function of Loopback", func() error { return r.open(ctx, authorizationURL) })
	}()
	for {
		select {
		case err := <-opened:
			if err != nil {
				return nil, fmt.Errorf("open the sign-in page: %w", err)
			}
			opened = nil
		case answer := <-r.answer:
			return answer, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// The pages contain nothing of the request, so that none of it can run as a script.
const (
	pageStart = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Sign-in</title>` +
		`<body style="font-family:sans-serif;margin:4em auto;max-width:32em">`
	pageDone  = pageStart + `<h1>Back to the application</h1><p>The answer has been handed over. You can close this window.</p>`
	pageOther = pageStart + `<h1>Not expected</h1>` +
		`<p>This is not the answer of a sign-in that is under way. Start again from the application.</p>`
)

// ServeHTTP accepts one request with the expected state. Other requests change
// nothing, so that no other program or page can disturb the sign-in.
func (r *loopbackReception) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Connection", "close")
	status, page := http.StatusOK, pageDone
	switch {
	case req.URL.Path != callbackPath:
		status, page = http.StatusNotFound, pageOther
	case req.Method != http.MethodGet:
		status, page = http.StatusMethodNotAllowed, pageOther
	case !r.acceptAnswer(req.URL.Query()):
		status, page = http.StatusBadRequest, pageOther
	}
	w.WriteHeader(status)
	_, _ = w.Write([]byte(page))
}

// acceptAnswer passes the first answer with the expected state on. For others it returns false.
func (r *loopbackReception) acceptAnswer(answer url.Values) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state == "" || answer.Get("state") != r.state {
		return false
	}
	r.state = ""
	r.answer <- answer
	return true
}

// close stops listening. It waits for at most a second until the page has been sent.
func (r *loopbackReception) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if r.server.Shutdown(ctx) != nil {
		_ = r.server.Close()
	}
	r.done.Wait()
}

// OpenBrowser opens a URL, https or on this machine, in the person's browser. It runs the system's
// own opener, without a shell, and does not wait for its end, so a failure of the opener is not
// reported. The error matches [ErrUntrusted] for any other URL.
func OpenBrowser(ctx context.Context, rawURL string) error {
	u, err := url.Parse(rawURL)
	if err != nil || !isConfidential(u) {
		return untrustedError("%s is not a URL that a browser should open", safeURL(rawURL))
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	name, args := browserCommand(runtime.GOOS, u.String())
	cmd := exec.Command(name, args...)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("open the browser: %w", err)
	}
	go func() { _ = cmd.Wait() }() // an opener may run as long as the browser
	return nil
}

func browserCommand(system, url string) (name string, args []string) {
	switch system {
	case "windows":
		return "rundll32", []string{"url.dll,FileProtocolHandler", url}
	case "darwin":
		return "open", []string{url}
	}
	return "xdg-open", []string{url}
}
