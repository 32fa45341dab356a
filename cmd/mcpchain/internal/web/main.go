// Package web serves an agent as a web page for several people.
//
// Without flags it starts a demo model and demo servers on the loopback interface, so that it
// needs no key, configuration or network, and prints the URL to open:
//
//	go run ./cmd/mcpchain serve
package web

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/tokens"
	"golang.org/x/sync/errgroup"
)

// Main runs the program, and returns its exit status.
func Main(args []string) int {
	o, err := parseFlags(args, os.Getenv, os.Stdout)
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		err = listen(ctx, o)
	}
	return cli.Status(err, os.Stderr)
}

// The most connections to the page and to the sandbox of views.
const (
	maxConnections = 4096
	maxFrames      = 512
)

// listen serves the page, and the sandbox of views if there is one, until the context ends.
func listen(ctx context.Context, o *options) (err error) {
	listener, err := hosting.Listen(o.Listen)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }()
	o.logger = o.Logger()
	a, err := assemble(ctx, o, listener.Addr())
	if err != nil {
		return err
	}
	defer func() {
		if err := a.close(); err != nil {
			o.logger.Warn("a part of the program did not end well", "error", err)
		}
	}()
	for _, w := range o.warnings(listener.Addr()) {
		o.logger.Warn(w)
	}
	defer tokens.OnHangup(o.logger, a.reloadUsers)()
	if o.LogJSON {
		o.logger.Info("the page listens", "url", "http://"+listener.Addr().String(), "store", o.store)
	} else {
		fmt.Fprintf(os.Stderr, "The page is at http://%s/ until Ctrl-C. It keeps conversations in %s\n", listener.Addr(), o.store)
	}
	both, ctx := errgroup.WithContext(ctx)
	serve := func(l net.Listener, s hosting.Server) {
		s.Proxies, s.Logger, s.LogLevel = o.Proxies, o.logger, slog.LevelWarn
		both.Go(func() error { return s.Serve(ctx, l) })
	}
	serve(listener, hosting.Server{Handler: a.handler, Connections: maxConnections, HeaderBytes: 32 << 10, Streams: true})
	if f := a.views; f != nil {
		serve(f.listener, hosting.Server{Handler: f.sandbox, Connections: maxFrames, HeaderBytes: 64 << 10})
	}
	return both.Wait()
}

// warnings returns warnings about a page that others can reach.
func (o *options) warnings(a net.Addr) (out []string) {
	if !isLoopback(a) && !o.isSecure() {
		out = append(out, "other machines can reach this page without encryption")
	}
	if o.origin == nil && isLoopback(a) {
		return out
	}
	if o.model.Model.Name == "" {
		out = append(out, "the model is a demo that follows fixed rules, and others can reach this page: -model names a real one")
	}
	if o.isDemo() {
		out = append(out, "the sign-in asks for no proof, and others can reach this page")
	}
	return out
}

// isLoopback reports whether only this machine can reach an address.
func isLoopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
