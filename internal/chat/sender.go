package chat

import (
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

// Why the context of an attempt ended.
var (
	errTimeout = errors.New("no complete answer in time")
	errIdle    = errors.New("stream fell silent")
)

// sender sends requests within the bounds of its [Options], and repeats them after temporary failures.
type sender struct {
	http        openai.HTTPDoer
	retries     int
	backoff     backoff.Policy
	retrying    func(error, time.Duration)
	timeout     time.Duration
	idleTimeout time.Duration
	maxReply    int64
}

func newSender(next openai.HTTPDoer, o *Options) sender {
	return sender{
		http:        withinOrigin(next),
		retries:     max(0, cmp.Or(o.Retries, 2)),
		backoff:     backoff.Policy{Max: maxRetryWait},
		retrying:    o.Retrying,
		timeout:     cmp.Or(max(0, o.Timeout), 10*time.Minute),
		idleTimeout: cmp.Or(max(0, o.IdleTimeout), 2*time.Minute),
		maxReply:    maxReply,
	}
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

// retrier counts the attempts of one request.
type retrier struct {
	*sender
	api         string        // the API's name, for errors
	failures    int           // failed attempts
	loadingWait time.Duration // sum of the waits for a host that loads the model
}

// wait waits before another attempt. It returns an error if there must not be one: the failure, or
// the error of the context. A host that is loading the model is asked beyond the number of retries,
// while the sum of the waits is at most maxLoading.
func (r *retrier) wait(ctx context.Context, failure *Error) error {
	if r.retries == 0 || !failure.Retryable() || failure.RetryAfter > r.backoff.Max {
		return failure
	}
	wait := backoff.Spread(failure.RetryAfter)
	if wait == 0 {
		wait = r.backoff.Delay(r.failures)
	}
	if failure.isLoading() {
		r.loadingWait += wait
	}
	if r.failures >= r.retries && (!failure.isLoading() || r.loadingWait > maxLoading) {
		return failure
	}
	r.failures++
	if r.retrying != nil {
		r.retrying(failure, wait)
	}
	if err := backoff.Sleep(ctx, wait); err != nil {
		return fmt.Errorf("%s: %w while waiting to repeat it after: %v", r.api, err, failure)
	}
	return nil
}
