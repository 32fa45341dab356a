package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// request is one request before the era and the connection had their say.
type request struct {
	method string
	target string  // the tool, prompt or resource that the request names
	params []byte  // a JSON object without _meta, or nil
	round  []byte  // members that answer an input round, each with a comma after it
	rounds int     // input rounds so far
	call   int64   // the call that it belongs to, CallInfo.ID; 0 until that is known
	delays *delays // by a server that asks for nothing but time; nil before the first

	about   *Task // that the request is about; nil for none
	task    bool  // the result may be a task, or it is about one
	stays   bool  // no notice tells that nobody waits for it any more
	lasting bool  // the result may be one that was kept
	manual  bool  // the caller answers input rounds
	lasts   bool  // the response takes as long as a task does: no default bounds it
	visited bool  // it is made once more, after a person visited URLs

	heard func() // called when the response says something, over HTTP

	follower *follower // hears of the task that it becomes; nil for none

	words     [2]string // method and target, as the values of headers; "" before they are
	header    fields    // that repeat arguments of a tool call
	corrected bool      // header was made anew after the server had refused it
	reborn    bool      // it was sent again in a new session
	owners    int       // sessions that it was not sent in, as its user has another
	session   *place    // that its cursor is of; nil without a cursor, and for that of a page that was kept

	sentIn *atomic.Pointer[place] // gets the session of its response; nil where nobody asks
}

// inFlight is a request that awaits its response, and the value of its call.
type inFlight struct {
	jsonrpc.Call
	ctx     context.Context // the caller's
	request *request
	sent    *outgoing   // over HTTP
	asked   atomic.Bool // the server asked something in between

	listening *listening // of subscriptions/listen only
}

// call sends a request, answers what the server asks in between, and decodes
// the result. result is nil, a *json.RawMessage or a pointer to decode into.
func (c *Client) call(ctx context.Context, r *request, result any, opts []CallOption) (err error) {
	defer func() { err = c.scrubbed(err) }()
	o, err := c.callOptions(opts)
	if err != nil {
		return err
	}
	if need := requirement(r.method); need != "" && !c.offered(need) {
		return &CapabilityError{Method: r.method, Capability: need}
	}
	limits := o.limitsOrDefault()
	if r.lasts {
		limits = o.limits()
	}
	ctx, bounds := within(ctx, limits)
	defer bounds.Stop()
	o.token = o.progress != nil || o.heed || r.method == "tools/call" && bounds.Bounded()
	r.manual = o.manual
	c.number(r)
	raw, err := c.answer(ctx, r, o)
	if err != nil {
		return err
	}
	if err := jsonrpc.DecodeResult(raw, result); err != nil {
		c.cache.get().forget(r)
		return fmt.Errorf("%w: %v: %s", mcp.ErrInvalidResult, err, c.quote(raw))
	}
	return nil
}

// answer gets the result of a request, from the cache where that may be.
func (c *Client) answer(ctx context.Context, r *request, o *callOptions) (json.RawMessage, error) {
	if c.cacheable(r, o) {
		return c.cached(ctx, r, o)
	}
	raw, _, err := c.settled(ctx, r, o)
	return raw, err
}

// cached gets a result that may be in the cache, and is put there.
func (c *Client) cached(ctx context.Context, r *request, o *callOptions) (json.RawMessage, error) {
	var generation int
	owner := c.cacheOwner(ctx)
	if o.noCache || ctx.Err() != nil || c.ending() {
		generation = c.cache.get().generation()
	} else {
		var raw json.RawMessage
		if raw, generation = c.cache.get().get(r); raw != nil {
			return raw, nil
		}
	}
	raw, rounds, err := c.settled(ctx, r, o)
	if err == nil && rounds == 0 && c.cacheOwner(ctx) == owner {
		c.cache.get().put(r, raw, generation, c.opts.Limits.Cache)
	}
	return raw, err
}

// settled repeats a request until the server has all the input it asks for.
func (c *Client) settled(ctx context.Context, r *request, o *callOptions) (_ json.RawMessage, rounds int, _ error) {
	if c.sending != nil && o.seen == nil {
		return c.settledThrough(ctx, r, o)
	}
	for {
		raw, err := c.mirrored(ctx, r, o)
		if err != nil {
			if err := c.visited(ctx, r, err); err != nil {
				return nil, r.repeats(), err
			}
			again := *r
			again.visited = true
			r = &again
			continue
		}
		again, err := c.current().settle(ctx, c, r, raw)
		if err != nil || again == nil {
			return raw, r.repeats(), err
		}
		r = again
	}
}

func (c *Client) callOptions(opts []CallOption) (*callOptions, error) {
	o := c.opts.Timeouts.forCall()
	o.logLevel = c.logLevel()
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

// customRequest makes a request of params that may hold members which the era
// writes too, so that each stands in the message once.
func customRequest(method string, params any) (*request, []CallOption, error) {
	encoded, err := jsonrpc.EncodeParams(params)
	r := &request{method: method, params: encoded}
	if err != nil || encoded == nil {
		return r, nil, err
	}
	names := targetMember(method)
	var meta map[string]json.RawMessage
	var metaErr error
	rest := []byte{'{'}
	err = jsonrpc.Members(encoded, func(key, value []byte) {
		switch string(key) {
		case "_meta":
			metaErr = json.Unmarshal(value, &meta)
		case "inputResponses", "requestState":
			r.round = jsonrpc.AppendMember(r.round, string(key), value)
		case names:
			_ = json.Unmarshal(value, &r.target) // what is no string is the server's to refuse
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

// encodeArguments makes the params of a request that names something and hands
// it arguments.
func encodeArguments(name string, args any) ([]byte, error) {
	const names, arguments = `{"name":`, `,"arguments":`
	raw, isRaw := args.(json.RawMessage)
	b := make([]byte, 0, len(name)+len(raw)+128)
	b = jsonrpc.AppendString(append(b, names...), name)
	if args == nil {
		return append(b, '}'), nil
	}
	end := len(b)
	b = append(b, arguments...)
	start := len(b)
	var err error
	if isRaw {
		raw, err = jsonrpc.EncodeParams(raw)
		b = append(b, raw...)
	} else {
		b, err = jsonrpc.AppendValue(b, args)
	}
	switch value := b[start:]; {
	case err != nil:
		return nil, fmt.Errorf("arguments: %w", err)
	case len(value) == 0 || string(value) == "null":
		b = b[:end]
	case value[0] != '{':
		return nil, fmt.Errorf("arguments: %w", jsonrpc.NotObject(args, value))
	}
	return append(b, '}'), nil
}
