package adapter

import (
	"cmp"
	"context"
	"net/http"
)

// ContextHeaders returns a round tripper that sets headers of requests from values of their
// contexts, so that many users can share the connections of one toolset. See also [Options.User].
//
//	&mcpclient.HTTP{URL: url, Client: &http.Client{Transport: adapter.ContextHeaders(nil, func(ctx context.Context) http.Header {
//		return http.Header{"Authorization": {"Bearer " + tokenFrom(ctx)}}
//	})}}
//
// base sends the requests, nil for [http.DefaultTransport]. headers returns what to set; it may be
// called concurrently. A request of a call has the values of the context that the call was made
// with, as an [Interceptor] left them. Requests that belong to no call, such as a server's
// standalone stream, have the values of the context that opened the connection.
func ContextHeaders(base http.RoundTripper, headers func(context.Context) http.Header) http.RoundTripper {
	base = cmp.Or(base, http.DefaultTransport)
	return &contextHeaders{base, headers}
}

type contextHeaders struct {
	base    http.RoundTripper
	headers func(context.Context) http.Header
}

func (c *contextHeaders) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	for name, values := range c.headers(req.Context()) {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	return c.base.RoundTrip(req)
}
