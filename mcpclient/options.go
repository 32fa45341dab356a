package mcpclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/internal/version"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// encodeImplementation makes the JSON of who the client says it is.
func encodeImplementation(i *mcp.Implementation) (string, error) {
	var buf [256]byte
	b := appendText(append(buf[:0], '{'), "name", i.Name)
	if i.Title != "" {
		b = appendText(b, "title", i.Title)
	}
	b = appendText(b, "version", i.Version)
	if i.Description != "" {
		b = appendText(b, "description", i.Description)
	}
	if i.WebsiteURL != "" {
		b = appendText(b, "websiteUrl", i.WebsiteURL)
	}
	if len(i.Icons) > 0 {
		icons, err := jsonrpc.Marshal(i.Icons)
		if err != nil {
			return "", fmt.Errorf("Options.Client.Icons: %w", err)
		}
		b = jsonrpc.AppendMember(b, "icons", icons)
	}
	return string(jsonrpc.CloseObject(b)), nil
}

// appendText appends a member that is a string, with a comma after it.
func appendText(b []byte, key, text string) []byte {
	b = append(jsonrpc.AppendString(b, key), ':')
	return append(jsonrpc.AppendString(b, text), ',')
}

// Options configure a client. Nil and the zero value are valid. A client
// copies what it needs, so an Options may be reused.
type Options struct {
	// Client is who we say we are. Default: name "mcpchain" and the version of
	// this module.
	Client mcp.Implementation

	// Sampling, Elicitation and Roots answer what the server may ask for. Each
	// declares its capability when it is set; what is not set is not offered.
	Sampling    mcp.SamplingHandler
	Elicitation mcp.ElicitationHandler
	Roots       []mcp.Root

	// Handlers answer requests of the server by their methods: requests of an extension
	// that Protocol.Capabilities declares, for example, or roots/list for roots that are
	// worked out when the server asks, instead of Roots. They run as other handlers
	// do; the result is a JSON object. Sampling and elicitation have handlers of
	// their own, and ping is answered by the client. Default: other methods are
	// refused with code -32601.
	Handlers map[string]Handler

	// OnNotification, when set, gets every notification of the server, one at a
	// time, in the order of arrival, from one goroutine. It may call the client.
	// While it is slow later notifications wait; beyond Limits.Notifications the
	// oldest are dropped and counted in the log. A modern server announces
	// changes of its lists and resources to those who ask: see [Client.Subscribe].
	OnNotification func(*mcp.Notification)

	// LogLevel asks the server for log messages at this level and above, by
	// logging/setLevel after the handshake (legacy era) or on every request
	// (modern era). They arrive at OnNotification. [Client.SetLogLevel] changes it.
	// Default: nothing is asked.
	LogLevel mcp.LogLevel

	// Middleware goes around everything that the client sends, and
	// ServerMiddleware around everything that handlers answer; the first is
	// outermost. [Request] tells what is seen. See also HTTP.RoundTripper.
	Middleware       []Middleware
	ServerMiddleware []Middleware

	// Restart has the client go on with another connection when the one that it
	// has ends by itself. Default nil: then the client has ended too.
	Restart *Restart

	// Protocol says how the client speaks the protocol, and what it declares.
	Protocol Protocol

	// Schemas say what is held against the JSON Schemas of the server.
	Schemas Schemas

	// Limits and Timeouts bound what the server controls.
	Limits   Limits
	Timeouts Timeouts

	// Logger gets traffic at Debug (no bodies) and tolerated breaches of the
	// protocol at Warn, such as what a [Command] prints between its messages: the
	// first 100 of a connection, and later ones at Debug. Default: discarded.
	Logger *slog.Logger
}

// Protocol is how a client speaks the protocol: see [Options].
type Protocol struct {
	// Revision forces a protocol revision, one of [Revisions], and with it the era,
	// instead of probing. A server that speaks only others is refused with a
	// [*RevisionError]. Default: the newest one that both sides speak. Some servers
	// speak 2026-07-28 with tools that still send their questions as requests, which
	// fail there: [mcp.Revision20251125] lets those tools ask.
	Revision string

	// EraCache, when set, remembers beyond this client what era its server was
	// found to speak. A forced Revision neither needs nor changes it. Default
	// nil: an unknown server is asked each time.
	EraCache *EraCache

	// Capabilities is a JSON object that is declared, in either era, beside what the
	// handlers amount to: extensions, experimental capabilities, or more than a handler
	// says that it can do, which it is then asked for. Handlers add to it and take
	// nothing out. What it names of sampling, elicitation and roots has to be installed.
	// An extension in it has a prefix, as com.example/x, and is declared on every request.
	Capabilities json.RawMessage

	// ExactCapabilities has Capabilities be all that is declared, so that it can be less
	// than the handlers can do, which are then asked for what it says and no more. It has
	// to name sampling, elicitation and roots where they are installed. Without
	// roots.listChanged in it [Client.SetRoots] tells no server, and without the extension
	// io.modelcontextprotocol/tasks [Client.StartTask] and [WithTask] make no task in the
	// modern era.
	ExactCapabilities bool

	// AllowUndeclared lets requests be sent that need what the server did not
	// declare, for servers that forget to; they are refused with a
	// [*CapabilityError] otherwise. It also lets Capabilities differ from the
	// handlers installed: one that is not declared answers nevertheless.
	AllowUndeclared bool
}

// withDefaults is a copy of the options with every default in place.
func (o *Options) withDefaults() Options {
	var out Options
	if o != nil {
		out = *o
	}
	if out.Client.Name == "" {
		out.Client = mcp.Implementation{Name: "mcpchain", Version: version.Module()}
	}
	out.Handlers = maps.Clone(out.Handlers)
	out.Restart = out.Restart.withDefaults()
	out.Limits, out.Timeouts = out.Limits.withDefaults(), out.Timeouts.withDefaults()
	if out.Logger == nil {
		out.Logger = silent
	}
	return out
}

// check reports what no client can work with.
func (o *Options) check() error {
	var errs []error
	if o.Protocol.Revision != "" && !isLegacy(o.Protocol.Revision) && !isModern(o.Protocol.Revision) {
		errs = append(errs, fmt.Errorf("Options.Protocol.Revision %q: want one of %s", o.Protocol.Revision, strings.Join(Revisions(), ", ")))
	}
	if o.LogLevel != "" && !o.LogLevel.Known() {
		errs = append(errs, fmt.Errorf("Options.LogLevel %q: not a level of the protocol", o.LogLevel))
	}
	if o.Protocol.ExactCapabilities && o.Protocol.Capabilities == nil {
		errs = append(errs, errors.New("Options.Protocol.ExactCapabilities: set Capabilities, as to {}"))
	}
	if o.Schemas.CheckOutputs && o.Schemas.Validator == nil {
		errs = append(errs, fmt.Errorf("Options.Schemas.CheckOutputs: %w", errNoValidator))
	}
	for _, r := range o.Roots {
		errs = append(errs, checkRoot(r))
	}
	for method, h := range o.Handlers {
		errs = append(errs, o.checkHandler(method, h))
	}
	return errors.Join(errs...)
}

// checkHandler reports a method that the host cannot answer by a handler.
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

// givesRoots reports whether the server may ask for roots.
func (o *Options) givesRoots() bool { return o.Roots != nil || o.Handlers[rootsMethod] != nil }

// CallOption changes one call.
type CallOption func(*callOptions)

// with is o as the options change it, before that is checked.
func (o callOptions) with(opts []CallOption) callOptions {
	if len(opts) == 0 {
		return o
	}
	changed := o
	changed.apply(opts)
	return changed
}

// apply has the options change o; one that is nil changes nothing.
func (o *callOptions) apply(opts []CallOption) {
	for _, opt := range opts {
		if opt != nil {
			opt(o)
		}
	}
}

type callOptions struct {
	progress func(mcp.Progress)
	meta     map[string]json.RawMessage
	maxNotes int // of progress, that wait to be seen
	idle     limit
	whole    limit
	token    bool // progress is asked for
	heed     bool // progress counts also if it does not come with the response
	logLevel mcp.LogLevel
	noCache  bool
	manual   bool // the caller answers input rounds
	rounds   int  // input rounds before the call
	lasts    bool // as long as a task does: no default bounds it
	quiet    bool // the server is not told that nobody waits any more

	described *mcp.Tool   // whose output schema is checked
	validator Validator   // that checks it; nil for that of Options
	task      *mcp.Tool   // that may be a task
	follower  *follower   // hears of the task that the call becomes; nil for none
	listening *listening  // of subscriptions/listen only
	sentAs    *int64      // gets the id of the message; nil without Options.Middleware
	cameIn    *sessionRef // gets the session of the response; nil if that does not matter
}

// WithProgress asks for progress notices. fn runs on the goroutine that made
// the call, one notice at a time, always before the call returns. When notices
// arrive faster than fn takes them the oldest are dropped.
func WithProgress(fn func(mcp.Progress)) CallOption {
	return func(o *callOptions) { o.progress = fn }
}

// WithMeta adds an entry to the request's _meta. Keys of the protocol itself
// (io.modelcontextprotocol/… and progressToken) are refused by the call, and those
// that are no names: want letters and digits, -_. between them, and a prefix such
// as com.example/ where others could take the same.
func WithMeta(key string, value json.RawMessage) CallOption {
	return func(o *callOptions) {
		if o.meta == nil {
			o.meta = map[string]json.RawMessage{}
		}
		o.meta[key] = value
	}
}

// WithLogLevel asks for log messages of this one request. It has an effect in
// the modern era only.
func WithLogLevel(level mcp.LogLevel) CallOption {
	return func(o *callOptions) { o.logLevel = level }
}
