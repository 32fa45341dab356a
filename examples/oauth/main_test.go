package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/mcpchain/mcpchain/examples/internal/peer"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/oauth"
)

// life is the life of an access token: the test waits for its end.
const life = 3 * time.Second

// notes is a protected server, of the official Go SDK, and its authorization
// server.
type notes struct {
	t        *testing.T
	url      string
	provider *peer.Provider

	mu      sync.Mutex
	tokens  []string // the different accepted tokens, in order
	signIns []string // the URLs for the person
}

func startNotes(t *testing.T) *notes {
	n := &notes{t: t}
	mux := http.NewServeMux()
	peerServer := httptest.NewServer(mux)
	t.Cleanup(peerServer.Close)
	n.url = peerServer.URL + "/mcp"
	n.provider = peer.StartProvider(t, n.url, life)

	server := sdk.NewServer(&sdk.Implementation{Name: "notes", Version: "1"}, nil)
	type input struct {
		Text string `json:"text,omitempty"`
	}
	for _, name := range []string{"list_notes", "add_note"} {
		sdk.AddTool(server, &sdk.Tool{Name: name, Description: "A\ntool.\x1b[2J"}, func(ctx context.Context, _ *sdk.CallToolRequest, in input) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "\x1b[2J" + name + " done " + in.Text}}}, nil, nil
		})
	}
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	const metadata = "/.well-known/oauth-protected-resource/mcp"
	mux.Handle(metadata, auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
		Resource: n.url, AuthorizationServers: []string{n.provider.Issuer}, ScopesSupported: []string{"notes:read", "notes:write"},
	}))
	guarded := func(scopes ...string) http.Handler {
		return auth.RequireBearerToken(n.verify, &auth.RequireBearerTokenOptions{ResourceMetadataURL: peerServer.URL + metadata, Scopes: scopes})(handler)
	}
	read, write := guarded("notes:read"), guarded("notes:read", "notes:write")
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if bytes.Contains(body, []byte(`"add_note"`)) {
			write.ServeHTTP(w, r)
			return
		}
		read.ServeHTTP(w, r)
	})
	return n
}

// verify checks a token with the keys of the authorization server.
func (n *notes) verify(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	var claims struct {
		jwt.RegisteredClaims
		Scope string `json:"scope"`
	}
	_, err := jwt.ParseWithClaims(token, &claims, n.key, jwt.WithIssuer(n.provider.Issuer), jwt.WithAudience(n.url), jwt.WithExpirationRequired())
	if err != nil {
		return nil, fmt.Errorf("%w: %v", auth.ErrInvalidToken, err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.Contains(n.tokens, token) {
		n.tokens = append(n.tokens, token)
	}
	return &auth.TokenInfo{Scopes: strings.Fields(claims.Scope), Expiration: claims.ExpiresAt.Time, UserID: claims.Subject}, nil
}

func (n *notes) key(token *jwt.Token) (any, error) {
	resp, err := http.Get(n.provider.Issuer + "/jwks")
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	var set struct {
		Keys []struct{ Kid, Kty, N, E string }
	}
	if err := json.NewDecoder(resp.Body).Decode(&set); err != nil {
		return nil, err
	}
	for _, k := range set.Keys {
		if k.Kty != "RSA" || k.Kid != token.Header["kid"] {
			continue
		}
		modulus, err1 := base64.RawURLEncoding.DecodeString(k.N)
		exponent, err2 := base64.RawURLEncoding.DecodeString(k.E)
		return &rsa.PublicKey{N: new(big.Int).SetBytes(modulus), E: int(new(big.Int).SetBytes(exponent).Int64())}, errors.Join(err1, err2)
	}
	return nil, errors.New("no such key")
}

// browse is the person.
func (n *notes) browse(ctx context.Context, url string) error {
	n.mu.Lock()
	n.signIns = append(n.signIns, url)
	n.mu.Unlock()
	return n.provider.Browse(ctx, url)
}

func (n *notes) counts() (tokens, signIns int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.tokens), len(n.signIns)
}

// run runs the program for a person who agrees to open the browser.
func (n *notes) run(args ...string) string {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), time.Minute)
	defer cancel()
	var out bytes.Buffer
	p := &program{in: bufio.NewReader(strings.NewReader("y\n")), out: &out, open: n.browse}
	if err := p.run(ctx, append(args, n.url)); err != nil {
		n.t.Fatalf("%v\n%s", err, &out)
	}
	return out.String()
}

// TestSignInRefreshRestartStepUp runs the whole flow with real peers.
func TestSignInRefreshRestartStepUp(t *testing.T) {
	t.Parallel()
	n := startNotes(t)
	dir := t.TempDir()
	before := 0
	step := func(what, output, want string, newTokens, signIns int) { // on a slow machine there may be more tokens
		t.Helper()
		tokens, gotSignIns := n.counts()
		if !strings.Contains(output, want) || tokens < before+newTokens || gotSignIns != signIns {
			t.Fatalf("%s: got %d new tokens, %d sign-ins, want %d, %d; output:\n%s", what, tokens-before, gotSignIns, newTokens, signIns, output)
		}
		before = tokens
	}
	step("sign in", n.run("-store", dir, "-call", "list_notes"), `\x1b[2Jlist_notes done`, 1, 1)
	if got := n.signIns[0]; !strings.Contains(got, "notes%3Aread") || strings.Contains(got, "notes%3Awrite") {
		t.Errorf("asked for %q, want read access only", got)
	}
	expire(t)
	step("restart and refresh", n.run("-store", dir), `add_note: A tool.\x1b[2J`, 1, 1)
	expire(t)
	step("step up", n.run("-store", dir, "-call", "add_note", "-args", `{"text":"buy milk"}`), "add_note done buy milk", 2, 2)
	if got := n.signIns[1]; !strings.Contains(got, "notes%3Aread") || !strings.Contains(got, "notes%3Awrite") {
		t.Errorf("asked for %q, want both scopes", got)
	}
	expire(t)
	step("refresh what was extended", n.run("-store", dir, "-call", "add_note"), "add_note done", 1, 2)
	n.run("-store", dir, "-sign-out")
	step("sign in again", n.run("-store", dir), "The server wants you to sign in at", 1, 3)
}

// expire waits for the end of all tokens.
func expire(t *testing.T) {
	t.Helper()
	select {
	case <-time.After(life + time.Second):
	case <-t.Context().Done():
	}
}

// TestExpiryInUse: a connected client does not notice the end of a token.
func TestExpiryInUse(t *testing.T) {
	t.Parallel()
	n := startNotes(t)
	transport, err := oauth.New(n.url, &oauth.Options{Grant: &oauth.AuthorizationCode{Receiver: &oauth.Loopback{Open: n.browse}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = transport.Close() }()
	client, err := mcpclient.Connect(t.Context(), &mcpclient.HTTP{URL: n.url, Client: transport.Client()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	for range 2 {
		var calls sync.WaitGroup
		for range 8 {
			calls.Go(func() {
				if res, err := client.CallTool(t.Context(), "list_notes", nil); err != nil || res.Err() != nil {
					t.Errorf("got %v, %v", res, err)
				}
			})
		}
		calls.Wait()
		expire(t)
	}
	if tokens, signIns := n.counts(); tokens < 2 || signIns != 1 {
		t.Errorf("got %d tokens, %d sign-ins, want at least 2, 1", tokens, signIns)
	}
}

// TestService: a program signs in as itself at the same server.
func TestService(t *testing.T) {
	n := startNotes(t)
	transport, err := oauth.New(n.url, &oauth.Options{Grant: &oauth.ClientCredentials{Clients: []oauth.Credentials{
		{Issuer: n.provider.Issuer, ID: "service", Secret: "the-secret-of-the-service"},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = transport.Close() }()
	client, err := mcpclient.Connect(t.Context(), &mcpclient.HTTP{URL: n.url, Client: transport.Client()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	for _, tool := range []string{"list_notes", "add_note"} {
		if res, err := client.CallTool(t.Context(), tool, nil); err != nil || res.Err() != nil {
			t.Errorf("%s: got %v, %v", tool, res, err)
		}
	}
	if _, signIns := n.counts(); signIns != 0 {
		t.Errorf("got %d sign-ins, want none", signIns)
	}
}

// TestClosedInput: without a terminal the person opens the shown URL.
func TestClosedInput(t *testing.T) {
	n := startNotes(t)
	out, screen := io.Pipe()
	done := make(chan error, 1)
	go func() {
		p := &program{in: bufio.NewReader(strings.NewReader("")), out: screen, open: func(context.Context, string) error {
			return errors.New("opened a browser without the person's consent")
		}}
		err := p.run(t.Context(), []string{"-store", t.TempDir(), n.url})
		_ = screen.CloseWithError(io.EOF)
		done <- err
	}()
	lines, address := bufio.NewScanner(out), ""
	for lines.Scan() && !strings.Contains(lines.Text(), "Waiting") {
		if strings.Contains(lines.Text(), n.provider.Issuer) {
			address = strings.TrimSpace(lines.Text())
		}
	}
	go func() {
		if err := n.provider.Browse(t.Context(), address); err != nil {
			t.Error(err)
		}
	}()
	rest, err := io.ReadAll(out)
	if err != nil || !strings.Contains(string(rest), `list_notes: A tool.\x1b[2J`) {
		t.Errorf("got %q, %v", rest, err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestPasted is a machine without a browser.
func TestPasted(t *testing.T) {
	n := startNotes(t)
	in, person := io.Pipe()
	out, screen := io.Pipe()
	done := make(chan error, 1)
	go func() {
		p := &program{in: bufio.NewReader(in), out: screen}
		err := p.run(t.Context(), []string{"-store", t.TempDir(), "-paste", n.url})
		_ = screen.CloseWithError(io.EOF)
		done <- err
	}()
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(lines.Text(), n.provider.Issuer) {
	}
	address := ""
	err := n.provider.BrowseUntil(t.Context(), strings.TrimSpace(lines.Text()), func(u *url.URL) { address = u.String() })
	if err != nil {
		t.Fatal(err)
	}
	go func() { // the input may end without a line break
		_, _ = io.WriteString(person, address)
		_ = person.Close()
	}()
	rest, err := io.ReadAll(out)
	if err != nil || !strings.Contains(string(rest), `list_notes: A tool.\x1b[2J`) {
		t.Errorf("got %q, %v", rest, err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// The person sees the host of the page, and warnings about the address.
func TestShowLink(t *testing.T) {
	for url, want := range map[string]string{
		"https://auth.example.com/a?b=c": "Sign in at auth.example.com:\n\n  https://auth.example.com/a?b=c\n\n",
		"http://auth.xn--exmpl-cua.com/": "Sign in at auth.xn--exmpl-cua.com:\n\n  http://auth.xn--exmpl-cua.com/\n\n" +
			"Warning: http is not encrypted: others can read and change what the page says.\n" +
			"Warning: a browser may show xn--exmpl-cua in other letters, alike to another name (it is in punycode).\n",
	} {
		var out strings.Builder
		p := &program{out: &out}
		if err := p.showLink("Sign in at", url); err != nil || out.String() != want {
			t.Errorf("%s: got %v and %q, want %q", url, err, &out, want)
		}
	}
	p := &program{out: io.Discard, open: func(context.Context, string) error { t.Error("opened"); return nil }}
	if err := p.offerToOpen(t.Context(), "file:///etc/passwd"); err == nil {
		t.Error("got no error for what is no web page")
	}
}

// The commands of the guide work.
func TestCommandsOfTheGuide(t *testing.T) {
	guide, err := os.ReadFile("../../docs/authorization.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile(`(?m)^go run \./examples/oauth (.*)$`).FindAllStringSubmatch(string(guide), -1)
	if len(commands) != 2 {
		t.Errorf("got %q, want two commands", commands)
	}
	for _, c := range commands {
		p := &program{out: io.Discard}
		if _, err := p.parse(append([]string{"-store", "x"}, strings.Fields(c[1])...)); err != nil {
			t.Errorf("%s: %v", c[0], err)
		}
	}
}
