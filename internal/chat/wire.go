package chat

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/internal/backoff"
	"github.com/mcpchain/mcpchain/internal/reach"
)

const (
	maxReply     = 32 << 20         // bytes of an answer
	maxRetryWait = 30 * time.Second // between two attempts
	maxLoading   = 2 * time.Minute  // sum of the waits for a host that loads the model
	maxRedirects = 5
)

// Wire sends requests within the bounds of its [Options], and repeats them after temporary failures. It may be used
// concurrently.
type Wire struct {
	api         string // the API's name in errors
	http        openai.HTTPDoer
	retries     int
	retrying    func(error, time.Duration)
	timeout     time.Duration
	idleTimeout time.Duration
	maxReply    int64
}

// NewWire returns a wire. It does no I/O. It ignores Options.Host, API and Extra.
func NewWire(api string, next openai.HTTPDoer, o *Options) *Wire {
	return &Wire{
		api:         api,
		http:        withinOrigin(next),
		retries:     max(0, cmp.Or(o.Retries, 2)),
		retrying:    o.Retrying,
		timeout:     cmp.Or(max(0, o.Timeout), 10*time.Minute),
		idleTimeout: cmp.Or(max(0, o.IdleTimeout), 2*time.Minute),
		maxReply:    maxReply,
	}
}

// Answer reads the answer to one attempt. The data is valid until the method returns. An error ends the attempt:
// a [*Reported] is the host's failure, a [*Stopped] the caller's error, an [*Error] has a code, a message and a usage, and
// any other says why the data is malformed.
type Answer interface {
	Whole(body []byte) error                               // an answer in one piece
	Event(kind string, data []byte) (done bool, err error) // an event of a stream
	Complete() bool                                        // the stream may end here, though it is not done
	End() error                                            // the answer has ended
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
	request, err := newRequest(url, header, body)
	if err != nil {
		return err
	}
	return w.post(ctx, request, func(context.Context) Answer { return answer() }, nil)
}

// newRequest returns a request with a JSON body.
func newRequest(url string, header http.Header, body []byte) (*http.Request, error) {
	request, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header = header.Clone()
	request.Header.Set("Content-Type", "application/json")
	return request, nil
}

// post sends a request as Post does. After a failure, adapt may return another request, which is sent immediately.
func (w *Wire) post(ctx context.Context, request *http.Request, answer func(context.Context) Answer, adapt func(*Error) *http.Request) error {
	loading := time.Duration(0) // sum of the waits for a host that loads the model
	err := backoff.Loop(ctx, backoff.Policy{Max: maxRetryWait}, func() error {
		return w.attempt(ctx, request, answer)
	}, func(f *backoff.Failure) error {
		failure, ok := errors.AsType[*Error](f.Err)
		if !ok || failure.Begun {
			return f.Err
		}
		if adapt != nil {
			if next := adapt(failure); next != nil {
				request, f.Count, f.Wait = next, f.Count-1, -1
				return nil
			}
		}
		if w.retries == 0 || !failure.Retryable() || failure.RetryAfter > maxRetryWait {
			return failure
		}
		if f.Wait = backoff.Spread(failure.RetryAfter); f.Wait == 0 {
			f.Wait = backoff.Policy{Max: maxRetryWait}.Delay(f.Count)
		}
		isLoading := failure.isLoading()
		if isLoading {
			loading += f.Wait
		}
		if f.Count >= w.retries && (!isLoading || loading > maxLoading) {
			return failure
		}
		if w.retrying != nil {
			w.retrying(failure, f.Wait)
		}
		return nil
	})
	if early, ok := err.(*backoff.Interrupted); ok { // Loop does not wrap it
		return fmt.Errorf("%s: %w while waiting to repeat it after: %v", w.api, early.Err, early.Last)
	}
	return err
}

// withinOrigin returns a client that follows redirects only within the origin, unless next has its own CheckRedirect.
func withinOrigin(next openai.HTTPDoer) openai.HTTPDoer {
	if next == nil {
		next = http.DefaultClient
	}
	client, ok := next.(*http.Client)
	if !ok || client.CheckRedirect != nil {
		return next
	}
	own := *client
	own.CheckRedirect = sameOrigin
	return &own
}

// sameOrigin refuses redirects that would send the key or the conversation to another host, and those that would turn
// the request into a GET.
func sameOrigin(req *http.Request, via []*http.Request) error {
	from := via[0].URL
	switch {
	case reach.Origin(req.URL) != reach.Origin(from):
		return redirectError(fmt.Sprintf("to another origin refused: set the base URL to %s://%s if you trust it", req.URL.Scheme, req.URL.Host))
	case req.Method != via[0].Method:
		return redirectError(fmt.Sprintf("that would turn %s into %s refused: set the base URL to that of the API", via[0].Method, req.Method))
	case len(via) > maxRedirects:
		return redirectError(fmt.Sprintf("refused after %d others: set the base URL to that of the API", maxRedirects))
	}
	if credentials, ok := via[0].Header["Authorization"]; ok {
		req.Header["Authorization"] = credentials // net/http drops it if the host is written in another way
	}
	return nil
}

// redirectError is a refused redirect.
type redirectError string

func (e redirectError) Error() string { return "redirect " + string(e) }
