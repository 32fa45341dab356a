package chat

import (
	"context"
	"errors"
	"net/http"

	"github.com/sashabaranov/go-openai"
)

// Wire sends requests of another API than OpenAI's, with the bounds, the retries and the errors of this
// package. It may be used concurrently.
type Wire struct {
	sender
	api string // its name in errors
}

// NewWire returns a wire. It does no I/O. It ignores Options.Host, API and Extra.
func NewWire(api string, next openai.HTTPDoer, o *Options) *Wire {
	return &Wire{sender: newSender(next, o), api: api}
}

// Answer reads the answer to one attempt. The data is valid until the method returns. An error ends the attempt:
// a [*Reported] is the host's failure, a [*Stopped] the caller's error, and any other says why the data is malformed.
type Answer interface {
	Whole(body []byte) error                               // an answer in one piece
	Event(kind string, data []byte) (done bool, err error) // an event of a stream
	Complete() bool                                        // the stream may end here, though it is not done
}

// Reported is a failure that the host reports inside an answer.
type Reported struct{ Body []byte }

func (*Reported) Error() string { return "a failure of the host" }

// Post sends a JSON body and passes the response to an answer, a new one for each attempt. It repeats failed attempts
// as [Client.Complete] does, but never one whose stream has begun. A failure of the host is an [*Error].
func (w *Wire) Post(ctx context.Context, url string, header http.Header, body []byte, answer func() Answer) error {
	again := retrier{sender: &w.sender, api: w.api}
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

// attempt asks once. begun says that the host has begun to stream an answer that failed.
func (w *Wire) attempt(ctx context.Context, url string, header http.Header, body []byte, answer Answer) (begun bool, err error) {
	x := w.begin(ctx, w.api)
	defer x.close()
	x.requestJSON = body
	if err := x.post(url, header, answer); err != nil {
		return x.stream != nil, x.explain(err)
	}
	return false, nil
}

// post sends the request and passes the response to the answer.
func (x *exchange) post(url string, header http.Header, answer Answer) error {
	request, err := http.NewRequestWithContext(x.ctx, http.MethodPost, url, nil)
	if err != nil {
		return err
	}
	request.Header = header.Clone()
	request.Header.Set("Content-Type", "application/json")
	if _, err := x.Do(request); err != nil {
		return err
	}
	if x.stream == nil {
		return x.answerError(answer.Whole(x.body))
	}
	events := x.events(x.newWatchedReader())
	for !x.replyComplete {
		event, err := x.next(events)
		if err != nil && answer.Complete() && x.mayEnd() {
			return nil
		}
		if err != nil {
			return err
		}
		if x.replyComplete, err = answer.Event(event.Type, event.Data); err != nil {
			return x.answerError(err)
		}
	}
	return nil
}

// answerError returns the error of the exchange for the error of an [Answer].
func (x *exchange) answerError(err error) error {
	if err == nil {
		return nil
	}
	if reported, ok := errors.AsType[*Reported](err); ok {
		return x.bodyError(reported.Body)
	}
	if _, ok := errors.AsType[*Stopped](err); ok {
		return err
	}
	return x.newError(CodeMalformed, err.Error())
}
