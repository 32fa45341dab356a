package oauth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv/memhttp"
)

const serverURL, issuerOne, issuerTwo = "https://mcp.test/mcp", "https://as.test", "https://as2.test"

// world is a protected server with authorization servers, in memory. Fields are set before the first request, or with mu held.
type world struct {
	t    *testing.T
	http *memhttp.Server

	mu        sync.Mutex
	pages     map[string]http.HandlerFunc // by URL without scheme; they come first
	issuers   []string                    // authorization servers of the server
	resource  string
	challenge string   // parameters of the challenge, without the scheme
	scheme    string   // of the challenge
	supported []string // scopes in the resource's metadata
	need      []string // scopes that /mcp demands
	meta      map[string]any
	life      time.Duration
	noRefresh bool
	tokens    map[string]*issued // by access token
	codes     map[string]url.Values
	refreshes map[string]*issued
	clients   map[string]url.Values

	paths []string     // of all requests except to /mcp: "GET https://…"
	forms []url.Values // of all token requests
	heads []http.Header
	seen  []*http.Request // at /mcp
	asked []string        // authorization URLs
}

// issued is a token of an authorization server.
type issued struct {
	issuer, resource string
	scopes           []string
	until            time.Time
}

func newWorld(t *testing.T) *world {
	w := &world{
		t: t, issuers: []string{issuerOne}, resource: serverURL, scheme: "Bearer",
		pages: map[string]http.HandlerFunc{}, meta: map[string]any{}, tokens: map[string]*issued{},
		codes: map[string]url.Values{}, refreshes: map[string]*issued{}, clients: map[string]url.Values{},
	}
	w.http = memhttp.New(w)
	t.Cleanup(w.http.Close)
	return w
}

// options are for a person who signs in at once. Transports with the same options share a store.
func (w *world) options() *Options {
	return &Options{
		Grant: &AuthorizationCode{Receiver: &person{w: w}}, Store: NewMemoryStore(),
		Transport: w.http.Transport(), AuthTransport: w.http.Transport(),
	}
}

func (w *world) transport(opts *Options) *Transport {
	w.t.Helper()
	t := check.Value(New(serverURL, opts))(w.t)
	w.t.Cleanup(func() { _ = t.Close() })
	return t
}

// granted is options with another grant.
func (w *world) granted(grant Grant) *Options {
	opts := w.options()
	opts.Grant = grant
	return opts
}

// transportAfter is the transport of a person who does something before the sign-in.
func (w *world) transportAfter(before func(ctx context.Context) error) *Transport {
	return w.transport(w.granted(&AuthorizationCode{Receiver: &person{w: w, before: before}}))
}

// call makes one request like the MCP transport.
func call(ctx context.Context, t *Transport) error { return callAs(ctx, t, http.MethodPost, serverURL) }

func callAs(ctx context.Context, t *Transport, method, target string) error {
	const body = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	req, err := http.NewRequestWithContext(ctx, method, target, strings.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := t.Client().Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK || string(got) != body {
		return fmt.Errorf("HTTP status %d: %s", resp.StatusCode, got)
	}
	return nil
}

func (w *world) mustCall(t *Transport) {
	w.t.Helper()
	check.Must(w.t, call(w.t.Context(), t))
}

func (w *world) ServeHTTP(rw http.ResponseWriter, req *http.Request) {
	w.mu.Lock()
	if req.URL.Path != "/mcp" {
		w.paths = append(w.paths, req.Method+" https://"+req.Host+req.URL.Path)
	}
	page := w.pages[req.Host+req.URL.Path]
	w.mu.Unlock()
	switch {
	case page != nil:
		page(rw, req)
	case req.Host == "mcp.test" && req.URL.Path == "/mcp":
		w.protected(rw, req)
	case req.Host == "mcp.test" && req.URL.Path == "/.well-known/oauth-protected-resource/mcp":
		w.mu.Lock()
		defer w.mu.Unlock()
		reply(rw, http.StatusOK, map[string]any{"resource": w.resource, "authorization_servers": w.issuers, "scopes_supported": w.supported})
	case strings.HasPrefix(req.Host, "as"):
		w.authorization(rw, req)
	default:
		http.NotFound(rw, req)
	}
}

func reply(rw http.ResponseWriter, status int, v any) {
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	_ = json.NewEncoder(rw).Encode(v)
}

// protected is the MCP server: it echoes the body.
func (w *world) protected(rw http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, req)
	_, token, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	got := w.tokens[token]
	switch {
	case got == nil || !time.Now().Before(got.until) || got.resource != w.resource || !slices.Contains(w.issuers, got.issuer):
		rw.Header().Set("WWW-Authenticate", strings.TrimSpace(w.scheme+" "+w.challenge))
		reply(rw, http.StatusUnauthorized, map[string]string{"error": "invalid_token"})
	case !covers(got.scopes, w.need):
		rw.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer error="insufficient_scope", scope="%s"`, strings.Join(w.need, " ")))
		reply(rw, http.StatusForbidden, map[string]string{"error": "insufficient_scope"})
	default:
		_, _ = rw.Write(body)
	}
}

func (w *world) authorization(rw http.ResponseWriter, req *http.Request) {
	issuer := "https://" + req.Host
	_ = req.ParseForm()
	w.mu.Lock()
	defer w.mu.Unlock()
	switch req.URL.Path {
	case "/.well-known/oauth-authorization-server":
		m := map[string]any{
			"issuer": issuer, "authorization_endpoint": issuer + "/authorize", "token_endpoint": issuer + "/token",
			"registration_endpoint": issuer + "/register", "code_challenge_methods_supported": []string{"S256"},
			"token_endpoint_auth_methods_supported":          []string{"none", "client_secret_basic", "client_secret_post", "private_key_jwt"},
			"authorization_response_iss_parameter_supported": true,
		}
		maps.Copy(m, w.meta)
		maps.DeleteFunc(m, func(_ string, v any) bool { return v == nil })
		reply(rw, http.StatusOK, m)
	case "/register":
		var m map[string]any
		_ = json.NewDecoder(req.Body).Decode(&m)
		id := fmt.Sprintf("client-%d-of-%s", len(w.clients)+1, req.Host)
		text, _ := json.Marshal(m)
		w.clients[id] = url.Values{"metadata": {string(text)}}
		reply(rw, http.StatusCreated, map[string]any{"client_id": id, "token_endpoint_auth_method": m["token_endpoint_auth_method"]})
	case "/authorize":
		q := req.URL.Query()
		code := fmt.Sprintf("code-%d", len(w.codes)+1)
		q.Set("issuer", issuer)
		w.codes[code] = q
		answer := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {issuer}}
		http.Redirect(rw, req, q.Get("redirect_uri")+"?"+answer.Encode(), http.StatusFound)
	case "/token":
		w.forms, w.heads = append(w.forms, req.PostForm), append(w.heads, req.Header)
		w.tokenLocked(rw, req, issuer)
	default:
		http.NotFound(rw, req)
	}
}

func (w *world) tokenLocked(rw http.ResponseWriter, req *http.Request, issuer string) {
	form := req.PostForm
	refuse := func(code string) {
		reply(rw, http.StatusBadRequest, map[string]string{"error": code, "error_description": "no " + form.Encode()})
	}
	tok := &issued{issuer: issuer, resource: form.Get("resource"), scopes: strings.Fields(form.Get("scope"))}
	switch form.Get("grant_type") {
	case "authorization_code":
		q := w.codes[form.Get("code")]
		delete(w.codes, form.Get("code"))
		sum := sha256.Sum256([]byte(form.Get("code_verifier")))
		if q == nil || q.Get("issuer") != issuer || q.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) ||
			q.Get("redirect_uri") != form.Get("redirect_uri") || q.Get("resource") != form.Get("resource") {
			refuse("invalid_grant")
			return
		}
		tok.scopes = strings.Fields(q.Get("scope"))
	case "refresh_token":
		old := w.refreshes[form.Get("refresh_token")]
		delete(w.refreshes, form.Get("refresh_token")) // can be used once
		if old == nil || old.issuer != issuer || old.resource != tok.resource {
			refuse("invalid_grant")
			return
		}
		tok.scopes = old.scopes
	case "client_credentials", grantJWTBearer:
	default:
		refuse("unsupported_grant_type")
		return
	}
	w.issueLocked(rw, tok, "Bearer")
}

func (w *world) issueLocked(rw http.ResponseWriter, tok *issued, kind string) {
	life := w.life
	if life == 0 {
		life = time.Hour
	}
	n := len(w.tokens) + 1
	tok.until = time.Now().Add(life)
	access := fmt.Sprintf("access-secret-%d", n)
	w.tokens[access] = tok
	answer := map[string]any{"access_token": access, "token_type": kind, "expires_in": int(life.Seconds()), "scope": strings.Join(tok.scopes, " ")}
	if !w.noRefresh {
		answer["refresh_token"] = fmt.Sprintf("refresh-secret-%d", n)
		w.refreshes[fmt.Sprintf("refresh-secret-%d", n)] = tok
	}
	reply(rw, http.StatusOK, answer)
}

func (w *world) revoke() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, tok := range w.tokens {
		tok.until = time.Time{}
	}
}

// grants lists the grant types of the token requests so far.
func (w *world) grants() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for _, f := range w.forms {
		out = append(out, f.Get("grant_type"))
	}
	return out
}

func (w *world) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// redirectURI is where a [person] receives answers by default.
const redirectURI = "http://127.0.0.1:7777/callback"

// person is a receiver with a person who signs in at once.
type person struct {
	w      *world
	uri    string                                                      // default redirectURI
	before func(ctx context.Context) error                             // the person's delay
	answer func(authorizationURL string, answer url.Values) url.Values // an attacker's change of the answer
}

func (p *person) Receive(ctx context.Context, _ string, authorize func(string) (string, error)) (url.Values, error) {
	authorizationURL, err := authorize(cmp.Or(p.uri, redirectURI))
	if err != nil {
		return nil, err
	}
	p.w.set(func() { p.w.asked = append(p.w.asked, authorizationURL) })
	if p.before != nil {
		if err := p.before(ctx); err != nil {
			return nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, authorizationURL, nil)
	if err != nil {
		return nil, err
	}
	resp, err := p.w.http.Transport().RoundTrip(req)
	if err != nil {
		return nil, err
	}
	_ = resp.Body.Close()
	u, err := resp.Location()
	if err != nil {
		return nil, err
	}
	answer := u.Query()
	if p.answer != nil {
		answer = p.answer(authorizationURL, answer)
	}
	return answer, nil
}

// query is the parameter of an authorization URL.
func query(t *testing.T, raw, name string) string {
	t.Helper()
	return check.Value(url.Parse(raw))(t).Query().Get(name)
}

func wantUntrusted(t *testing.T, err error, part string) {
	t.Helper()
	check.That(t, errors.Is(err, ErrUntrusted) && strings.Contains(err.Error(), part), "got %v, want ErrUntrusted with %q", err, part)
}

// silence is a page that never answers.
func silence(_ http.ResponseWriter, req *http.Request) {
	_, _ = io.Copy(io.Discard, req.Body) // to notice the end of the request
	<-req.Context().Done()
}

// onLoopback serves the world at one real address: server and authorization server share it.
func (w *world) onLoopback() http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		base := "http://" + req.Host
		w.set(func() {
			w.resource, w.issuers = base+"/mcp", []string{base}
			w.meta["issuer"], w.meta["token_endpoint"], w.meta["authorization_endpoint"] = base, base+"/token", base+"/authorize"
			w.meta["registration_endpoint"] = nil
		})
		switch {
		case req.URL.Path == "/mcp" || strings.Contains(req.URL.Path, "protected-resource"):
			req.Host = "mcp.test"
			w.ServeHTTP(rw, req)
		case req.URL.Path == "/token":
			_ = req.ParseForm()
			w.set(func() {
				w.forms = append(w.forms, req.PostForm)
				w.tokenLocked(rw, req, base)
			})
		default:
			w.authorization(rw, req)
		}
	})
}
