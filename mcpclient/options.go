package mcpclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// Implementation names a program that speaks the protocol.
type Implementation struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Version     string `json:"version"`
	Description string `json:"description,omitempty"`
	WebsiteURL  string `json:"websiteUrl,omitempty"`
	Icons       []Icon `json:"icons,omitempty"`
}

// Options configure a client. Nil and the zero value are valid. A client
// copies what it needs, so an Options may be reused.
type Options struct {
	// Client is who we say we are. Default: name "mcpchain" and the version of
	// this module.
	Client Implementation

	// Revision forces a protocol revision, one of [Revisions], and with it the era,
	// instead of probing. A server that speaks only others is refused with a
	// [*RevisionError]. Default: the newest one that both sides speak. Some servers
	// speak 2026-07-28 with tools that still send their questions as requests, which
	// fail there: [Revision20251125] lets those tools ask.
	Revision string

	// Sampling, Elicitation and Roots answer what the server may ask for. Each
	// declares its capability when it is set; what is not set is not offered.
	Sampling    SamplingHandler
	Elicitation ElicitationHandler
	Roots       []Root

	// Handlers answer requests of the server by their methods: requests of an extension
	// that Capabilities declares, for example, or roots/list for roots that are
	// worked out when the server asks, instead of Roots. They run as other handlers
	// do; the result is a JSON object. Sampling and elicitation have handlers of
	// their own, and ping is answered by the client. Default: other methods are
	// refused with code -32601.
	Handlers map[string]Handler

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
	// io.modelcontextprotocol/tasks [Client.StartTool] and [WithTask] make no task in the
	// modern era.
	ExactCapabilities bool

	// AllowUndeclared lets requests be sent that need what the server did not
	// declare, for servers that forget to; they are refused with a
	// [*CapabilityError] otherwise. It also lets Capabilities differ from the
	// handlers installed: one that is not declared answers nevertheless.
	AllowUndeclared bool

	// OnNotification, when set, gets every notification of the server, one at a
	// time, in the order of arrival, from one goroutine. It may call the client.
	// While it is slow later notifications wait; beyond MaxNotifications the
	// oldest are dropped and counted in the log. A modern server announces
	// changes of its lists and resources to those who ask: see [Client.Subscribe].
	OnNotification func(*Notification)

	// OnInvalidTool, when set, is told of every tool that [Client.Tools] leaves
	// out because its x-mcp-header is invalid, and why. It runs on the goroutine
	// that ranges over the list. The log says the same at Warn.
	OnInvalidTool func(tool *Tool, reason error)

	// Middleware goes around everything that the client sends, and
	// ServerMiddleware around everything that handlers answer; the first is
	// outermost. [Request] tells what is seen. See also HTTP.RoundTripper.
	Middleware       []Middleware
	ServerMiddleware []Middleware

	// LogLevel asks the server for log messages at this level and above, by
	// logging/setLevel after the handshake (legacy era) or on every request
	// (modern era). They arrive at OnNotification. [Client.SetLogLevel] changes it.
	// Default: nothing is asked.
	LogLevel LogLevel

	// SubscriptionIdle bounds the silence of a subscription's stream over HTTP, in
	// the modern era: when nothing came for as long, not even a comment that keeps
	// it alive, it counts as broken and is opened again. Each time readers get
	// [Stale]. Default 5 min; negative: no bound.
	SubscriptionIdle time.Duration

	// ElicitationWait is how long a call that needed a person to visit a URL
	// (error -32042 of revision 2025-11-25) waits for the server's word that
	// this is done, after the person agreed. Then the call is made once more.
	// Default 5 min; negative does not wait, for handlers that do so themselves
	// (see [ElicitationDone]).
	ElicitationWait time.Duration

	// IdleTimeout bounds the silence of one call: it ends if neither an answer nor a
	// progress notice came for as long. Tool calls ask for progress; other requests do
	// [WithProgress] or [WithIdleTimeout], which also open the standalone stream of a
	// legacy server over HTTP for it. What is the client's to do does not count:
	// the time in which handlers answer the server, a person visits a URL, HTTP.Unauthorized
	// runs, or the client waits before it asks again. Default 5 min, or none if
	// CallTimeout is set; negative: none.
	IdleTimeout time.Duration

	// CallTimeout bounds one call as a whole, its input rounds and its task included,
	// whatever progress it makes, in addition to the context's own deadline. Default 24 h,
	// or IdleTimeout if that is longer; negative: none. Neither default bounds
	// [Task.Wait], nor a subscription.
	CallTimeout time.Duration

	// KeepAlive is how often an idle server is asked for a sign of life, as by
	// [Client.Ping], at most once a second. A connection over which none comes for
	// as long again counts as ended. While calls are under way only their own
	// limits count, and over [HTTP] nothing is asked: every request has an exchange
	// of its own there. Default 0: nothing is asked.
	KeepAlive time.Duration

	// Restart has the client go on with another connection when the one that it
	// has ends by itself. Default nil: then the client has ended too.
	Restart *Restart

	// Verdicts, when set, remembers beyond this client what era its server was
	// found to speak. A forced Revision neither needs nor changes it. Default
	// nil: an unknown server is asked each time.
	Verdicts *Verdicts

	// ProbeTimeout bounds the wait for an answer to server/discover before the
	// server counts as legacy. Default 5 s.
	ProbeTimeout time.Duration

	// ConnectTimeout bounds Connect where its context has no deadline. Default 1 min
	// over the input and output of a process, 10 min elsewhere, where a person may
	// have to log in first; negative: none.
	ConnectTimeout time.Duration

	// CloseTimeout bounds what Close does politely: telling the rest and ending the
	// session, waiting for hooks of the transport, waiting for handlers. Transports
	// add their own bound. Default 5 s.
	CloseTimeout time.Duration

	// MaxRetries bounds how often a request is sent again after an HTTP status
	// that passes (408, 429, 5xx but 501), when its connection failed before the
	// response began, or when that broke off and could not be resumed, with growing
	// waits of 0.25 s to 30 s, or as long as the server asks for in Retry-After, if
	// that is not over 30 s, and up to half as long again, 5 s at most, so that clients
	// do not come back together. One that finds an idle connection closed is sent on
	// another by net/http itself. Tool calls and custom requests are never sent
	// again, initialize and server/discover after 408, 429 and 503 only. It also bounds
	// how often the answer to a request of the server is. Default 3; negative: none.
	MaxRetries int

	// MaxServerRequests bounds the server's requests that are answered at the
	// same time; more are refused with code -32603. Default 16.
	MaxServerRequests int

	// MaxNotifications bounds the notifications that wait for OnNotification,
	// and the progress notices that wait for one call. Default 1,024.
	MaxNotifications int

	// MaxRounds bounds the rounds of one call in which the server asks for input.
	// Default 10. A server that only puts a call off has a bound of its own: see
	// [ErrPutOff].
	MaxRounds int

	// MaxPages bounds the pages of one list. Default 1,000.
	MaxPages int

	// MaxCache bounds the memory, in bytes, of the lists and resources that are
	// kept for as long as a modern server said: each page and each resource for
	// its own time, and no longer than until the server notifies of a change.
	// Calls do without by [WithoutCache]. Default 4 MiB; negative keeps nothing.
	MaxCache int

	// CheckOutputs holds the result of every tool that [Client.Tools] has listed, or
	// [Client.RegisterTools] has named, against its output schema, as by
	// [WithOutputCheck]: what does not fit is an [*OutputError] of the call. A
	// schema that cannot be used is not held against; the log says so at Warn.
	// Default: results are taken as they are.
	CheckOutputs bool

	// Validator checks values against JSON Schemas of the server: results for
	// CheckOutputs, [WithOutputCheck] and [Client.CheckOutput], answers to forms
	// after they were held against their fields, and the arguments that package
	// adapter reads. Default: see [Validator]; forms have their fields only.
	Validator Validator

	// Logger gets traffic at Debug (no bodies) and tolerated breaches of the
	// protocol at Warn, such as what a [Command] prints between its messages: the
	// first 100 of a connection, and later ones at Debug. Default: discarded.
	Logger *slog.Logger
}

// check reports what no client can work with.
func (o *Options) check() error {
	var errs []error
	if o.Revision != "" && !isLegacy(o.Revision) && !isModern(o.Revision) {
		errs = append(errs, fmt.Errorf("Options.Revision %q: want one of %s", o.Revision, strings.Join(Revisions(), ", ")))
	}
	if o.LogLevel != "" && !o.LogLevel.Known() {
		errs = append(errs, fmt.Errorf("Options.LogLevel %q: not a level of the protocol", o.LogLevel))
	}
	if o.ExactCapabilities && o.Capabilities == nil {
		errs = append(errs, errors.New("Options.ExactCapabilities: set Capabilities, as to {}"))
	}
	for _, r := range o.Roots {
		errs = append(errs, r.check())
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
		return fmt.Errorf("Options.Handlers[%q] is nil", cut(method))
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
	progress func(Progress)
	meta     map[string]json.RawMessage
	maxNotes int // of progress, that wait to be seen
	idle     limit
	whole    limit
	token    bool // progress is asked for
	heed     bool // progress counts also if it does not come with the response
	logLevel LogLevel
	noCache  bool
	byHand   bool

	described *Tool    // whose output schema is checked
	task      *Tool    // that may be a task
	seen      *passage // through Options.Middleware
}

// WithProgress asks for progress notices. fn runs on the goroutine that made
// the call, one notice at a time, always before the call returns. When notices
// arrive faster than fn takes them the oldest are dropped.
func WithProgress(fn func(Progress)) CallOption {
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
func WithLogLevel(level LogLevel) CallOption {
	return func(o *callOptions) { o.logLevel = level }
}
