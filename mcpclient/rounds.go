package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// WithManualInput has a call return with an [*InputRequired] as its error when
// a modern server needs input for it, instead of asking the handlers of
// [Options]. The server may still ask only for what the installed handlers
// offer. A legacy server asks while the call runs, so that there the option has
// no effect.
func WithManualInput() CallOption {
	return func(o *callOptions) { o.manual = true }
}

// InputRequired is a call that waits for input: what the server asks, and all
// that it takes to go on. Nothing of it is kept elsewhere, so that it may be
// stored as JSON and continued days later, by another client and in another
// process, with [Continue].
//
// It is the error of a call made [WithManualInput]; find it with [errors.As].
type InputRequired struct {
	Method string          `json:"method"` // of the call: "tools/call", "prompts/get" or "resources/read"
	Params json.RawMessage `json:"params"` // of the call, without _meta

	// Requests is what the server asks, by keys of its own choice. Nil means
	// that it asks for nothing but to be called again later.
	Requests map[string]mcp.InputRequest `json:"inputRequests,omitzero"`

	// State is the server's, to be given back as it is. It may be a secret.
	State json.RawMessage `json:"requestState,omitempty"`

	Rounds int `json:"rounds"` // that asked something so far, this one included
}

// questioner answers what a server asks in the result of a request.
type questioner interface {
	current() era
	quote(text []byte) string
	questions(raw json.RawMessage, answered int) (map[string]mcp.InputRequest, error)
	gather(ctx context.Context, asked map[string]mcp.InputRequest, info mcp.CallInfo) (map[string]json.RawMessage, error)
	sleep(ctx context.Context, d time.Duration) error
}

// withRounds repeats a request until the server has all the input that it asks for, in
// no more than limit rounds.
func withRounds(next sender, limit int, c questioner) sender {
	return func(ctx context.Context, r *request, o *callOptions) (response, error) {
		rounds := inputRounds{questioner: c, limit: limit, asked: o.rounds, manual: o.manual}
		for {
			got, err := next(ctx, r, o)
			if err != nil {
				return response{}, err
			}
			round, err := c.current().inputRequired(r, got.result, c.quote)
			if err != nil || round == nil {
				got.repeats = rounds.asked + rounds.delays
				return got, err
			}
			if r, err = rounds.next(ctx, r, round); err != nil {
				return response{}, err
			}
		}
	}
}

// inputRound is what a server wants before it gives a result.
type inputRound struct {
	questions json.RawMessage // an object; nil for none
	state     json.RawMessage // to be given back; nil for none
}

// inputRounds are the rounds of one call.
type inputRounds struct {
	questioner
	limit  int
	asked  int  // rounds that asked something
	manual bool // the caller answers

	delays int // rounds that asked for nothing but time
	since  time.Time
}

// next answers the questions of a round and returns the request that has the answers.
// The state is echoed as it came: "clients MUST NOT inspect, parse, modify, or make
// any assumptions about" it.
func (s *inputRounds) next(ctx context.Context, r *request, round *inputRound) (*request, error) {
	if round.questions != nil {
		s.asked++
	}
	if s.asked > s.limit {
		return nil, fmt.Errorf("%w: the server asked for input %d times (Options.Limits.Rounds)", ErrTooManyRounds, s.asked)
	}
	asked, err := s.questions(round.questions, 0)
	if err != nil {
		return nil, err
	}
	if s.manual {
		return nil, &InputRequired{Method: r.method, Params: r.params, Requests: asked, State: bytes.Clone(round.state), Rounds: s.asked}
	}
	if len(asked) == 0 {
		if err := s.delay(ctx); err != nil {
			return nil, err
		}
	}
	next := *r
	next.answers = nil
	if asked != nil {
		answers, err := s.gather(ctx, asked, r.info())
		if err != nil {
			return nil, err
		}
		raw, err := jsonrpc.Marshal(answers)
		if err != nil {
			return nil, err
		}
		next.answers = jsonrpc.AppendMember(next.answers, "inputResponses", raw)
	}
	if round.state != nil {
		next.answers = jsonrpc.AppendMember(next.answers, "requestState", round.state)
	}
	return &next, nil
}

// A server that asks nothing but to be asked again, as one does that has too much
// to do, is asked after a wait that doubles.
const (
	againDelay    = 250 * time.Millisecond
	maxAgainDelay = 8 * time.Second
	maxPutOff     = 5 * time.Minute // that a call is put off in all
	maxDelays     = 32              // and how often
)

// delay waits before a request is made again that the server has put off.
func (s *inputRounds) delay(ctx context.Context) error {
	if s.delays == 0 {
		s.since = time.Now()
	}
	wait := min(againDelay<<min(s.delays, 10), maxAgainDelay)
	if s.delays++; s.delays > maxDelays || time.Since(s.since)+wait > maxPutOff {
		return fmt.Errorf("%w: %d times within %v, asking for no input", ErrDeferred, s.delays, time.Since(s.since).Round(time.Millisecond))
	}
	return s.sleep(ctx, wait)
}

func (c *Client) sleep(ctx context.Context, d time.Duration) error { return c.life.sleep(ctx, d) }

// questions reads inputRequests, nil for none, when so many were answered before.
// They are counted first.
func (c *Client) questions(raw json.RawMessage, answered int) (asked map[string]mcp.InputRequest, err error) {
	if raw == nil {
		return nil, nil
	}
	limit, n := c.opts.Limits.ServerRequests, 0
	d := jsonrpc.NewDecoder(raw, jsonrpc.MaxElements)
	for range d.Members {
		if n++; n > limit+answered {
			return nil, fmt.Errorf("%w: the server asks more than %d questions at once (Options.Limits.ServerRequests)", mcp.ErrInvalidResult, limit)
		}
	}
	if d.Err() != nil || json.Unmarshal(raw, &asked) != nil {
		return nil, fmt.Errorf("%w: inputRequests: %s", mcp.ErrInvalidResult, c.quote(raw))
	}
	return asked, nil
}

// Error tells what is asked, but not the questions themselves.
func (r *InputRequired) Error() string {
	if len(r.Requests) == 0 {
		return "the server wants to be called again"
	}
	var asked []string
	for _, key := range slices.Sorted(maps.Keys(r.Requests)) {
		asked = append(asked, fmt.Sprintf("%q (%s)", key, r.Requests[key].Method))
	}
	return excerpt.Cut("the server needs input: " + strings.Join(asked, ", "))
}

// Continue goes on with a call that needed input; T is what the call returns. answers
// has one answer for each key of round.Requests: an [*mcp.ElicitResult], a
// [*mcp.CreateMessageResult], or any value that marshals to the result of what was
// asked. The answer to a form is completed and checked as that of an
// [mcp.ElicitationHandler] is.
//
// Further questions go to the handlers, or come as another [*InputRequired]
// when the call is continued [WithManualInput] too. A round is continued once.
func Continue[T mcp.CallToolResult | mcp.GetPromptResult | mcp.ReadResourceResult](ctx context.Context, c *Client, round *InputRequired, answers map[string]any, opts ...CallOption) (*T, error) {
	result := new(T)
	method, what := "resources/read", "resource"
	switch any(result).(type) {
	case *mcp.CallToolResult:
		method, what = "tools/call", "tool"
	case *mcp.GetPromptResult:
		method, what = "prompts/get", "prompt"
	}
	r, opts, err := round.next(method, answers, opts)
	if err != nil {
		return nil, fmt.Errorf("continue %s: %w", what, err)
	}
	if called, ok := any(&result).(**mcp.CallToolResult); ok {
		*called, err = c.callTool(ctx, r, opts)
	} else {
		err = c.call(ctx, c.calls, r, result, opts)
	}
	if err != nil {
		return nil, fmt.Errorf("continue %s %q: %w", what, r.target, err)
	}
	return result, nil
}

// next makes the request that carries the answers.
func (r *InputRequired) next(method string, answers map[string]any, opts []CallOption) (*request, []CallOption, error) {
	if r == nil {
		return nil, nil, errors.New("no round (nil)")
	}
	if r.Method != method {
		return nil, nil, fmt.Errorf("the round is one of %s, not of %s", excerpt.Cut(r.Method), method)
	}
	next, meta, err := customRequest(r.Method, r.Params)
	if err != nil {
		return nil, nil, err
	}
	next.answers = nil
	meta = append(meta, func(o *callOptions) { o.rounds = r.Rounds })
	for key := range answers {
		if _, ok := r.Requests[key]; !ok {
			return nil, nil, fmt.Errorf("answer %q: nothing is asked under this key", key)
		}
	}
	if r.Requests != nil {
		wire := make(map[string]json.RawMessage, len(r.Requests))
		for key, q := range r.Requests {
			if wire[key], err = q.Answer(answers[key]); err != nil {
				return nil, nil, fmt.Errorf("answer %q: %w", key, err)
			}
		}
		raw, err := jsonrpc.Marshal(wire)
		if err != nil {
			return nil, nil, err
		}
		next.answers = jsonrpc.AppendMember(next.answers, "inputResponses", raw)
	}
	if r.State != nil {
		state, err := jsonrpc.Compact(r.State)
		if err != nil {
			return nil, nil, fmt.Errorf("InputRequired.State: %w", err)
		}
		next.answers = jsonrpc.AppendMember(next.answers, "requestState", state)
	}
	return next, append(meta, opts...), nil
}
