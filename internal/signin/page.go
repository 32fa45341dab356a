package signin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient/oauth"
)

// askingKey is for the context that ends when the person is no longer asked.
type askingKey struct{}

// Asking allows the requests of a context to ask the person for a sign-in, until the context
// ends. A sign-in outlives its request for a while, and must not keep the keyboard.
func Asking(ctx context.Context) context.Context { return context.WithValue(ctx, askingKey{}, ctx) }

// Page signs in by a page that the person opens on this machine, or on another device. The answer
// comes to a port of this machine, or the person pastes it. Without [Asking] it refuses.
type Page struct {
	Advice string // what the person can do at another time
	Port   int    // port of this machine; 0 for any

	// Visit shows the page, and lets the person open it. It returns when the person has
	// pasted the address of the last page, or with an error if the person does not want to
	// sign in. Its context ends when the answer has come; then Visit has to return.
	Visit func(ctx context.Context, v *Visit) (pasted string, err error)
}

// Visit is a page to sign in at.
type Visit struct {
	URL     string         // URL to open
	Link    *hosttext.Link // link to show
	Mistake error          // mistake in the previous answer, nil for none
}

// Receive implements [oauth.Receiver].
func (p *Page) Receive(ctx context.Context, previous string, authorize func(string) (string, error)) (url.Values, error) {
	asking, ok := ctx.Value(askingKey{}).(context.Context)
	if !ok {
		return nil, &NeededError{p.Advice}
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &reception{page: p}
	defer r.end(cancel)
	defer context.AfterFunc(asking, cancel)()
	answer, err := oauth.Loopback(r.open, p.Port).Receive(ctx, previous, func(redirectURI string) (string, error) {
		r.redirectURI = redirectURI
		return authorize(redirectURI)
	})
	switch {
	case err != nil && asking.Err() != nil:
		err = context.Cause(asking)
	case err != nil && r.redirectURI == "":
		err = fmt.Errorf("wait for the answer of the sign-in: %w", err)
	}
	return answer, err
}

// reception waits for the answer of one sign-in, at the port or from the person.
type reception struct {
	page        *Page
	redirectURI string // set before the visit
	visit       sync.WaitGroup

	mu    sync.Mutex // guards ended; no visit begins after it is set
	ended bool
}

// end waits for the end of the visit, so that no question is left.
func (r *reception) end(cancel context.CancelFunc) {
	cancel()
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
	r.visit.Wait()
}

// begin counts a visit. It returns false after end.
func (r *reception) begin() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended {
		r.visit.Add(1)
	}
	return !r.ended
}

// open asks the person to visit a page, until the answer has come.
func (r *reception) open(ctx context.Context, address string) error {
	if !r.begin() {
		return ctx.Err()
	}
	defer r.visit.Done()
	link, err := hosttext.ParseLink(address)
	if err != nil {
		return err
	}
	for v := (&Visit{URL: address, Link: link}); ; {
		pasted, err := r.page.Visit(ctx, v)
		if err != nil {
			return err
		}
		v.Mistake = r.deliver(ctx, pasted)
		if v.Mistake == nil || ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

var errPasted = errors.New("that is not the address of the last page: copy it whole, also if the page did not load")

// deliver sends a pasted answer to the port, which checks it.
func (r *reception) deliver(ctx context.Context, pasted string) error {
	pasted = strings.TrimSpace(pasted)
	if !strings.HasPrefix(pasted, r.redirectURI+"?") {
		return errPasted
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, pasted, nil)
	if err != nil {
		return errPasted
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return fmt.Errorf("take the address: %w", err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
	if resp.StatusCode != http.StatusOK {
		return errPasted
	}
	return nil
}
