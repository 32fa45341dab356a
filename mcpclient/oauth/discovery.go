package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/reach"
	"github.com/mcpchain/mcpchain/mcpclient/internal/redirect"
)

// Discover asks a server for its authorization servers; any of them may be used. A host shows them
// before it asks for credentials registered with one of them. Discover uses only the options for
// requests (Transport, AuthTransport, AllowPrivate, Logger), so opts and Grant may be nil. The error
// matches [ErrNoAuthorization] if the server names none, and [ErrUntrusted] if a check fails.
func Discover(ctx context.Context, serverURL string, opts *Options) (issuers []string, err error) {
	if opts != nil {
		opts = &Options{Transport: opts.Transport, AuthTransport: opts.AuthTransport, AllowPrivate: opts.AllowPrivate, Logger: opts.Logger}
	}
	t, err := newTransport(serverURL, opts)
	if err != nil {
		return nil, err
	}
	defer func() { _ = t.Close() }()
	_, d, err := t.probe(ctx)
	if err != nil {
		return nil, err
	}
	prm, err := t.resourceMetadata(ctx, d)
	if err != nil {
		return nil, err
	}
	return prm.Servers, nil
}

// site is the source and the target of a token.
type site struct {
	resource string // sent exactly as the server wrote it
	scopes   []string
	meta     *issuerMetadata
}

func (s *site) issuer() string { return s.meta.Issuer }

// resourceMetadata is the protected resource metadata (RFC 9728).
type resourceMetadata struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported"`
}

const maxServers = 16

// discover finds the current authorization server, as that may change at any time. A server without
// metadata is one of revision 2025-03-26.
func (t *Transport) discover(ctx context.Context, d *demand, used *session) (*site, error) {
	prm, err := t.resourceMetadata(ctx, d)
	switch {
	case errors.Is(err, ErrNoAuthorization):
		return t.legacySite(ctx, err)
	case err != nil:
		return nil, err
	}
	var current string
	if used != nil {
		current = used.site.issuer()
	}
	issuer, err := t.flow.choose(prm.Servers, current)
	if err != nil {
		return nil, err
	}
	meta, err := t.fetch.fetchMetadata(ctx, issuer)
	if err != nil {
		return nil, err
	}
	return &site{resource: prm.Resource, scopes: cleanScopes(prm.Scopes), meta: meta}, nil
}

// resourceMetadata fetches the protected resource metadata: from the challenge's URL, else from the
// well-known URL of the server's path, else of its root.
func (t *Transport) resourceMetadata(ctx context.Context, d *demand) (*resourceMetadata, error) {
	urls := []string{d.metadata}
	if d.metadata == "" {
		const wellKnown = "/.well-known/oauth-protected-resource"
		urls = []string{atOrigin(t.server, wellKnown)}
		if path := strings.TrimRight(t.server.EscapedPath(), "/"); path != "" {
			urls = []string{atOrigin(t.server, wellKnown+path), atOrigin(t.server, wellKnown)}
		}
	}
	var misses error
	for _, raw := range urls {
		prm, err := t.resourceMetadataAt(ctx, raw)
		if err == nil {
			return prm, nil
		}
		if !isAbsent(err) {
			return nil, err
		}
		misses = join(misses, err)
	}
	if d.metadata != "" { // a server of 2025-03-26 would not name any
		return nil, fmt.Errorf("protected resource metadata that the server names: %w", misses)
	}
	return nil, fmt.Errorf("%w: no protected resource metadata: %w", ErrNoAuthorization, misses)
}

// resourceMetadataAt fetches the metadata at one URL, which must be about this server and name
// an authorization server. It keeps the first maxServers of them.
func (t *Transport) resourceMetadataAt(ctx context.Context, raw string) (*resourceMetadata, error) {
	prm := new(resourceMetadata)
	if err := t.fetch.getJSON(ctx, "protected resource metadata", raw, nil, prm); err != nil {
		return nil, err
	}
	if !t.isResource(prm.Resource) {
		return nil, untrustedError("the metadata at %s describes the resource %q instead of the server %s",
			safeURL(raw), safeURL(prm.Resource), t.name)
	}
	prm.Servers = slices.DeleteFunc(prm.Servers, func(s string) bool { return s == "" })
	if len(prm.Servers) == 0 {
		return nil, untrustedError("the metadata at %s names no authorization server", safeURL(raw))
	}
	prm.Servers = prm.Servers[:min(len(prm.Servers), maxServers)]
	return prm, nil
}

// isResource reports whether a name is the server's: its URL, or a parent path of its URL at the same origin.
func (t *Transport) isResource(name string) bool {
	u, err := url.Parse(name)
	switch {
	case err != nil, u.Host == "", reach.Origin(u) != reach.Origin(t.server):
		return false
	case u.User != nil, strings.Contains(name, "#"): // even an empty fragment
		return false
	case u.RawQuery != "" && u.RawQuery != t.server.RawQuery:
		return false
	}
	path, ours := strings.TrimRight(u.EscapedPath(), "/"), strings.TrimRight(t.server.EscapedPath(), "/")
	return path == ours || strings.HasPrefix(ours, path+"/")
}

// legacySite is the authorization of revision 2025-03-26: the server's origin
// is its own authorization server, with metadata at its root, or else with
// endpoints at fixed paths. The Python SDK of that time writes the issuer with a slash.
func (t *Transport) legacySite(ctx context.Context, why error) (*site, error) {
	issuer := atOrigin(t.server, "")
	header := http.Header{"Mcp-Protocol-Version": {"2025-03-26"}}
	meta, err := t.fetch.metadataAt(ctx, issuer+"/.well-known/oauth-authorization-server", header, issuer, issuer+"/")
	switch {
	case isAbsent(err):
		meta = &issuerMetadata{
			Issuer: issuer, assumed: true,
			AuthorizationEndpoint: issuer + "/authorize", TokenEndpoint: issuer + "/token", RegistrationEndpoint: issuer + "/register",
			TokenEndpointAuthMethodsSupported: []string{methodNone, methodBasic, methodPost},
		}
	case err != nil:
		return nil, fmt.Errorf("%w; as in revision 2025-03-26: %w", why, err)
	}
	if err := meta.checkEndpoints(t.fetch.guard); err != nil {
		return nil, err
	}
	if _, err := t.flow.choose([]string{meta.Issuer}, ""); err != nil {
		return nil, err
	}
	return &site{resource: canonical(t.server), meta: meta}, nil
}

// canonical returns the server's URL in the form of a resource parameter.
func canonical(server *url.URL) string {
	u := *server
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	u.RawPath = strings.TrimRight(u.EscapedPath(), "/")
	u.Path, _ = url.PathUnescape(u.RawPath) // it comes from a URL
	return u.String()
}

// probe sends a request without a token, and returns the server's demand. needed is false unless the server answers
// 401. A server without streams may protect only POST: if it has no GET, probe sends a ping.
func (t *Transport) probe(ctx context.Context) (needed bool, d *demand, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	resp, err := t.sendProbe(ctx, http.MethodGet, "")
	if err == nil && (resp.StatusCode == http.StatusMethodNotAllowed || resp.StatusCode == http.StatusNotFound) {
		resp, err = t.sendProbe(ctx, http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	}
	if err != nil {
		return false, nil, err
	}
	d, ours := parseDemand(resp.Header, t.opts.DPoP != nil)
	if resp.StatusCode == http.StatusUnauthorized && !ours {
		return false, nil, fmt.Errorf("%s wants another kind of authentication than OAuth", t.name)
	}
	return resp.StatusCode == http.StatusUnauthorized, d, nil
}

// sendProbe sends one request without a token, and follows redirects as [Transport.Client] does. The
// body of the response is closed.
func (t *Transport) sendProbe(ctx context.Context, method, body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, t.server.String(), strings.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%s %s: invalid request", method, t.name)
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	client := &http.Client{Transport: t.base, CheckRedirect: redirect.SameOrigin}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, t.name, withoutURL(err))
	}
	_ = resp.Body.Close()
	return resp, nil
}
