// Package notes is a protected MCP server with its authorization server, for programs that sign in.
package notes

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

// Server is an MCP server and its authorization server, on this machine. Anybody may sign in there as Ada.
type Server struct {
	issuer string
	server http.Server
	served sync.WaitGroup

	// The fields below have no bound, as only this machine can reach the server.
	mu      sync.Mutex               // guards them
	clients map[string][]string      // redirect URIs by client
	codes   map[string]authorization // not redeemed yet
	tokens  map[string]bool          // valid until the end of the program
}

// authorization is what the person has allowed.
type authorization struct{ client, redirect, challenge string }

// Start starts the servers on a free port of the loopback interface.
func Start() (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{
		issuer:  "http://" + listener.Addr().String(),
		clients: map[string][]string{},
		codes:   map[string]authorization{},
		tokens:  map[string]bool{},
	}
	mcp := sdk.NewServer(&sdk.Implementation{Name: "notes", Version: "1"}, nil)
	sdk.AddTool(mcp, &sdk.Tool{Name: "list_notes", Description: "Lists Ada's notes."},
		func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "Buy milk."}}}, nil, nil
		})
	const metadataPath = "/.well-known/oauth-protected-resource/mcp"
	guard := auth.RequireBearerToken(s.verify, &auth.RequireBearerTokenOptions{
		ResourceMetadataURL: s.issuer + metadataPath, Scopes: []string{"notes"},
	})
	mux := http.NewServeMux()
	mux.Handle("/mcp", guard(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return mcp }, nil)))
	mux.Handle(metadataPath, auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
		Resource: s.URL(), AuthorizationServers: []string{s.issuer}, ScopesSupported: []string{"notes"},
	}))
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", s.metadata)
	mux.HandleFunc("POST /register", s.register)
	mux.HandleFunc("/authorize", s.authorize)
	mux.HandleFunc("POST /token", s.token)
	s.server = http.Server{Handler: http.MaxBytesHandler(mux, 1<<20), ReadHeaderTimeout: 10 * time.Second}
	s.served.Go(func() { _ = s.server.Serve(listener) })
	return s, nil
}

// URL returns the URL of the MCP server.
func (s *Server) URL() string { return s.issuer + "/mcp" }

// Close stops the servers.
func (s *Server) Close() {
	_ = s.server.Close()
	s.served.Wait()
}

// verify checks the token of a request to the MCP server.
func (s *Server) verify(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.tokens[token] {
		return nil, auth.ErrInvalidToken
	}
	// The tokens of this example never end. A real server stores when a token ends.
	return &auth.TokenInfo{Scopes: []string{"notes"}, Expiration: time.Now().Add(time.Hour), UserID: "ada"}, nil
}

// metadata serves the metadata of the authorization server.
func (s *Server) metadata(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{
		"issuer": s.issuer, "authorization_endpoint": s.issuer + "/authorize", "token_endpoint": s.issuer + "/token",
		"registration_endpoint": s.issuer + "/register", "response_types_supported": []string{"code"},
		"grant_types_supported": []string{"authorization_code"}, "code_challenge_methods_supported": []string{"S256"},
		"token_endpoint_auth_methods_supported": []string{"none"}, "scopes_supported": []string{"notes"},
		"authorization_response_iss_parameter_supported": true,
	})
}

// register registers any client.
func (s *Server) register(w http.ResponseWriter, r *http.Request) {
	client := map[string]any{}
	var uris struct {
		URIs []string `json:"redirect_uris"`
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(body, &client) != nil || json.Unmarshal(body, &uris) != nil || len(uris.URIs) == 0 {
		writeJSON(w, http.StatusBadRequest, map[string]any{"error": "invalid_client_metadata"})
		return
	}
	id := rand.Text()
	s.addClient(id, uris.URIs)
	client["client_id"], client["token_endpoint_auth_method"] = id, "none"
	writeJSON(w, http.StatusCreated, client)
}

func (s *Server) addClient(id string, redirects []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients[id] = redirects
}

var signInPage = template.Must(template.New("").Parse(`<!doctype html><title>Notes</title><h1>Notes</h1>
<form method="post" action="?{{.}}"><p>A program on this machine wants to read your notes.</p><button>Sign in as Ada, and allow it</button></form>`))

// authorize shows the page of the sign-in, and redirects the person back to the program with a code
// once its form is sent. A request that does not fit a registered program is refused without a
// redirect.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	a := authorization{query.Get("client_id"), query.Get("redirect_uri"), query.Get("code_challenge")}
	back, err := url.Parse(a.redirect)
	if err != nil || !s.isRegistered(a.client, a.redirect) {
		http.Error(w, "This is not the address that the program has registered.", http.StatusBadRequest)
		return
	}
	if a.challenge == "" || query.Get("code_challenge_method") != "S256" {
		http.Error(w, "The program does not use PKCE with S256.", http.StatusBadRequest)
		return
	}
	if r.Method != http.MethodPost {
		_ = signInPage.Execute(w, template.URL(r.URL.RawQuery))
		return
	}
	answer := back.Query() // "MUST be retained" (RFC 6749, section 3.1.2)
	answer.Set("code", s.newCode(a))
	answer.Set("state", query.Get("state"))
	answer.Set("iss", s.issuer)
	back.RawQuery = answer.Encode()
	http.Redirect(w, r, back.String(), http.StatusSeeOther)
}

// isRegistered reports whether a client has registered a redirect URI.
func (s *Server) isRegistered(client, redirect string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.clients[client], redirect)
}

// newCode returns a new code for an authorization.
func (s *Server) newCode(a authorization) string {
	code := rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.codes[code] = a
	return code
}

// token exchanges a code for a token, once, for the client that has the verifier.
func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	challenge := base64.RawURLEncoding.EncodeToString(sum[:])
	presented := authorization{r.PostFormValue("client_id"), r.PostFormValue("redirect_uri"), challenge}
	token, ok := s.redeem(r.PostFormValue("code"), presented)
	if !ok {
		writeJSON(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant"})
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"access_token": token, "token_type": "Bearer", "expires_in": 3600, "scope": "notes",
	})
}

// redeem returns a new token for a code. The code is then used up, even if it was presented by the wrong client.
func (s *Server) redeem(code string, presented authorization) (token string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	allowed, known := s.codes[code]
	delete(s.codes, code)
	if !known || presented != allowed {
		return "", false
	}
	token = rand.Text()
	s.tokens[token] = true
	return token, true
}

// writeJSON writes a response with a JSON body.
func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // fails only if the client is gone
}
