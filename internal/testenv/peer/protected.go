package peer

import (
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
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/mcpchain/mcpchain/mcpclient"
)

// Protected is an MCP server of the official Go SDK behind a [Provider]. Every request needs
// the scope notes:read, and one about the tool add_note also notes:write.
type Protected struct {
	URL      string
	Provider *Provider

	mu      sync.Mutex
	tokens  []string // the different accepted tokens, in order
	signIns []string // the URLs for the person
}

// StartProtected runs a server until the test ends. Its tokens expire after life.
func StartProtected(t testing.TB, server *sdk.Server, life time.Duration) *Protected {
	t.Helper()
	mux := http.NewServeMux()
	peerServer := httptest.NewServer(mux)
	t.Cleanup(peerServer.Close)
	p := &Protected{URL: peerServer.URL + "/mcp"}
	p.Provider = startProvider(t, p.URL, life)
	const metadata = "/.well-known/oauth-protected-resource/mcp"
	mux.Handle(metadata, auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
		Resource: p.URL, AuthorizationServers: []string{p.Provider.Issuer}, ScopesSupported: []string{"notes:read", "notes:write"},
	}))
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	guarded := func(scopes ...string) http.Handler {
		o := &auth.RequireBearerTokenOptions{ResourceMetadataURL: peerServer.URL + metadata, Scopes: scopes}
		return auth.RequireBearerToken(p.verify, o)(handler)
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
	return p
}

// Notes is a server with the tools list_notes and add_note. Its texts try to control a terminal.
func Notes() *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "notes", Version: "1"}, &sdk.ServerOptions{Instructions: "Keep notes short."})
	type input struct {
		Text string `json:"text,omitempty"`
	}
	for _, name := range []string{"list_notes", "add_note"} {
		run := func(_ context.Context, _ *sdk.CallToolRequest, in input) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "\x1b[2J" + name + " done " + in.Text}}}, nil, nil
		}
		sdk.AddTool(server, &sdk.Tool{Name: name, Description: "A\ntool.\x1b[2J"}, run)
	}
	return server
}

func (p *Protected) verify(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	var claims struct {
		jwt.RegisteredClaims
		Scope string `json:"scope"`
	}
	_, err := jwt.ParseWithClaims(token, &claims, p.key, jwt.WithIssuer(p.Provider.Issuer), jwt.WithAudience(p.URL), jwt.WithExpirationRequired())
	if err != nil {
		return nil, fmt.Errorf("%w: %v", auth.ErrInvalidToken, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Contains(p.tokens, token) {
		p.tokens = append(p.tokens, token)
	}
	return &auth.TokenInfo{Scopes: strings.Fields(claims.Scope), Expiration: claims.ExpiresAt.Time, UserID: claims.Subject}, nil
}

// key fetches the key that signed a token from the authorization server.
func (p *Protected) key(token *jwt.Token) (any, error) {
	resp, err := http.Get(p.Provider.Issuer + "/jwks")
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

// Browse acts as a person with a browser, see [Provider.Browse].
func (p *Protected) Browse(ctx context.Context, url string) error {
	p.mu.Lock()
	p.signIns = append(p.signIns, url)
	p.mu.Unlock()
	return p.Provider.Browse(ctx, url)
}

// Tokens is the number of different tokens that were accepted.
func (p *Protected) Tokens() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.tokens)
}

// SignIns are the addresses that a person browsed to.
func (p *Protected) SignIns() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.signIns)
}

// Connect runs a server in this process until the test ends, and returns the transport to it.
func Connect(t testing.TB, server *sdk.Server) *mcpclient.IO {
	t.Helper()
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	session, err := server.Connect(context.Background(), &sdk.IOTransport{Reader: fromClient, Writer: toClient}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = session.Close()
		_ = session.Wait()
	})
	return &mcpclient.IO{Reader: fromServer, Writer: toServer}
}
