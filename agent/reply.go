package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/backoff"
)

// reply is a model's reply, as checks and hooks leave it.
type reply struct {
	message run.Message
	id      string // from the provider
	text    string
	calls   []run.Part
	stop    *string // the answer of a hook that replaces the reply
	finish  string  // the provider's reason for the end
	warning string  // of the provider: why it withholds the text, for example
	usage   run.Usage
	output  json.RawMessage // the text as structured output, nil if it is not
	repair  bool            // it is requested again in another form

	endpoint  string   // the API of the host that was asked
	estimated bool     // the usage is an estimate
	dropped   []string // names of tools that the model called at a limit
}

// maxWord bounds names that the model's host sends, in bytes.
const maxWord = 256

// maxCount bounds a count of tokens, so that sums do not overflow.
const maxCount = 1 << 40

// clampUsage returns the tokens of a reply, each limited to its possible range: a part is at most the
// whole, and no count is negative.
func clampUsage(u run.Usage) run.Usage {
	count := func(n, most int64) int64 { return max(0, min(n, most)) }
	s := run.Usage{Input: count(u.Input, maxCount), Output: count(u.Output, maxCount)}
	s.Total = max(count(u.Total, 2*maxCount), s.Input+s.Output)
	s.Cached = count(u.Cached, s.Input)
	s.CacheWrite = count(u.CacheWrite, s.Input-s.Cached)
	s.Reasoning = count(u.Reasoning, s.Output)
	return s
}

// callIDs are the ids of the calls in a history that only grows.
type callIDs struct {
	known    map[string]bool
	messages int // number of messages whose ids are in known
	number   int // in the last id that was made here
}

// assign gives a new id to each call of a reply that has none, or one that is taken or not UTF-8. past is
// the number of calls of earlier turns: a compacted history does not have all of them.
func (c *callIDs) assign(parts []run.Part, history []run.Message, past int) []run.Part {
	if c.known == nil {
		c.known = map[string]bool{}
	}
	for ; c.messages < len(history); c.messages++ {
		for i := range history[c.messages].Parts {
			if p := &history[c.messages].Parts[i]; p.Type == run.PartCall {
				c.known[p.ID] = true
			}
		}
	}
	var unnamed []int // indexes of calls
	for i := range parts {
		switch p := &parts[i]; {
		case p.Type != run.PartCall:
		case p.ID == "" || c.known[p.ID] || !utf8.ValidString(p.ID):
			unnamed = append(unnamed, i)
		default:
			c.known[p.ID] = true
		}
	}
	if len(unnamed) == 0 {
		return parts
	}
	parts = slices.Clone(parts)
	c.number = max(c.number, len(c.known), past)
	for _, i := range unnamed {
		parts[i].ID = c.fresh()
	}
	return parts
}

// fresh returns an id that no call has.
func (c *callIDs) fresh() string {
	for {
		c.number++
		if id := "call_" + strconv.Itoa(c.number); !c.known[id] {
			c.known[id] = true
			return id
		}
	}
}

// callParts returns the calls among the parts of a reply. Consecutive calls share memory with it.
func callParts(parts []run.Part) []run.Part {
	from, to, n := 0, 0, 0
	for i := range parts {
		if parts[i].Type != run.PartCall {
			continue
		}
		if n == 0 {
			from = i
		}
		to, n = i+1, n+1
	}
	if n == to-from {
		return parts[from:to:to]
	}
	calls := make([]run.Part, 0, n)
	for i := range parts {
		if parts[i].Type == run.PartCall {
			calls = append(calls, parts[i])
		}
	}
	return calls
}

// keepCalls removes the calls from a reply, except the calls of one tool; nil means none.
func (r *reply) keepCalls(tool *adapter.Tool) {
	isDropped := func(p run.Part) bool { return p.Type == run.PartCall && (tool == nil || p.Name != tool.Name()) }
	for _, p := range r.calls {
		if isDropped(p) {
			r.dropped = append(r.dropped, p.Name)
		}
	}
	r.calls = slices.DeleteFunc(slices.Clone(r.calls), isDropped)
	r.message.Parts = slices.DeleteFunc(slices.Clone(r.message.Parts), isDropped)
}

// noAnswerError returns an [ErrNoOutput] that says what the model did instead. It is a [*model.Error], too, if the model
// refused.
func (r *reply) noAnswerError(stop StopReason) error {
	switch {
	case len(r.dropped) > 0:
	case r.finish == model.FinishRefusal:
		reason := fmt.Errorf("%w: it refused to answer: %.200q", ErrNoOutput, cmp.Or(r.text, r.warning))
		return &model.Error{Kind: model.ErrorRefused, Err: reason}
	case r.finish == model.FinishLength:
		return fmt.Errorf("%w: its thoughts, or a call that was cut off, used up the bound of the reply: "+
			"raise Model.MaxTokens or the run's limits, or lower Model.Effort", ErrNoOutput)
	default:
		return fmt.Errorf("%w: neither text nor tool calls (it stopped with %q, the run with %q)",
			ErrNoOutput, r.finish, stop)
	}
	names := slices.Compact(slices.Sorted(slices.Values(r.dropped)))
	return fmt.Errorf("%w: at the limit %s (%s) it asked for tools (%.200q), which it may not call any more",
		ErrNoOutput, stop, limitNames[stop], strings.Join(names, ", "))
}

// event returns the event of the reply. It shares the calls.
func (r *reply) event(streamed bool) *ModelEnd {
	return &ModelEnd{
		Model:        r.message.Model,
		Text:         r.text,
		Reasoning:    r.reasoning(),
		ToolCalls:    r.calls,
		FinishReason: r.finish,
		Usage:        r.usage,
		Streamed:     streamed,
	}
}

// size returns the bytes of all parts of the reply.
func (r *reply) size() (n int) {
	for i := range r.message.Parts {
		p := &r.message.Parts[i]
		n += len(p.Text) + len(p.ID) + len(p.Name) + len(p.Arguments) + len(p.Data)
	}
	return n
}

// reasoning returns the reasoning of all parts as one text.
func (r *reply) reasoning() string {
	var b strings.Builder
	for _, p := range r.message.Parts {
		if p.Type == run.PartReasoning {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// retryPolicy sets the waits before a failed model call is repeated.
var retryPolicy = backoff.Policy{First: time.Second}

// maxRetryAfter is the longest wait that a host may ask for. If it asks for more, the call fails.
const maxRetryAfter = 30 * time.Second

// generate calls the model. It repeats the call after a temporary failure if nothing of the
// reply was shown.
func (d *dialog) generate(ctx context.Context, q *model.Request, stream *streamedReply) (*model.Response, error) {
	for n := 0; ; n++ {
		reply, err := receive(ctx, d.agent.model, q, stream)
		failed, ok := errors.AsType[*model.Error](err)
		mayRepeat := ok && isRetryable(failed) && !stream.isShown()
		switch {
		case d.engine.ctx.Err() != nil:
			return nil, d.engine.endError()
		case err == nil:
			return reply, nil
		case !mayRepeat || n >= d.agent.opts.Model.Retries:
			return nil, fmt.Errorf("call model: %w", err)
		}
		if failed.Kind == model.ErrorTimeout {
			if limitErr := d.recordRepeat(); limitErr != nil {
				return nil, fmt.Errorf("call model: %w; it is not made again: %w", err, limitErr)
			}
		}
		d.rec.show(&Warning{Text: fmt.Sprintf("the model call failed and is made again: %v", err)})
		if err := backoff.Sleep(d.engine.ctx, max(retryPolicy.Delay(n), failed.RetryAfter)); err != nil {
			return nil, d.engine.endError()
		}
	}
}

// receive asks the model once, and shows its reply as it arrives.
func receive(
	ctx context.Context, m model.Model, q *model.Request, stream *streamedReply,
) (reply *model.Response, err error) {
	err = guard("model", func() error {
		for delta, err := range m.Generate(ctx, q) {
			if err == nil {
				err = stream.add(delta)
			}
			if err != nil {
				return err
			}
			if delta.Response != nil {
				reply = delta.Response
			}
		}
		return nil
	})
	if err == nil && reply == nil {
		err = fmt.Errorf("%w: it ended without a reply", ErrNoOutput)
	}
	return reply, err
}

// isRetryable reports whether repeating a model call may help, and the model has not done so itself.
func isRetryable(e *model.Error) bool {
	kinds := []model.ErrorKind{model.ErrorRateLimit, model.ErrorTimeout, model.ErrorUnavailable}
	return !e.Retried && e.RetryAfter <= maxRetryAfter && slices.Contains(kinds, e.Kind)
}

// Bounds of a reply.
const (
	maxReply      = 8 << 20 // bytes of its parts
	maxReplyCalls = 4096
)

var errLongReply = fmt.Errorf("reply of the model is longer than %d MiB", maxReply>>20)

// streamedReply is the part of a turn's reply that has arrived.
type streamedReply struct {
	engine         *engine
	text           strings.Builder
	firstText      time.Time // when the first text arrived
	reasoningBytes int
}

// add adds a piece to the reply and emits it. It is an error if the reply becomes too long or
// the run has ended.
func (s *streamedReply) add(d model.Delta) error {
	if s.text.Len()+len(d.Text) > maxReply || s.reasoningBytes+len(d.Reasoning) > maxReply {
		return errLongReply
	}
	if d.Reasoning != "" {
		s.reasoningBytes += len(d.Reasoning)
		if !s.engine.rec.show(&ReasoningDelta{Text: d.Reasoning}) {
			return s.engine.endError()
		}
	}
	if d.Text != "" {
		if s.firstText.IsZero() {
			s.firstText = time.Now()
		}
		s.text.WriteString(d.Text)
		if !s.engine.rec.show(&TextDelta{Text: d.Text}) {
			return s.engine.endError()
		}
	}
	return nil
}

// isShown reports whether any of the reply was emitted: then it cannot be asked for again.
func (s *streamedReply) isShown() bool { return s.reasoningBytes > 0 || !s.firstText.IsZero() }

// hasAll reports whether all of the text came in pieces. A model may ignore the request to stream,
// or leave something out, such as a refusal.
func (s *streamedReply) hasAll(text string) bool { return text != "" && s.text.String() == text }
