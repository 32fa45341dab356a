package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/internal/backoff"
)

// retryPolicy has the waits before a failed model call is repeated.
var retryPolicy = backoff.Policy{First: time.Second}

// maxWait is the longest wait that a host may ask for.
const maxWait = 30 * time.Second

// generate calls the model. It repeats the call after a temporary failure if nothing of the
// reply was shown.
func (d *dialog) generate(ctx context.Context, q *model.Request, stream *streamed) (*model.Response, error) {
	for n := 0; ; n++ {
		reply, err := receive(ctx, d.engine.agent.model, q, stream)
		failed, ok := errors.AsType[*model.Error](err)
		switch {
		case d.engine.ctx.Err() != nil:
			return nil, d.engine.ended()
		case err == nil:
			return reply, nil
		case n >= d.engine.agent.opts.Model.Retries || !ok || !passing(failed) || stream.shown():
			return nil, fmt.Errorf("call model: %w", err)
		}
		if failed.Kind == model.ErrorTimeout {
			if refused := d.again(); refused != nil {
				return nil, fmt.Errorf("call model: %w; it is not made again: %w", err, refused)
			}
		}
		d.rec.show(&Warning{Text: fmt.Sprintf("the model call failed and is made again: %v", err)})
		if err := backoff.Sleep(d.engine.ctx, max(retryPolicy.Delay(n), failed.RetryAfter)); err != nil {
			return nil, d.engine.ended()
		}
	}
}

// receive asks the model once, and shows its reply as it arrives.
func receive(ctx context.Context, m model.Model, q *model.Request, stream *streamed) (reply *model.Response, err error) {
	err = guarded("model", func() error {
		for delta, err := range m.Generate(ctx, q) {
			if err == nil {
				err = stream.take(delta)
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
		err = fmt.Errorf("%w: it ended without a reply", ErrNoAnswer)
	}
	return reply, err
}

// passing reports whether repeating a model call may help, and the model has not done so
// itself.
func passing(e *model.Error) bool {
	if e.Repeated || e.RetryAfter > maxWait {
		return false
	}
	switch e.Kind {
	case model.ErrorRateLimit, model.ErrorTimeout, model.ErrorUnavailable:
		return true
	}
	return false
}

// infer makes a model call within the observer, which gets the reply as the hooks leave it.
func (d *dialog) infer(c *ModelCall, stream *streamed, work func(context.Context) (*reply, error)) (r *reply, err error) {
	o := d.engine.agent.opts.Observe
	if o == nil {
		return work(d.engine.ctx)
	}
	v := &Inference{
		Turn: d.rec.state.Turn, Model: d.engine.agent.info.Name, Provider: cmp.Or(d.engine.agent.info.Provider, "unknown"), Request: c.Request,
	}
	began := time.Now()
	ctx, done := o.Infer(d.engine.ctx, v)
	err = ending(func() (err error) {
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
		if !stream.began.IsZero() {
			v.FirstChunk = stream.began.Sub(began)
		}
		done(err)
	})
	return r, err
}
