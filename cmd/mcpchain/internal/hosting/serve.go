package hosting

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/bounded"
)

// Shutdown is how long requests may take to end.
const Shutdown = 10 * time.Second

// Listen listens on the address of -listen. Its error says what to do.
func Listen(address string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%w; -listen names another address, as in -listen 127.0.0.1:0 for a free port", err)
	}
	return listener, nil
}

// Server serves HTTP to many people, within limits of time.
type Server struct {
	Handler     http.Handler
	Connections int               // maximum; one address may have an eighth of them
	Proxies     bounded.Addresses // may have all connections
	HeaderBytes int               // maximum size of the header of a request
	Logger      *slog.Logger
	LogLevel    slog.Level // for errors of connections

	// Streams means that requests may last: their contexts end with the context of Serve. Default:
	// a request in progress is finished.
	Streams bool
}

// Serve serves until the context ends, and then waits for the requests in progress, at most
// Shutdown. It closes the listener. The error is nil if the context has ended it.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler:           s.Handler,
		MaxHeaderBytes:    s.HeaderBytes,
		ErrorLog:          slog.NewLogLogger(s.Logger.Handler(), s.LogLevel),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		WriteTimeout:      time.Minute, // streams set their own
	}
	if s.Streams {
		server.BaseContext = func(net.Listener) context.Context { return ctx }
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(bounded.New(listener, s.Connections, s.Proxies.Has)) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), Shutdown)
	defer cancel()
	if server.Shutdown(late) != nil {
		_ = server.Close()
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// storeWait is how long a store may take to answer a probe.
const storeWait = 2 * time.Second

// CheckStore returns a [Refusal] if a store does not answer within storeWait.
func CheckStore(ctx context.Context, store sqlstore.Store) error {
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	if _, err := store.Count(ctx, record.Query{AllTenants: true, Limit: 1}); err != nil {
		return Refuse(http.StatusServiceUnavailable, "the store does not answer")
	}
	return nil
}
