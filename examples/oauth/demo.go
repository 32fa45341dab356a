package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// demo is something to sign in to: an MCP server, and the authorization server that it trusts, on this
// machine. Anybody may sign in there as Ada.
type demo struct {
	issuer string
	server http.Server
	wg     sync.WaitGroup

	mu      sync.Mutex               // guards the fields below
	clients map[string][]string      // their redirect URIs
	codes   map[string]authorization // not redeemed yet
	tokens  map[string]bool
}

// authorization is what a person has allowed.
type authorization struct{ client, redirect, challenge string }

// startDemo listens on a free port of the loopback interface.
func startDemo() (*demo, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	d := &demo{
		issuer: "http://" + listener.Addr().String(), clients: map[string][]string{}, codes: map[string]authorization{}, tokens: map[string]bool{},
	}
	mcp := sdk.NewServer(&sdk.Implementation{Name: "notes", Version: "1"}, nil)
	sdk.AddTool(mcp, &sdk.Tool{Name: "list_notes", Description: "Lists Ada's notes."},
		func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "Buy milk."}}}, nil, nil
		})
	const about = "/.well-known/oauth-protected-resource/mcp"
	guard := auth.RequireBearerToken(d.verify, &auth.RequireBearerTokenOptions{ResourceMetadataURL: d.issuer + about, Scopes: []string{"notes"}})
	mux := http.NewServeMux()
	mux.Handle("/mcp", guard(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return mcp }, nil)))
	mux.Handle(about, auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
		Resource: d.url(), AuthorizationServers: []string{d.issuer}, ScopesSupported: []string{"notes"},
	}))
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", d.metadata)
	mux.HandleFunc("POST /register", d.register)
	mux.HandleFunc("/authorize", d.authorize)
	mux.HandleFunc("POST /token", d.token)
	d.server = http.Server{Handler: http.MaxBytesHandler(mux, 1<<20), ReadHeaderTimeout: 10 * time.Second}
	d.wg.Go(func() { _ = d.server.Serve(listener) })
	return d, nil
}

func (d *demo) url() string { return d.issuer + "/mcp" }

func (d *demo) close() error {
	err := d.server.Close()
	d.wg.Wait()
	return err
}

func (d *demo) verify(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.tokens[token] {
		return nil, auth.ErrInvalidToken
	}
	return &auth.TokenInfo{Scopes: []string{"notes"}, Expiration: time.Now().Add(time.Hour), UserID: "ada"}, nil
}

func (d *demo) metadata(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]any{
		"issuer": d.issuer, "authorization_endpoint": d.issuer + "/authorize", "token_endpoint": d.issuer + "/token",
		"registration_endpoint": d.issuer + "/register", "response_types_supported": []string{"code"},
		"grant_types_supported": []string{"authorization_code"}, "code_challenge_methods_supported": []string{"S256"},
		"token_endpoint_auth_methods_supported": []string{"none"}, "scopes_supported": []string{"notes"},
		"authorization_response_iss_parameter_supported": true,
	})
}

// register takes any client.
func (d *demo) register(w http.ResponseWriter, r *http.Request) {
	client := map[string]any{}
	var uris struct {
		URIs []string `json:"redirect_uris"`
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(body, &client) != nil || json.Unmarshal(body, &uris) != nil || len(uris.URIs) == 0 {
		answer(w, http.StatusBadRequest, map[string]any{"error": "invalid_client_metadata"})
		return
	}
	id := rand.Text()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clients[id] = uris.URIs
	client["client_id"], client["token_endpoint_auth_method"] = id, "none"
	answer(w, http.StatusCreated, client)
}

var signInPage = template.Must(template.New("").Parse(`<!doctype html><title>Notes</title><h1>Notes</h1>
<form method="post" action="?{{.}}"><p>A program on this machine wants to read your notes.</p><button>Sign in as Ada, and allow it</button></form>`))

// authorize shows the page of the sign-in, and sends the person back with a code.
func (d *demo) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	a := authorization{q.Get("client_id"), q.Get("redirect_uri"), q.Get("code_challenge")}
	back, err := url.Parse(a.redirect)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil || !slices.Contains(d.clients[a.client], a.redirect) || a.challenge == "" || q.Get("code_challenge_method") != "S256" {
		http.Error(w, "This is not the address that the program has registered.", http.StatusBadRequest)
		return
	}
	if r.Method != http.MethodPost {
		_ = signInPage.Execute(w, template.URL(r.URL.RawQuery))
		return
	}
	code := rand.Text()
	d.codes[code] = a
	back.RawQuery = url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {d.issuer}}.Encode()
	http.Redirect(w, r, back.String(), http.StatusSeeOther)
}

// token gives a token for a code, once, to the client that can show the verifier.
func (d *demo) token(w http.ResponseWriter, r *http.Request) {
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	shown := authorization{r.PostFormValue("client_id"), r.PostFormValue("redirect_uri"), base64.RawURLEncoding.EncodeToString(sum[:])}
	d.mu.Lock()
	defer d.mu.Unlock()
	code := r.PostFormValue("code")
	allowed, known := d.codes[code]
	delete(d.codes, code)
	if !known || shown != allowed {
		answer(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant"})
		return
	}
	token := rand.Text()
	d.tokens[token] = true
	answer(w, http.StatusOK, map[string]any{"access_token": token, "token_type": "Bearer", "expires_in": 3600, "scope": "notes"})
}

func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // the client may have gone
}
