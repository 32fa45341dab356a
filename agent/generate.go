package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/internal/backoff"
)

// retryPolicy sets the waits before a failed model call is repeated.
var retryPolicy = backoff.Policy{First: time.Second}

// maxRetryAfter is the longest wait that a host may ask for.
const maxRetryAfter = 30 * time.Second

// generate calls the model. It repeats the call after a temporary failure if nothing of the
// reply was shown.
func (d *dialog) generate(ctx context.Context, q *model.Request, stream *streamedReply) (*model.Response, error) {
	for n := 0; ; n++ {
		reply, err := receive(ctx, d.engine.agent.model, q, stream)
		failed, ok := errors.AsType[*model.Error](err)
		switch {
		case d.engine.ctx.Err() != nil:
			return nil, d.engine.endError()
		case err == nil:
			return reply, nil
		case n >= d.engine.agent.opts.Model.Retries || !ok || !isRetryable(failed) || stream.isShown():
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
	if e.Retried || e.RetryAfter > maxRetryAfter {
		return false
	}
	switch e.Kind {
	case model.ErrorRateLimit, model.ErrorTimeout, model.ErrorUnavailable:
		return true
	}
	return false
}

// infer makes a model call within the observer, which gets the reply as the hooks leave it.
func (d *dialog) infer(
	q *model.Request, stream *streamedReply, work func(context.Context) (*reply, error),
) (r *reply, err error) {
	o := d.engine.agent.opts.Observer
	if o == nil {
		return work(d.engine.ctx)
	}
	v := &Inference{
		Model:    d.engine.agent.info.Name,
		Provider: cmp.Or(d.engine.agent.info.Provider, "unknown"),
		Request:  q,
	}
	began := time.Now()
	ctx, done := o.Infer(d.engine.ctx, v)
	err = workThenEnd(func() (err error) {
		r, err = work(ctx)
		return err
	}, func(err error) {
		if r != nil {
			v.ID, v.Finish, v.Usage = r.id, r.finish, r.usage
		}
		if r != nil && err == nil {
			message := r.message
			message.Parts = slices.Clone(message.Parts)
			v.Response = &message
		}
		if !stream.firstText.IsZero() {
			v.FirstChunk = stream.firstText.Sub(began)
		}
		done(err)
	})
	return r, err
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
