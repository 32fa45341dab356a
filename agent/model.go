package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/convert"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/reminder"
)

// ErrNoAnswer is the error of a run whose model gave neither text nor tool calls, or asked
// for tools where it had to answer. The run's messages are still good: asking again may help.
var ErrNoAnswer = errors.New("the model gave no answer")

// finalOf is the limit for which the model has to answer, "" if it may go on.
func finalOf(stop StopReason) string {
	if stop == StopAnswer {
		return ""
	}
	return string(stop)
}

// dialog is what a run says to its model, and what the model replies.
type dialog struct {
	account
	encoder    *convert.Encoder
	estimate   estimate // of the history
	truncation truncation
	note       string           // of the model, that was shown
	prompt     string           // with the instructions of servers
	instructed *adapter.Catalog // to which prompt belongs
	here       bool             // the model call under way is of this process

	asking bool // a model call with a reservation is under way
	warned bool // that the model counts no tokens
}

// turn calls the model and records its reply.
func (d *dialog) turn() error {
	if err := d.commitGiven(); err != nil {
		return err
	}
	if err := d.compact(); err != nil {
		return d.failed(err)
	}
	reply, stop, err := d.ask(d.limit())
	if long, ok := errors.AsType[*overflow](err); ok {
		if err = d.refit(long); err == nil {
			reply, stop, err = d.ask(d.limit())
		}
		if long, ok := errors.AsType[*overflow](err); ok {
			err = long.stays()
		}
	}
	if answer := stopOf(err); answer != nil {
		defer d.settle()
		return d.finishFor(*answer, StopHook)
	}
	if err != nil {
		err = d.failedAt(stop, err)
		d.settle()
		return err
	}
	if reply.stop != nil {
		stop = StopHook
	}
	switch {
	case len(reply.calls) > 0 || reply.repair:
		return nil // the run goes on: with the calls, or by asking again
	case strings.TrimSpace(reply.text) == "" && reply.stop == nil:
		return d.failedAt(stop, fmt.Errorf("turn %d: %w", d.state.Turn, reply.noAnswer(stop)))
	case d.agent.output != nil && reply.output == nil:
		return d.failedAt(stop, d.noOutput(reply.text))
	}
	d.visits.end()
	return d.record([]Event{
		&TurnEnd{Turn: d.state.Turn, Messages: d.state.History[len(d.state.History)-1:]},
		&Answer{Text: reply.text, StopReason: stop, FinishReason: reply.finish},
	}, &run.Ended{Status: run.Finished, Stop: string(stop), Answer: reply.text, Output: reply.output})
}

// failed records that the run has failed, unless it only ends in this process.
func (e *engine) failed(err error) error { return e.failedAt(StopAnswer, err) }

// failedAt is failed for a run that is at a limit.
func (e *engine) failedAt(stop StopReason, err error) error {
	if e.ctx.Err() != nil {
		return err
	}
	if short, ok := errors.AsType[*limitError](err); ok {
		stop = short.stop
	}
	if failure := e.record(nil, &run.Ended{Status: run.Failed, Stop: finalOf(stop), Error: err.Error()}); failure != nil {
		return failure
	}
	if unkept := e.commit(); unkept != nil {
		if cause := errors.Unwrap(unkept); cause != nil && errors.Is(err, cause) {
			return err
		}
		return errors.Join(err, unkept)
	}
	return &failure{ErrFailed, err}
}

// ask calls the model once, and records that and its reply. At a limit, or if no other call
// would fit the limits after it, the call is the last one: stop names the limit.
func (d *dialog) ask(at StopReason) (r *reply, stop StopReason, err error) {
	c, stop, err := d.prepare(at)
	if err != nil {
		return nil, stop, err
	}
	a, final := d.agent, stop != StopAnswer
	start := &ModelStart{Turn: d.state.Turn, Model: a.modelName(), Final: final, Messages: len(d.state.History)}
	output, err := d.called(c, stop, start)
	if err != nil {
		return nil, stop, err
	}
	if err := d.commit(); err != nil {
		return nil, stop, err
	}
	d.here = true
	var stream *streamed
	if a.streams() {
		stream = &streamed{engine: d.engine, turn: d.state.Turn}
	}
	began, options := time.Now(), d.modelOptions(c.Tools, stream, output, final && d.answerTool() == nil)
	r, err = d.infer(c, stream, func(ctx context.Context) (*reply, error) {
		return d.generated(ctx, c, stream, options, output)
	})
	if err != nil {
		return nil, stop, d.overflowed(c, stream, err)
	}
	if final {
		r.keepCalls(d.answerTool()) // the model may make no other
	}
	end := r.event(d.state.Turn, stream.has(r.text), time.Since(began))
	if d.ledger.out != nil {
		end.ToolCalls = slices.Clone(end.ToolCalls) // the history has them, too
	}
	return r, stop, d.replied(c, r, end, final)
}

// generated returns the reply to a call of the model, counted and as the hooks leave it.
func (d *dialog) generated(ctx context.Context, c *ModelCall, stream *streamed, options []llms.CallOption, output int64) (*reply, error) {
	began := time.Now()
	response, err := d.generate(ctx, c.Messages, options, stream)
	if err != nil {
		return nil, err
	}
	r := d.reply(response)
	if r.size() > maxReply {
		return r, errLong
	}
	d.checkCount(c, r.usage)
	d.warnOnce(response)
	if err := d.meter(r, c, output); err != nil {
		return r, err
	}
	if d.state.Limits.Active > 0 {
		r.usage.Active = time.Since(began)
	}
	err = d.afterModel(r)
	if answer := stopOf(err); answer != nil {
		r.stopAt(*answer)
		return r, nil
	}
	return r, err
}

// warnOnce tells what the model says of how it was asked.
func (d *dialog) warnOnce(response *llms.ContentResponse) {
	if response == nil {
		return
	}
	for _, c := range response.Choices {
		if c == nil {
			continue
		}
		if text, ok := c.GenerationInfo["Warning"].(string); ok && text != "" && text != d.note {
			d.note = text
			d.show(&Warning{Text: text})
		}
	}
}

// prepare makes a call of the model.
func (d *dialog) prepare(stop StopReason) (*ModelCall, StopReason, error) {
	a := d.agent
	d.catalog = a.tools.Catalog(a.profile)
	if err := d.priced(); err != nil {
		return nil, stop, err
	}
	history := d.encoder.Encode(d.system(), d.state.History)
	call := func() *ModelCall {
		c := &ModelCall{Turn: d.state.Turn, Messages: slices.Clip(history), Tools: d.catalog.Definitions()}
		d.lastTurn(c, stop != StopAnswer)
		return c
	}
	c := call()
	if stop == StopAnswer {
		var err error
		if stop, err = d.lacks(c); err != nil {
			return nil, stop, err
		}
		if stop != StopAnswer {
			c = call()
		}
	}
	return c, stop, d.beforeModel(c)
}

// replied records a reply.
func (d *dialog) replied(c *ModelCall, r *reply, end *ModelEnd, final bool) error {
	defer d.settle()
	if d.agent.format != nil && len(r.calls) == 0 || d.agent.output != nil && r.stop != nil {
		r.output, _ = d.written(r.text) // see complaint
	}
	r.repair = !final && r.stop == nil && d.repairs(r)
	change := &run.Replied{
		Message: r.message, Calls: d.proposed(r.calls), Finish: r.finish, Usage: r.usage, Repair: r.repair, Estimated: r.estimated,
	}
	if d.limited(limitsSpending) {
		change.Size = d.sizeOf(c)
	}
	return d.record([]Event{end}, change)
}

// lastTurn makes of a call one in which the model has to answer: without tools, or by the
// tool of a structured answer.
func (d *dialog) lastTurn(c *ModelCall, final bool) {
	a, tool := d.agent, d.answerTool()
	last := ""
	switch {
	case tool != nil && (final || d.state.Repairs > 0):
		last = d.asksForOutput(tool)
	case final:
		last = reminder.Last
	}
	if a.format != nil {
		last = strings.TrimSpace(last + "\n" + d.complaint())
	}
	if h := d.state.History; last != "" && (a.dialect.HumanAfterTools() || len(h) > 0 && h[len(h)-1].Role != run.Tool) {
		c.Messages = append(c.Messages, llms.TextParts(llms.ChatMessageTypeHuman, last))
	}
	switch {
	case final && tool != nil:
		c.Tools = slices.DeleteFunc(c.Tools, func(t llms.Tool) bool { return t.Function.Name != tool.Name() })
	case final && !a.dialect.ToolsAtEnd():
		c.Tools = nil
	}
}

// modelOptions completes the caller's options. What the agent decides comes last.
func (d *dialog) modelOptions(tools []llms.Tool, stream *streamed, output int64, final bool) []llms.CallOption {
	decide := func(o *llms.CallOptions) {
		o.Tools, o.Functions = d.agent.dialect.Tools(tools), nil
		o.StreamingFunc, o.StreamingReasoningFunc = nil, nil
		if stream != nil {
			o.StreamingFunc, o.StreamingReasoningFunc = stream.take, stream.think
		}
		if output > 0 {
			o.MaxTokens = int(output)
		}
		if d.agent.temperature != 0 {
			o.Temperature = d.agent.temperature
		}
		switch {
		case len(tools) == 0:
			o.ToolChoice = nil
		case final:
			o.ToolChoice = "none"
		}
		o.N, o.CandidateCount = min(o.N, 1), min(o.CandidateCount, 1)
	}
	options := slices.Clip(d.agent.opts.CallOptions)
	if d.agent.format != nil {
		options = append(options, d.agent.format)
	}
	return append(options, decide)
}

// maxReply bounds the text and the calls of a reply, in bytes.
const maxReply = 8 << 20

var errLong = fmt.Errorf("the reply of the model is longer than %d MiB", maxReply>>20)

// streamed is the text of a turn as it comes from a model that streams.
type streamed struct {
	engine *engine
	turn   int

	mu      sync.Mutex // guards the fields below
	text    strings.Builder
	began   time.Time // when the first piece came
	thought int       // bytes of reasoning
}

// think takes a piece of reasoning from the model, on any goroutine. The text comes to take.
func (s *streamed) think(_ context.Context, reasoning, _ []byte) error {
	if len(reasoning) == 0 {
		return nil
	}
	s.mu.Lock()
	s.thought += len(reasoning)
	long := s.thought > maxReply
	s.mu.Unlock()
	if long {
		return errLong
	}
	if !s.engine.show(&ReasoningDelta{Turn: s.turn, Text: string(reasoning)}) {
		return s.engine.ended()
	}
	return nil
}

// take takes a piece of text from the model, on any goroutine.
func (s *streamed) take(_ context.Context, chunk []byte) error {
	if len(chunk) == 0 {
		return nil
	}
	s.mu.Lock()
	if s.text.Len() == 0 {
		s.began = time.Now()
	}
	long := s.text.Len()+len(chunk) > maxReply
	if !long {
		s.text.Write(chunk)
	}
	s.mu.Unlock()
	if long {
		return errLong
	}
	if !s.engine.show(&TextDelta{Turn: s.turn, Text: string(chunk)}) {
		return s.engine.ended()
	}
	return nil
}

// has reports whether all of the text came in pieces. A model may not stream
// although it was asked to, or not everything, such as a refusal.
func (s *streamed) has(text string) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return text != "" && s.text.String() == text
}
