package mcpclient

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/mcpclient/internal/version"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Options configure a client. Nil and the zero value are valid. A client copies what it needs,
// so an Options may be reused.
type Options struct {
	// ClientInfo is the client's own name and version. Default: name "mcpchain" and the version of this module.
	ClientInfo mcp.Implementation

	// Sampling, Elicitation and Roots answer requests of the server. Each that is not nil declares
	// its capability; empty Roots that are not nil do, too.
	Sampling    mcp.SamplingHandler
	Elicitation mcp.ElicitationHandler
	Roots       []mcp.Root

	// Handlers answer requests of the server by method: requests of an extension that
	// Protocol.Capabilities declares, for example, or roots/list for roots that are computed on
	// request, instead of Roots. The result is a JSON object. Sampling and elicitation have
	// handlers of their own, and the client answers ping. Default: other methods are refused
	// with code -32601.
	Handlers map[string]Handler

	// OnNotification gets every notification of the server, one at a time, in order of arrival, from
	// one goroutine. It may call the client. If it is slow, later notifications wait; beyond 1,024 or
	// 32 MiB the oldest are dropped and counted in the log. A modern server
	// announces changes of its lists and resources only to subscriptions: see [Client.Subscribe].
	// After a server over HTTP has changed its era, the client itself reports a change of each list.
	OnNotification func(*mcp.Notification)

	// LogLevel asks the server for log messages at this level and above, by logging/setLevel
	// after the handshake (legacy era) or with every request (modern era). They arrive at
	// OnNotification. [Client.SetLogLevel] changes it. Default: none are requested.
	LogLevel mcp.LogLevel

	// Middleware wraps the client's requests, and ServerMiddleware the server's requests to
	// handlers; the first is outermost. [Request] lists exceptions. See also HTTP.WrapTransport.
	Middleware       []Middleware
	ServerMiddleware []Middleware

	// OnRestart is called with the reason before the wait for each restart by Limits.Restarts, and
	// with nil after a successful attempt. Consecutive attempts count from 1. Its calls wait in one
	// queue with the notifications, for the same goroutine: if more than 1,024 wait, the oldest is
	// dropped, and Close drops all. Default: Logger logs restarts.
	OnRestart func(attempt int, err error)

	// Protocol sets the revision and the declared capabilities.
	Protocol Protocol

	// Validator checks values against JSON Schemas of the server: results for [WithOutputCheck],
	// answers to forms in addition to the client's own checks, and the arguments that package adapter
	// parses. Package mcpclient/schemacheck has one. Default: none; forms are checked by the client
	// only.
	Validator Validator

	// Limits and Timeouts bound everything that the server controls.
	Limits   Limits
	Timeouts Timeouts

	// Logger logs at Warn tolerated violations of the protocol, for example lines of a [Command]
	// between its messages: the first 100 of a connection, later ones at Debug. It also logs
	// restarts if there is no OnRestart, at Debug what the client does by itself, such as
	// sending a request again, and at Error panics of the host's code. Default: discarded.
	Logger *slog.Logger
}

// Protocol configures the revision and the declared capabilities of a client.
type Protocol struct {
	// Revision forces a protocol revision, one of [Revisions], and with it the era, instead of
	// probing. If the server speaks only other revisions, Connect fails with a [*RevisionError].
	// Default: the newest revision of both sides. Some servers speak 2026-07-28 although their tools
	// send requests, which fail there, and work with [mcp.Revision20251125].
	Revision string

	// EraCache remembers the server's era for other clients. A forced Revision neither uses nor
	// changes it. Default nil: each client probes its server.
	EraCache *EraCache

	// Capabilities is a JSON object with additional capabilities, in either era: extensions,
	// experimental capabilities, or more features of a handler, which the handler must support.
	// Handlers add their own. If it names sampling, elicitation or roots, they must be installed.
	// An extension needs a prefix, as in com.example/x, and is declared with every request.
	Capabilities json.RawMessage

	// ExactCapabilities declares only Capabilities, so that the client can declare less than
	// its handlers support; the server may ask only for that. Capabilities must then name
	// sampling, elicitation and roots if they are installed. Without roots.listChanged in it
	// [Client.SetRoots] sends no notification, and without the extension
	// io.modelcontextprotocol/tasks [Client.StartTask] and [WithTask] create no task in the
	// modern era, unless AllowUndeclared is set and the server creates one nevertheless.
	ExactCapabilities bool

	// AllowUndeclared sends requests even if the server did not declare their capability, for
	// servers that forget to; otherwise they fail with [ErrUndeclared]. It also allows
	// Capabilities to differ from the installed handlers: an undeclared handler still answers.
	AllowUndeclared bool
}

func (o *Options) withDefaults() Options {
	out := *cmp.Or(o, new(Options))
	if out.ClientInfo.Name == "" {
		out.ClientInfo = mcp.Implementation{Name: "mcpchain", Version: version.Module()}
	}
	out.Handlers = maps.Clone(out.Handlers)
	out.Limits = out.Limits.withDefaults()
	out.Timeouts = out.Timeouts.withDefaults()
	out.Logger = cmp.Or(out.Logger, slog.New(slog.DiscardHandler))
	return out
}

func (o *Options) check() error {
	var errs []error
	if o.Protocol.Revision != "" && !isLegacy(o.Protocol.Revision) && !isModern(o.Protocol.Revision) {
		errs = append(errs, fmt.Errorf("Options.Protocol.Revision %q: want one of %s", o.Protocol.Revision, strings.Join(Revisions(), ", ")))
	}
	if o.LogLevel != "" && !inquiry.IsLevel(o.LogLevel) {
		errs = append(errs, fmt.Errorf("Options.LogLevel %q: not a level of the protocol", o.LogLevel))
	}
	if o.Protocol.ExactCapabilities && o.Protocol.Capabilities == nil {
		errs = append(errs, errors.New("Options.Protocol.ExactCapabilities: set Capabilities, as to {}"))
	}
	for _, r := range o.Roots {
		errs = append(errs, checkRoot(r))
	}
	errs = append(errs, o.checkNumbers())
	for method, h := range o.Handlers {
		errs = append(errs, o.checkHandler(method, h))
	}
	return errors.Join(errs...)
}

func (o *Options) checkNumbers() error {
	for _, field := range []struct {
		name  string
		value int64
	}{
		{"Options.Limits.ServerRequests", int64(o.Limits.ServerRequests)},
		{"Options.Limits.Rounds", int64(o.Limits.Rounds)},
		{"Options.Limits.Restarts", int64(o.Limits.Restarts)},
		{"Options.Timeouts.Probe", int64(o.Timeouts.Probe)},
	} {
		if field.value < 0 {
			return fmt.Errorf("%s is negative: want 0 for the default, or more", field.name)
		}
	}
	return nil
}

func (o *Options) checkHandler(method string, h Handler) error {
	switch {
	case h == nil:
		return fmt.Errorf("Options.Handlers[%q] is nil", excerpt.Cut(method))
	case method == "ping":
		return errors.New("Options.Handlers: the client answers ping itself")
	case method == "sampling/createMessage":
		return errors.New("Options.Handlers: sampling/createMessage has a handler of its own, Options.Sampling")
	case method == "elicitation/create":
		return errors.New("Options.Handlers: elicitation/create has a handler of its own, Options.Elicitation")
	case method == rootsMethod && o.Roots != nil:
		return errors.New("Options.Roots is set, and Options.Handlers answers roots/list: want one of them")
	}
	return nil
}

func (o *Options) givesRoots() bool { return o.Roots != nil || o.Handlers[rootsMethod] != nil }

// Limits bound the resources that one server can use: see [Options]. Zero means the default. A
// negative number is refused, unless the field says what it means.
type Limits struct {
	// Retries bounds how often a request is sent again: after a temporary HTTP status (408, 429,
	// 5xx except 501), after its connection failed before the response began, or after the response
	// broke off and could not be resumed. The waits grow from 0.25 s to 30 s, in part at random, or
	// come from Retry-After up to 30 s, to which up to a half, at most 5 s, is added at random: so
	// clients do not return together. If net/http finds an idle connection closed it uses another.
	//
	// Tool calls and custom requests are not retried in this way. Over HTTP/1.1 they use no
	// connection that was idle for 4 s, or until 1 s before the end that the server states in
	// Keep-Alive. initialize and server/discover are sent again only after 408, 429 and 503.
	// Retries also bounds how often the answer to a server's request is sent again. Default 3;
	// negative: none.
	Retries int

	// ServerRequests bounds the server's concurrent requests: further ones are refused with code
	// -32603. It also bounds the questions of one input round, and the URLs of one error -32042.
	// Default 16.
	ServerRequests int

	// Rounds bounds the rounds of one call in which the server asks for input. Default 10. A
	// server that only defers a call has a bound of its own: see [ErrTooManyRounds].
	Rounds int

	// Restarts bounds the restarts in a row: a client with Restarts continues when its connection ends
	// by itself, for example because the process of a [Command] died. It dials the transport again,
	// after a wait that grows from 500 ms to 30 s, up to half of it at random. That is for transports
	// with one connection that can be dialed repeatedly: [Command], and [HTTP] with SSE. Other [HTTP]
	// has no connection that could end, and [IO] and [Pipe] can be dialed only once.
	//
	// Current calls end immediately with [ErrConnectionLost] and the reason. Those that can safely be
	// repeated (lists, reads, [Client.Ping], …) are made once more on the next connection; a tool call
	// only if nothing of it was written. Later calls wait for that connection as long as their contexts
	// allow. It begins with the revision of the previous one; only if the server refuses that, the
	// client probes it. The log level and watched resources are restored, the cache is cleared, and
	// subscriptions get [mcp.Stale].
	//
	// After the last attempt the client ends, and [Client.Err] has the reason. An attempt counts until
	// a connection has lasted for a minute. The first connection is not retried: Connect fails.
	// Default 0: the client ends with its connection.
	Restarts int

	// Cache bounds the memory, in bytes, of cached lists and resources. Each page and each
	// resource is cached for as long as a modern server allows, and until the server announces
	// a change. [WithoutCache] bypasses the cache. Default 4 MiB; negative: no cache.
	Cache int
}

func (l Limits) withDefaults() Limits {
	l.Retries = cmp.Or(l.Retries, 3)
	l.ServerRequests = cmp.Or(l.ServerRequests, 16)
	l.Rounds = cmp.Or(l.Rounds, 10)
	l.Cache = cmp.Or(l.Cache, 4<<20)
	return l
}
