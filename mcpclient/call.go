package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/internal/metakey"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// request is a request of a call. Stages of the pipeline change it, or send a changed copy.
type request struct {
	method          string
	target          string       // the tool, prompt or resource that the request names
	params          []byte       // a JSON object without _meta, or nil
	answers         []byte       // members that answer an input round, each followed by a comma
	call            mcp.CallInfo // the call that it belongs to; without a Method, that is the request itself
	task            bool         // the result may be a task, or the request is about one
	resent          bool         // it was resent in a new session or on a new connection
	revisionRetried bool         // it was resent after the server refused its revision
	movedEra        bool         // it was resent in another era
	ping            bool         // its method depends on the era

	era     era     // the era to use; nil: the current one
	sentEra *eraBox // the era in which it was sent

	session *sessionRef // the session of its cursor; nil without a cursor, or if the cursor came from the cache
	header  http.Header // headers that repeat arguments of a tool call
}

// info describes the call to which the request belongs.
func (r *request) info() mcp.CallInfo {
	if r.call.Method != "" {
		return r.call
	}
	return mcp.CallInfo{ID: r.call.ID, Method: r.method, Name: r.target}
}

type response struct {
	result  json.RawMessage
	session sessionRef // the session of the response; zero if it came from the cache
	repeats int        // how often the server requested a repetition
}

// sender sends a request and returns the response. The stages of a pipeline are senders that call the next one.
type sender func(ctx context.Context, r *request, o *callOptions) (response, error)

type pipeline struct {
	caller *caller
	send   sender // the first stage
}

// pipelines are the ways of a request, which differ in their stages: see docs/architecture.md.
type pipelines struct {
	calls  pipeline
	reads  pipeline // may answer from the cache
	direct pipeline // for the renewal of a session, and for callers that wait for one themselves
	listen sender   // for subscriptions/listen
}

// caller sends the requests of the methods of [Client].
type caller struct {
	*peer
	pipelines
	client  *Client // for middleware
	sending Handler // through Options.Middleware, or nil
	wire    *roundTripper
	levels  *logLevels
	cache   *cache
}

// do sends a request and decodes the result: see [jsonrpc.DecodeResult]. A result that cannot be
// decoded is an [mcp.ErrInvalidResult], and does not stay in the cache.
func (p pipeline) do(ctx context.Context, r *request, result any, opts []CallOption) (err error) {
	c := p.caller
	defer func() { err = c.scrubError(err) }()
	o, err := c.callOptions(opts)
	if err != nil {
		return err
	}
	if err := c.checkOffered(r.method); err != nil {
		return err
	}
	limits := o.limitsOrDefault()
	if o.noDefaultLimits {
		limits = o.limits()
	}
	ctx, bounds := within(ctx, limits)
	defer bounds.Stop()
	o.token = o.progress != nil || o.countsProgress || r.method == "tools/call" && bounds.Bounded()
	c.wire.assignCallID(r)
	got, err := p.send(ctx, r, o)
	if err != nil {
		return err
	}
	if o.responseSession != nil && got.session.connection != 0 {
		*o.responseSession = got.session
	}
	if err := jsonrpc.DecodeResult(got.result, result); err != nil {
		c.cache.forget(r)
		return fmt.Errorf("%w: %v: %s", mcp.ErrInvalidResult, err, c.quote(got.result))
	}
	return nil
}

func (c *caller) callOptions(opts []CallOption) (*callOptions, error) {
	o := c.timeouts.forCall()
	o.logLevel = c.levels.requestedLevel()
	o.apply(opts)
	meta, err := checkMeta("WithMeta", o.meta)
	if err != nil {
		return nil, err
	}
	o.meta = meta
	if o.logLevel != "" && !inquiry.IsLevel(o.logLevel) {
		return nil, fmt.Errorf("log level %q: not a level of the protocol", o.logLevel)
	}
	return &o, nil
}

func (c *caller) notifyOn(ctx context.Context, l *link, method string, params []byte) error {
	if c.sending != nil {
		return c.notifyThroughMiddleware(ctx, l, method, params)
	}
	return l.postNotification(ctx, method, params)
}

func (c *caller) retries(mayRepeat func(method string, err error) bool) retries {
	return retries{max: c.limits.Retries, mayRepeat: mayRepeat, sleep: c.life.Sleep, log: c.log}
}

// customRequest returns a request with params, and options for their _meta. From the params it
// removes the members that the era writes, so that the message has each of them once.
func customRequest(method string, params any) (*request, []CallOption, error) {
	encoded, err := jsonrpc.EncodeParams(params)
	r := &request{method: method, params: encoded}
	if err != nil || encoded == nil {
		return r, nil, err
	}
	target := targetMember(method)
	var meta map[string]json.RawMessage
	var metaErr error
	rest := []byte{'{'}
	err = jsonrpc.Members(encoded, func(key, value []byte) {
		switch string(key) {
		case "_meta":
			metaErr = json.Unmarshal(value, &meta)
		case "inputResponses", "requestState":
			r.answers = jsonrpc.AppendMember(r.answers, string(key), value)
		case target:
			_ = json.Unmarshal(value, &r.target) // the server refuses other values
			fallthrough
		default:
			rest = jsonrpc.AppendMember(rest, string(key), value)
		}
	})
	switch {
	case err != nil:
		return nil, nil, err
	case metaErr != nil:
		return nil, nil, fmt.Errorf("_meta: %w", metaErr)
	}
	r.params = jsonrpc.CloseObject(rest)
	var opts []CallOption
	for key, value := range meta {
		opts = append(opts, WithMeta(key, value))
	}
	return r, opts, nil
}

// encodeArguments returns the params of a request with a name and arguments, which are left out if
// they are nil or null.
func encodeArguments(name string, args any) ([]byte, error) {
	raw, err := jsonrpc.EncodeParams(args)
	if err != nil {
		return nil, fmt.Errorf("arguments: %w", err)
	}
	b := make([]byte, 0, len(name)+len(raw)+32)
	b = jsonrpc.AppendString(append(b, `{"name":`...), name)
	if raw != nil {
		b = append(append(b, `,"arguments":`...), raw...)
	}
	return append(b, '}'), nil
}

func (r *request) paramsWithAnswers() json.RawMessage {
	if len(r.answers) == 0 {
		return r.params
	}
	return jsonrpc.CloseObject(append(jsonrpc.AppendMembers([]byte{'{'}, r.params), r.answers...))
}

// checkMeta checks and compacts entries of _meta. who names their author in errors.
func checkMeta(who string, meta map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	if len(meta) == 0 {
		return nil, nil
	}
	checked := make(map[string]json.RawMessage, len(meta))
	for key, value := range meta {
		if key == "progressToken" || metakey.Reserved(key) {
			return nil, fmt.Errorf("%s: %q belongs to the protocol", who, key)
		}
		if _, err := metakey.Check(key); err != nil {
			return nil, fmt.Errorf("%s: key %q: %w", who, excerpt.Cut(key), err)
		}
		compact, err := jsonrpc.OneLine(value)
		if err != nil {
			return nil, fmt.Errorf("%s: value of %q: %w", who, key, err)
		}
		checked[key] = compact
	}
	return checked, nil
}
