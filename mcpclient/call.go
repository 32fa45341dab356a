package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// request is one request before the era and the connection had their say.
type request struct {
	method string
	target string // the tool, prompt or resource that the request names
	params []byte // a JSON object without _meta, or nil
	round  []byte // members that answer an input round, each with a comma after it
	rounds int    // input rounds so far
	delays delays // by a server that asks for nothing but time

	task    bool // the result may be a task, or it is about one
	stays   bool // no notice tells that nobody waits for it any more
	lasting bool // the result may be one that was kept
	byHand  bool // the caller answers input rounds
	visited bool // it is made once more, after a person visited URLs

	header    http.Header // that repeats arguments of a tool call
	corrected bool        // header was made anew after the server had refused it
	reborn    bool        // it was sent again in a new session
}

// inFlight is what the connection knows of a request that awaits its response.
type inFlight struct {
	ctx  context.Context // the caller's
	info CallInfo

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
	if o.timeout > 0 {
		var cancel context.CancelFunc
		cause := fmt.Errorf("no answer within %v", o.timeout)
		ctx, cancel = context.WithTimeoutCause(ctx, o.timeout, cause)
		defer cancel()
	}
	if o.patience > 0 {
		var stop func()
		ctx, stop = o.patient(ctx)
		defer stop()
	}
	r.byHand = o.byHand
	raw, err := c.answer(ctx, r, o)
	if err != nil {
		return err
	}
	switch result := result.(type) {
	case nil:
		return nil
	case *json.RawMessage:
		if !json.Valid(raw) {
			return fmt.Errorf("%w: not valid JSON: %s", ErrInvalidResult, c.quote(raw))
		}
		*result = raw
		return nil
	default:
		if raw[0] != '{' {
			return fmt.Errorf("%w: want an object: %s", ErrInvalidResult, c.quote(raw))
		}
		if err := decodeResult(raw, result); err != nil {
			c.cache.forget(r)
			return fmt.Errorf("%w: %v: %s", ErrInvalidResult, err, c.quote(raw))
		}
		return nil
	}
}

// maxElements bounds the items of a page, the blocks of a result, the messages
// of a prompt: 32 MiB of "{},{},…" would be gigabytes of Go values.
const maxElements = 10_000

// decodeResult is json.Unmarshal within a bound, and without the pass over the
// whole text that a type which reads itself makes needless.
func decodeResult(raw json.RawMessage, result any) error {
	if err := jsonrpc.LimitArrays(raw, maxElements, "structuredContent"); err != nil {
		return err
	}
	if u, ok := result.(json.Unmarshaler); ok {
		return u.UnmarshalJSON(raw)
	}
	return json.Unmarshal(raw, result)
}

// answer gets the result of a request, from the cache where that may be.
func (c *Client) answer(ctx context.Context, r *request, o *callOptions) (json.RawMessage, error) {
	if !c.cacheable(r, o) {
		raw, _, err := c.settled(ctx, r, o)
		return raw, err
	}
	var generation int
	if o.noCache || ctx.Err() != nil || c.ctx.Err() != nil {
		generation = c.cache.generation()
	} else {
		var raw json.RawMessage
		if raw, generation = c.cache.get(r); raw != nil {
			return raw, nil
		}
	}
	raw, rounds, err := c.settled(ctx, r, o)
	if err == nil && rounds == 0 {
		c.cache.put(r, raw, generation, c.opts.MaxCache)
	}
	return raw, err
}

// settled repeats a request until the server has all the input it asks for.
func (c *Client) settled(ctx context.Context, r *request, o *callOptions) (_ json.RawMessage, rounds int, _ error) {
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
	o := &callOptions{timeout: c.opts.CallTimeout, logLevel: c.opts.LogLevel}
	for _, opt := range opts {
		opt(o)
	}
	for key, value := range o.meta {
		if key == "progressToken" || strings.HasPrefix(key, "io.modelcontextprotocol/") {
			return nil, fmt.Errorf("WithMeta: %q belongs to the protocol", key)
		}
		compact, err := jsonrpc.Compact(value)
		if err != nil {
			return nil, fmt.Errorf("WithMeta: value of %q: %w", key, err)
		}
		o.meta[key] = compact
	}
	if o.logLevel != "" && !o.logLevel.known() {
		return nil, fmt.Errorf("log level %q: not a level of the protocol", o.logLevel)
	}
	return o, nil
}

// encodeParams makes a JSON object of v, nil for nil.
func encodeParams(v any) ([]byte, error) {
	var raw json.RawMessage
	var err error
	switch v := v.(type) {
	case nil:
		return nil, nil
	case json.RawMessage:
		if len(bytes.TrimSpace(v)) == 0 {
			return nil, nil
		}
		raw, err = jsonrpc.Compact(v)
	default:
		raw, err = jsonrpc.Marshal(v)
	}
	if err != nil {
		return nil, err
	}
	raw = bytes.TrimSpace(raw)
	switch {
	case string(raw) == "null":
		return nil, nil
	case raw[0] != '{':
		return nil, fmt.Errorf("want a JSON object, got %s", quote(raw))
	}
	return raw, nil
}

// customRequest makes a request of params that may hold members which the era
// writes too, so that each stands in the message once.
func customRequest(method string, params any) (*request, []CallOption, error) {
	encoded, err := encodeParams(params)
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
			r.round = appendMember(r.round, string(key), value)
		case names:
			_ = json.Unmarshal(value, &r.target) // what is no string is the server's to refuse
			fallthrough
		default:
			rest = appendMember(rest, string(key), value)
		}
	})
	switch {
	case err != nil:
		return nil, nil, err
	case metaErr != nil:
		return nil, nil, fmt.Errorf("_meta: %w", metaErr)
	}
	r.params = closeObject(rest)
	var opts []CallOption
	for key, value := range meta {
		opts = append(opts, WithMeta(key, value))
	}
	return r, opts, nil
}

// encodeArguments makes the params of a request that names something and hands
// it arguments.
func encodeArguments(name string, args any) ([]byte, error) {
	arguments, err := encodeParams(args)
	if err != nil {
		return nil, fmt.Errorf("arguments: %w", err)
	}
	b := make([]byte, 0, len(name)+len(arguments)+32)
	b = jsonrpc.AppendString(append(b, `{"name":`...), name)
	if arguments != nil {
		b = append(append(b, `,"arguments":`...), arguments...)
	}
	return append(b, '}'), nil
}

// appendMember appends one member and a comma.
func appendMember(b []byte, key string, value []byte) []byte {
	b = append(jsonrpc.AppendString(b, key), ':')
	return append(append(b, value...), ',')
}

// closeObject ends an object whose members each have a comma after them.
func closeObject(b []byte) []byte {
	if b[len(b)-1] == ',' {
		b[len(b)-1] = '}'
		return b
	}
	return append(b, '}')
}

// appendMembers appends the members of object, without its braces, and a comma
// where there are any.
func appendMembers(b []byte, object []byte) []byte {
	if len(object) < 2 {
		return b
	}
	inner := bytes.TrimSpace(object[1 : len(object)-1])
	if len(inner) == 0 {
		return b
	}
	return append(append(b, inner...), ',')
}

// ended is the error of a call whose context ended.
func ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if _, late := cause.(*silenceError); late || errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%v: %w", cause, err)
}
