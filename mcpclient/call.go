package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/internal/lifecycle"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// request is one request before the connection has its say.
type request struct {
	method  string
	target  string       // the tool, prompt or resource that the request names
	params  []byte       // a JSON object without _meta, or nil
	answers []byte       // members that answer an input round, each with a comma after it
	call    mcp.CallInfo // the call that it belongs to; without a Method that of the request itself, without an ID not known yet
	task    bool         // the result may be a task, or it is about one
	resent  bool         // it was sent again in a new session or on a new connection
	renamed bool         // it was sent again although the server refused its revision
	crossed bool         // it was sent again in another era

	in      era     // to be asked in; nil: that in use
	spoken  *eraBox // that it was sent in
	refusal int     // the status of HTTP of the error that it was answered with, 0 for one that says nothing

	session *sessionRef // of its cursor; nil without a cursor, and for that of a page from the cache
	header  http.Header // that repeat arguments of a tool call
	words   [2]string   // method and target, as the values of headers; "" before they are
}

// response is what a stage of the pipeline makes of a request.
type response struct {
	result  json.RawMessage
	session sessionRef // that it came in; zero for one from the cache
	repeats int        // how often the server had the request made again
}

// sender sends a request and returns what came of it. The stages of a pipeline are
// senders that use the next one.
type sender func(ctx context.Context, r *request, o *callOptions) (response, error)

// pipelines are the paths of a request.
type pipelines struct {
	calls  sender
	reads  sender // for what may come from the cache
	direct sender // for what a renewal of the session sends, and for who waits for one itself
	listen sender // for subscriptions/listen
}

// caller makes the calls of a client.
type caller struct {
	*peer
	pipelines
	client  *Client // for middleware
	opts    *Options
	sending Handler // through Options.Middleware; nil for none
	wire    *roundTripper
	levels  *logLevels
	cache   *cache
	life    *lifecycle.Lifecycle
	log     *slog.Logger
}

// call sends a request by a pipeline and decodes the result. result is nil, a
// *json.RawMessage or a pointer to decode into.
func (c *caller) call(ctx context.Context, by sender, r *request, result any, opts []CallOption) (err error) {
	defer func() { err = c.scrubbed(err) }()
	o, err := c.callOptions(opts)
	if err != nil {
		return err
	}
	if need := requirement(r.method); need != "" && !c.offered(need) {
		return &CapabilityError{Capability: need}
	}
	limits := o.limitsOrDefault()
	if o.lasts {
		limits = o.limits()
	}
	ctx, bounds := within(ctx, limits)
	defer bounds.Stop()
	o.token = o.progress != nil || o.heed || r.method == "tools/call" && bounds.Bounded()
	c.wire.number(r)
	got, err := by(ctx, r, o)
	if err != nil {
		return err
	}
	if o.cameIn != nil && got.session.connection != 0 {
		*o.cameIn = got.session
	}
	if err := jsonrpc.DecodeResult(got.result, result); err != nil {
		c.cache.forget(r)
		return fmt.Errorf("%w: %v: %s", mcp.ErrInvalidResult, err, c.quote(got.result))
	}
	return nil
}

func (c *caller) callOptions(opts []CallOption) (*callOptions, error) {
	o := c.opts.Timeouts.forCall()
	o.logLevel = c.levels.wanted()
	o.apply(opts)
	meta, err := checkMeta("WithMeta", o.meta)
	if err != nil {
		return nil, err
	}
	o.meta = meta
	o.maxNotes = c.opts.Limits.Notifications
	if o.logLevel != "" && !o.logLevel.Known() {
		return nil, fmt.Errorf("log level %q: not a level of the protocol", o.logLevel)
	}
	return &o, nil
}

// invocation makes a request for middleware.
func (c *caller) invocation(r *request, o *callOptions) *Request {
	c.wire.number(r)
	q := &Request{Client: c.client, Method: r.method, Name: r.target, Call: r.call.ID, Params: r.whole(), Meta: map[string]json.RawMessage{}, invocation: new(invocation)}
	maps.Copy(q.Meta, o.meta)
	return q
}

// throughNotify sends a notification through Options.Middleware.
func (c *caller) throughNotify(ctx context.Context, l *link, method string, params []byte) (err error) {
	defer caught(c.log, method, errMiddlewarePanicked, &err)
	r, meta, err := customRequest(method, json.RawMessage(params))
	if err != nil {
		return err
	}
	o := new(callOptions)
	o.apply(meta)
	q := &Request{Client: c.client, Method: method, Notification: true, Params: r.whole(), Meta: map[string]json.RawMessage{}, invocation: new(invocation)}
	maps.Copy(q.Meta, o.meta)
	q.do = func(ctx context.Context, q *Request) (json.RawMessage, error) {
		params, err := jsonrpc.EncodeParams(q.Params)
		if err != nil {
			return nil, fmt.Errorf("middleware: params: %w", err)
		}
		if len(q.Meta) > 0 {
			meta, err := jsonrpc.Marshal(q.Meta)
			if err != nil {
				return nil, fmt.Errorf("middleware: _meta: %w", err)
			}
			params = jsonrpc.CloseObject(jsonrpc.AppendMember(jsonrpc.AppendMembers([]byte{'{'}, params), "_meta", meta))
		}
		return nil, l.postNotification(ctx, method, params)
	}
	_, err = c.sending(ctx, q)
	return err
}

// retries is the policy of Options.Limits.Retries for safe requests.
func (c *caller) retries(safe func(method string, err error) bool) retries {
	return retries{max: c.opts.Limits.Retries, safe: safe, sleep: c.life.Sleep, log: c.log}
}

// notifyOn sends a notification over a connection, through Options.Middleware.
func (c *caller) notifyOn(ctx context.Context, l *link, method string, params []byte) error {
	if c.sending != nil {
		return c.throughNotify(ctx, l, method, params)
	}
	return l.postNotification(ctx, method, params)
}
