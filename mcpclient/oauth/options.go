package oauth

import (
	"cmp"
	"context"
	"crypto"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/internal/reach"
)

// Options configure a [Transport], which copies them.
type Options struct {
	// Grant gets the token. Required.
	Grant Grant

	// Store keeps tokens and registrations. Default: memory.
	Store Store

	// Account separates the tokens of several people, or accounts, in one store. Default "": all
	// transports with the same store share the tokens of a server.
	Account string

	// Scopes are requested if the server's challenge names none, and by SignIn in addition to those of
	// the challenge. Default: all scopes in the server's metadata if the challenge names none.
	Scopes []string

	// DPoP is a key that tokens are bound to, so that a stolen token is useless (RFC 9449): every request has a proof
	// signed by the key. It is an *ecdsa.PrivateKey, *rsa.PrivateKey or ed25519.PrivateKey. Stored tokens work only
	// with the same key. Default: plain bearer tokens.
	DPoP crypto.Signer

	// RequireDPoP refuses tokens that are not bound to DPoP. Default: they are used as bearer tokens, because some
	// servers do not support DPoP.
	RequireDPoP bool

	// Transport makes the requests to the MCP server. Default: a copy of
	// http.DefaultTransport, with enough idle connections for many calls.
	Transport http.RoundTripper

	// AuthTransport makes the requests to URLs from servers, and to Enterprise.TokenEndpoint.
	// Default: transports without a proxy; the one for URLs from servers connects only to public
	// addresses. A transport of your own must refuse private addresses itself.
	AuthTransport http.RoundTripper

	// AllowPrivate lists private networks that such URLs may lead to, for example the company's.
	AllowPrivate []netip.Prefix

	// Logger gets each step at Debug, and tolerated mistakes of servers at Warn, without secrets. Default: discarded.
	Logger *slog.Logger
}

const (
	requestTimeout = 30 * time.Second // bounds one request to an authorization server
	signInTimeout  = 5 * time.Minute  // bounds the wait for a person
	maxStepUps     = 3                // bounds how often one request asks for more scopes
)

func (o *Options) withDefaults() *Options {
	out := *cmp.Or(o, new(Options))
	out.Scopes = cleanScopes(out.Scopes)
	out.AllowPrivate = slices.Clone(out.AllowPrivate)
	out.Store = cmp.Or(out.Store, NewMemoryStore())
	out.Logger = cmp.Or(out.Logger, slog.New(slog.DiscardHandler))
	return &out
}

// Grant is a way to get a token: [*AuthorizationCode], [ClientCredentials], [*Enterprise] or [*Workload]. Several
// Transports may share one, and then call its functions concurrently; one Transport calls them one at a time, except
// those of [Loopback] and [Paste], which may outlive their sign-in. A panic of one is an error, and logged.
type Grant interface {
	flow() (flow, error)
}

// flow gets tokens by one grant. Its methods may be called concurrently.
type flow interface {
	// interactive reports whether a person is needed.
	interactive() bool

	// choose picks one of a server's authorization servers; current is the one in use, or empty.
	choose(issuers []string, current string) (string, error)

	// configuredClient returns the identity at a site that the configuration names, nil if it names
	// none. Of the metadata, the site may have only the issuer.
	configuredClient(s *site) *Credentials

	// acquire gets a token without an older one.
	acquire(ctx context.Context, t *Transport, s *site, scopes []string) (*token, error)
}

// New returns a transport for the server at serverURL: https, or http on this machine. It makes no request. It returns
// an error for any other URL, for nil opts, and for options that cannot work, such as a Grant without what it requires.
func New(serverURL string, opts *Options) (*Transport, error) {
	if opts == nil || opts.Grant == nil {
		return nil, errors.New("Options.Grant is nil: set how to get a token")
	}
	if err := checkScopes(opts.Scopes); err != nil {
		return nil, err
	}
	f, err := opts.Grant.flow()
	if err != nil {
		return nil, err
	}
	t, err := newTransport(serverURL, opts)
	if err != nil {
		return nil, err
	}
	t.flow = f
	return t, nil
}

// newTransport returns a transport that has no flow yet.
func newTransport(serverURL string, opts *Options) (*Transport, error) {
	u, err := url.Parse(serverURL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, fmt.Errorf("server URL %q: want http://host/path or https://host/path", safeURL(serverURL))
	}
	if !isConfidential(u) {
		return nil, fmt.Errorf("server URL %s: a token must not travel unencrypted: want https", safeURL(serverURL))
	}
	u.Host = strings.ToLower(u.Host) // as issuers are written, which are compared exactly
	t := &Transport{server: u, name: safeURL(serverURL), opts: opts.withDefaults()}
	t.sessions.server, t.log = t.name, t.opts.Logger
	if t.opts.RequireDPoP && t.opts.DPoP == nil {
		return nil, errors.New("Options.RequireDPoP needs the key Options.DPoP")
	}
	if t.opts.DPoP != nil {
		if t.dpop, err = newDPoP(t.opts.DPoP); err != nil {
			return nil, err
		}
	}
	t.base = t.opts.Transport
	if t.base == nil {
		t.base = newBaseTransport()
	}
	everywhere := []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
	t.fetch = t.newFetcher(&guard{loopback: reach.ThisMachine(u.Hostname()), allow: t.opts.AllowPrivate})
	t.registrar = registrar{
		store: t.opts.Store, account: t.opts.Account, boundTokens: t.opts.RequireDPoP,
		fetch: t.fetch, log: t.log, requestToken: t.requestToken,
	}
	t.configured = t.newFetcher(&guard{loopback: true, allow: everywhere})
	t.loading = make(chan struct{}, 1)
	t.ctx, t.cancel = context.WithCancel(context.Background())
	return t, nil
}

// newFetcher returns a fetcher over Options.AuthTransport, by default with checked connections.
func (t *Transport) newFetcher(g *guard) *fetcher {
	f := &fetcher{base: t.opts.AuthTransport, guard: g}
	if f.base == nil {
		f.base = g.transport()
	}
	return f
}

// newBaseTransport returns the default transport for requests to the MCP server.
func newBaseTransport() http.RoundTripper {
	base, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	own := base.Clone()
	own.MaxIdleConns, own.MaxIdleConnsPerHost = 0, 1024
	return own
}
