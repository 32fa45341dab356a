package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// WithManualInput makes a call return an [*mcp.InputRequired] as its error if a modern server
// needs input, instead of calling the handlers of [Options]. The server may still ask only for
// capabilities of the installed handlers. It has no effect with a legacy server, which asks
// during the call.
func WithManualInput() CallOption {
	return func(o *callOptions) { o.manual = true }
}

// withRounds repeats a request until the server has all its input, in at most Options.Limits.Rounds rounds.
func withRounds(next sender, g *gatherer) sender {
	quote := g.quoteJSON // made once: a method value takes an allocation
	return func(ctx context.Context, r *request, o *callOptions) (response, error) {
		rounds := inputRounds{gatherer: g, asked: o.rounds, manual: o.manual}
		for {
			got, err := next(ctx, r, o)
			if err != nil {
				if rounds.deferrals > 0 || rounds.asked > o.rounds {
					err = &begunError{err}
				}
				return response{}, err
			}
			round, err := r.sentEra.inputRequired(r, got.result, quote)
			if err != nil || round == nil {
				got.repeats = rounds.asked + rounds.deferrals
				return got, err
			}
			if r, err = rounds.answer(ctx, r, round); err != nil {
				return response{}, err
			}
		}
	}
}

// inputRound is a result that asks for input.
type inputRound struct {
	questions json.RawMessage // an object, or nil
	state     json.RawMessage // returned unchanged, or nil
}

// inputRounds are the rounds of one call.
type inputRounds struct {
	*gatherer
	asked     int       // rounds with questions
	manual    bool      // the caller answers
	deferrals int       // rounds without questions
	deferred  time.Time // when the first of them began
}

// answer answers the questions of a round and returns the request with the answers. The state is
// returned unchanged: "clients MUST NOT inspect, parse, modify, or make any assumptions about" it.
func (s *inputRounds) answer(ctx context.Context, r *request, round *inputRound) (*request, error) {
	if round.questions != nil {
		s.asked++
	}
	if limit := s.limits.Rounds; s.asked > limit {
		return nil, tooManyRoundsError("server", limit)
	}
	questions, err := s.questions(round.questions, 0)
	switch {
	case err != nil:
		return nil, err
	case s.manual:
		return nil, s.inputRequired(r, round, questions, nil)
	case len(questions) == 0:
		if err := s.wait(ctx); err != nil {
			return nil, err
		}
	}
	var answers map[string]json.RawMessage
	if questions != nil {
		answers, err = s.gather(ctx, questions, r.info())
		if errors.Is(err, mcp.ErrAnswerLater) {
			return nil, s.inputRequired(r, round, questions, answers)
		}
		if err != nil {
			return nil, err
		}
	}
	again := *r
	again.answers, err = encodeInput(answers, round.state)
	return &again, err
}

// encodeInput returns the members of a request that answer a round, each followed by a comma. A round
// without questions has nil answers, one without a state a nil state.
func encodeInput(answers map[string]json.RawMessage, state json.RawMessage) (members []byte, err error) {
	if answers != nil {
		raw, err := jsonrpc.Marshal(answers)
		if err != nil {
			return nil, err
		}
		members = jsonrpc.AppendMember(members, "inputResponses", raw)
	}
	if state != nil {
		members = jsonrpc.AppendMember(members, "requestState", state)
	}
	return members, nil
}

func tooManyRoundsError(who string, limit int) error {
	return fmt.Errorf("%w: the %s asked for input more than %d times (Options.Limits.Rounds)", ErrTooManyRounds, who, limit)
}

func (s *inputRounds) inputRequired(
	r *request, round *inputRound, questions map[string]mcp.InputRequest, answers map[string]json.RawMessage,
) *mcp.InputRequired {
	return &mcp.InputRequired{
		Method:   r.method,
		Params:   r.params,
		Requests: questions,
		Answers:  answers,
		State:    bytes.Clone(round.state),
		Rounds:   s.asked,
	}
}

// A round without questions defers the request, for example because the server is busy: the
// request is repeated after a wait that doubles.
const (
	firstDeferral    = 250 * time.Millisecond
	longestDeferral  = 8 * time.Second
	maxDeferralTime  = 5 * time.Minute // all deferrals of a call
	maxDeferralCount = 32
)

func (s *inputRounds) wait(ctx context.Context) error {
	if s.deferrals == 0 {
		s.deferred = time.Now()
	}
	wait := min(firstDeferral<<min(s.deferrals, 10), longestDeferral)
	s.deferrals++
	if passed := time.Since(s.deferred); s.deferrals > maxDeferralCount || passed+wait > maxDeferralTime {
		return fmt.Errorf("%w: the server deferred the call %d times within %v, asking for no input",
			ErrTooManyRounds, s.deferrals, passed.Round(time.Millisecond))
	}
	return s.life.Sleep(ctx, wait)
}
