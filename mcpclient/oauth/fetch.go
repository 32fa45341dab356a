package oauth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

const (
	maxDocument  = 256 << 10 // bytes of one document or answer of an authorization server
	maxRedirects = 3
)

// fetcher makes requests to URLs that its guard allows.
type fetcher struct {
	base  http.RoundTripper
	guard *guard
}

// answer is a response that has been read.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// getJSON fetches a JSON object. The error for any other answer is a [*documentError].
func (f *fetcher) getJSON(ctx context.Context, what, raw string, header http.Header, v any) error {
	a, err := f.get(ctx, what, raw, header)
	if err != nil {
		return err
	}
	if a.status != http.StatusOK {
		return &documentError{safeURL(raw), fmt.Sprintf("HTTP status %d", a.status), isFinal(a.status)}
	}
	if err := a.decode(v); err != nil {
		isPage := bytes.HasPrefix(bytes.TrimSpace(a.body), []byte("<"))
		return &documentError{safeURL(raw), err.Error(), isPage}
	}
	return nil
}

// documentError is the error of a URL that did not answer with a JSON object.
type documentError struct {
	url    string
	reason string
	absent bool // the document counts as not existing: some servers answer 401 or 403, or a page, at each path without one
}

func (e *documentError) Error() string { return fmt.Sprintf("GET %s: %s", e.url, e.reason) }

// isAbsent reports whether the error says that a document counts as not existing.
func isAbsent(err error) bool {
	e, ok := errors.AsType[*documentError](err)
	return ok && e.absent
}

// get fetches a document. It follows at most maxRedirects redirects to URLs that the guard allows.
func (f *fetcher) get(ctx context.Context, what, raw string, header http.Header) (*answer, error) {
	u, err := f.guard.checkURL(what, raw)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: f.base, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects {
			return fmt.Errorf("more than %d redirects", maxRedirects)
		}
		_, err := f.guard.checkURL("redirect of the "+what+" to", req.URL.String())
		return err
	}}
	return f.do(ctx, client, http.MethodGet, u, header, nil)
}

// post sends a body that may be secret. It follows no redirect: the error for one matches ErrUntrusted.
func (f *fetcher) post(ctx context.Context, what, raw string, header http.Header, body []byte) (*answer, error) {
	u, err := f.guard.checkURL(what, raw)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: f.base, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	a, err := f.do(ctx, client, http.MethodPost, u, header, body)
	if err == nil && a.status/100 == 3 {
		return nil, untrustedError("%s %s redirects a request that carries secrets", what, safeURL(raw))
	}
	return a, err
}

// do makes a request, within requestTimeout, and reads the whole response. Its errors show neither
// the query of the URL nor the body.
func (f *fetcher) do(ctx context.Context, client *http.Client, method string, u *url.URL, header http.Header, body []byte) (*answer, error) {
	limited, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	where := method + " " + safeURL(u.String())
	fail := func(err error) error {
		if limited.Err() != nil && ctx.Err() == nil {
			return fmt.Errorf("%s: no answer within %v", where, requestTimeout)
		}
		return fmt.Errorf("%s: %w", where, withoutURL(err))
	}
	req, err := http.NewRequestWithContext(limited, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%s: invalid request", where)
	}
	for k, v := range header {
		req.Header[k] = v
	}
	req.Header.Set("Accept", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return nil, fail(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	if err != nil {
		return nil, fail(err)
	}
	if len(text) > maxDocument {
		return nil, untrustedError("%s: the answer is over %d bytes", where, maxDocument)
	}
	return &answer{status: resp.StatusCode, header: resp.Header, body: text}, nil
}

// withoutURL returns the cause of an error of [http.Client], whose text has the whole URL.
func withoutURL(err error) error {
	if outer, ok := errors.AsType[*url.Error](err); ok {
		return outer.Err
	}
	return err
}

// decode reads an answer as a JSON object. The error quotes nothing of the answer, which may hold secrets.
func (a *answer) decode(v any) error {
	if !strings.HasPrefix(strings.TrimSpace(string(a.body[:min(len(a.body), 64)])), "{") || json.Unmarshal(a.body, v) != nil {
		return errors.New("answer is not a JSON object of the expected form")
	}
	return nil
}

// serverError returns the error for an answer with a failure status.
func (a *answer) serverError(doing, issuer string, secrets ...string) *ServerError {
	var body struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	_ = a.decode(&body)
	return &ServerError{
		doing: doing, Issuer: safeURL(issuer), status: a.status,
		Code: scrub(body.Error, secrets...), description: scrub(body.Description, secrets...),
	}
}
