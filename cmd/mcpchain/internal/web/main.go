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
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/bounded"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/tokens"
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

// Bounds of connections.
const (
	maxConnections = 4096
	headerTime     = 10 * time.Second
	bodyTime       = 30 * time.Second
	answerTime     = time.Minute // streams set their own
	idleTime       = 2 * time.Minute
	closeTime      = 5 * time.Second
)

// listen serves until the context ends.
func listen(ctx context.Context, o *options) (err error) {
	listener, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return fmt.Errorf("%w; -listen names another address, as in -listen 127.0.0.1:0 for a free port", err)
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
	server := &http.Server{
		Handler: a.handler, ReadHeaderTimeout: headerTime, ReadTimeout: bodyTime, WriteTimeout: answerTime, IdleTimeout: idleTime, MaxHeaderBytes: 32 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx }, // streams end with the program
		ErrorLog:    slog.NewLogLogger(o.logger.Handler(), slog.LevelWarn),
	}
	for _, w := range o.warnings(listener.Addr()) {
		fmt.Fprintln(os.Stderr, "Warning:", w)
	}
	defer tokens.OnHangup(o.logger, a.again)()
	fmt.Fprintf(os.Stderr, "The page is at http://%s/ until Ctrl-C.\n", listener.Addr())
	served := make(chan error, 1)
	go func() { served <- server.Serve(bounded.New(listener, maxConnections, o.Proxies.Has)) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	if server.Shutdown(ending) != nil {
		_ = server.Close()
	}
	<-served
	return nil
}

// warnings returns warnings about a page that others can reach, for the log.
func (o *options) warnings(a net.Addr) (out []string) {
	if !isLoopback(a) && !o.isSecure() {
		out = append(out, "other machines can reach this page without encryption.")
	}
	if o.origin == nil && isLoopback(a) {
		return out
	}
	if o.model.Model.Name == "" {
		out = append(out, "the model is a demo that follows fixed rules, and others can reach this page: -model names a real one.")
	}
	if o.isDemo() {
		out = append(out, "the sign-in asks for no proof, and others can reach this page.")
	}
	return out
}

func isLoopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
