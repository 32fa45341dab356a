package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/internal/backoff"
)

// retryPolicy is how long a failed model call waits before it is made again.
var retryPolicy = backoff.Policy{First: time.Second}

// generate calls the model, again if it fails for a passing reason and nothing of its
// reply was shown.
func (d *dialog) generate(ctx context.Context, messages []llms.MessageContent, options []llms.CallOption, stream *streamed) (response *llms.ContentResponse, err error) {
	for n := 0; ; n++ {
		err = guarded("model", func() (err error) {
			response, err = d.agent.model.GenerateContent(ctx, messages, options...)
			return err
		})
		switch {
		case d.ctx.Err() != nil:
			return nil, d.ended()
		case err == nil:
			return response, nil
		case n >= d.agent.opts.ModelRetries || !passing(err) || stream.shown():
			return nil, fmt.Errorf("call model: %w", err)
		}
		if llms.IsTimeoutError(err) {
			if refused := d.again(); refused != nil {
				return nil, fmt.Errorf("call model: %w; it is not made again: %w", err, refused)
			}
		}
		d.show(&Warning{Text: fmt.Sprintf("the model call failed and is made again: %v", err)})
		if err := backoff.Sleep(d.ctx, retryPolicy.Delay(n)); err != nil {
			return nil, d.ended()
		}
	}
}

// passing reports whether a model call may succeed if it is made again, and the model has not done so itself.
func passing(err error) bool {
	if own, ok := errors.AsType[interface {
		error
		Repeated() bool
	}](err); ok && own.Repeated() {
		return false
	}
	switch codeOf(err) {
	case llms.ErrCodeRateLimit, llms.ErrCodeTimeout, llms.ErrCodeProviderUnavailable:
		return true
	}
	return false
}

// shown reports whether something of the reply was shown.
func (s *streamed) shown() bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.thought > 0 || !s.began.IsZero()
}

// first is when the first piece of the reply came, zero if none has.
func (s *streamed) first() time.Time {
	if s == nil {
		return time.Time{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.began
}
