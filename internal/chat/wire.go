package chat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/internal/sse"
)

// Wire sends requests of another API than OpenAI's, with the bounds, the retries and the errors of this
// package. It may be used concurrently.
type Wire struct {
	api    string // its name in errors
	client Client
}

// NewWire returns a wire. It does no I/O. It ignores Options.Host, API and Extra.
func NewWire(api string, next openai.HTTPDoer, o *Options) *Wire {
	w := &Wire{api: api}
	w.client.setLimits(next, o)
	return w
}

// Answer takes the answer to one attempt. The data is valid until the method returns. An error ends the attempt:
// a [*Reported] is the host's failure, a [*Stopped] the caller's error, and any other says why the data is malformed.
type Answer interface {
	Whole(body []byte) error                               // an answer in one piece
	Event(kind string, data []byte) (done bool, err error) // an event of a stream
}

// Reported is a failure that the host reports inside an answer.
type Reported struct{ Body []byte }

func (*Reported) Error() string { return "a failure of the host" }

// Stopped is an error of the caller that ends the request.
type Stopped struct{ Err error }

func (s *Stopped) Error() string { return s.Err.Error() }

// Post sends a JSON body and passes the response to an answer, a new one for each attempt. It repeats failed attempts
// as [Client.Complete] does, but never one whose stream has begun. A failure of the host is an [*Error].
func (w *Wire) Post(ctx context.Context, url string, header http.Header, body []byte, answer func() Answer) error {
	again := retrier{client: &w.client}
	for {
		begun, err := w.attempt(ctx, url, header, body, answer())
		failure, ok := errors.AsType[*Error](err)
		if !ok {
			return err
		}
		failure.api, failure.Begun = w.api, begun
		if begun {
			return failure
		}
		if err := again.wait(ctx, failure); err != nil {
			return err
		}
	}
}

// attempt asks once. begun says that the host has begun to stream the answer.
func (w *Wire) attempt(ctx context.Context, url string, header http.Header, body []byte, answer Answer) (begun bool, err error) {
	bounded, stop := context.WithTimeoutCause(ctx, w.client.timeout, errTimeout)
	defer stop()
	bounded, cancel := context.WithCancelCause(bounded)
	defer cancel(nil)
	x := &exchange{next: w.client.http, amend: &amendment{}, maxReply: w.client.maxReply}
	if err := w.exchange(bounded, cancel, x, url, header, body, answer); err != nil {
		if own, ok := errors.AsType[*Stopped](err); ok {
			return x.stream != nil, own.Err
		}
		if ctxErr := ctx.Err(); ctxErr != nil {
			return x.stream != nil, fmt.Errorf("%s: %w", w.api, ctxErr)
		}
		return x.stream != nil, w.client.explain(ctx, context.Cause(bounded), x, err)
	}
	return false, nil
}

// exchange sends the body and passes the response to the answer.
func (w *Wire) exchange(ctx context.Context, cancel context.CancelCauseFunc, x *exchange, url string, header http.Header, body []byte, answer Answer) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header = header.Clone()
	request.Header.Set("Content-Type", "application/json")
	if _, err := x.Do(request); err != nil {
		return err
	}
	if x.stream == nil {
		return x.read(answer.Whole(x.body))
	}
	defer x.close()
	idle := time.AfterFunc(w.client.idleTimeout, func() { cancel(errIdle) })
	defer idle.Stop()
	watched := &watchedReader{x.stream, idle, w.client.idleTimeout}
	events := sse.NewReader(&boundedReader{r: watched, left: x.maxReply}, int(x.maxReply))
	for {
		event, err := events.Next()
		switch {
		case errors.Is(err, errTooLarge):
			return x.tooLarge()
		case err == io.EOF, errors.Is(err, io.ErrUnexpectedEOF):
			return x.wrong(CodeTruncated, "the stream ended before the model did")
		case err != nil:
			return x.broken(CodeTruncated, err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		done, err := answer.Event(event.Type, event.Data)
		if err != nil {
			return x.read(err)
		}
		if done {
			x.ended = true
			return nil
		}
	}
}

// read converts the error of an [Answer].
func (x *exchange) read(err error) error {
	if err == nil {
		return nil
	}
	if reported, ok := errors.AsType[*Reported](err); ok {
		return x.reported(http.StatusOK, reported.Body)
	}
	if _, ok := errors.AsType[*Stopped](err); ok {
		return err
	}
	return x.wrong(CodeMalformed, err.Error())
}
