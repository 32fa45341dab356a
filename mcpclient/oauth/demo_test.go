package oauth_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/oauth"
)

// demo is a protected server for the examples, with an authorization server and an identity
// provider that accept everybody. It is on loopback, so that http is allowed.
type demo struct {
	*httptest.Server
	grants []string // the grant types of the token requests
}

func newDemo() *demo {
	d := new(demo)
	server := sdk.NewServer(&sdk.Implementation{Name: "demo", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "whoami"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "somebody with a token"}}}, nil, nil
	})
	protected := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.Header.Get("Authorization"), " the-token") {
			w.Header().Set("WWW-Authenticate", `Bearer scope="whoami"`)
			http.Error(w, "no token", http.StatusUnauthorized)
			return
		}
		protected.ServeHTTP(w, r)
	})
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, r *http.Request) {
		answer(w, map[string]any{"resource": d.URL + "/mcp", "authorization_servers": []string{d.URL}, "scopes_supported": []string{"whoami"}})
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, r *http.Request) {
		answer(w, map[string]any{
			"issuer": d.URL, "authorization_endpoint": d.URL + "/authorize", "token_endpoint": d.URL + "/token",
			"registration_endpoint": d.URL + "/register", "code_challenge_methods_supported": []string{"S256"},
			"token_endpoint_auth_methods_supported": []string{"none", "client_secret_basic", "private_key_jwt"},
		})
	})
	mux.HandleFunc("/register", func(w http.ResponseWriter, r *http.Request) { answer(w, map[string]any{"client_id": "demo-client"}) })
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		back := url.Values{"code": {"the-code"}, "state": {r.FormValue("state")}, "iss": {d.URL}}
		http.Redirect(w, r, r.FormValue("redirect_uri")+"?"+back.Encode(), http.StatusFound)
	})
	mux.HandleFunc("/token", d.token)
	d.Server = httptest.NewServer(mux)
	return d
}

func (d *demo) token(w http.ResponseWriter, r *http.Request) {
	grant := r.FormValue("grant_type")
	d.grants = append(d.grants, grant[strings.LastIndex(grant, ":")+1:])
	if strings.HasSuffix(grant, "token-exchange") {
		answer(w, map[string]any{"access_token": "the-assertion", "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag", "token_type": "N_A"})
		return
	}
	kind := "Bearer"
	if r.Header.Get("DPoP") != "" {
		kind = "DPoP"
	}
	answer(w, map[string]any{"access_token": "the-token", "token_type": kind, "expires_in": 3600})
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// browse acts as a person with a browser.
func browse(_ context.Context, url string) error {
	resp, err := http.Get(url)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// use signs in with the options and calls the tool.
func (d *demo) use(opts *oauth.Options) {
	ctx := context.Background()
	auth, err := oauth.New(d.URL+"/mcp", opts)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = auth.Close() }()
	client, err := mcpclient.Connect(ctx, &mcpclient.HTTP{URL: d.URL + "/mcp", Client: auth.Client()}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = client.Close() }()
	result, err := client.CallTool(ctx, "whoami", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Text())
}
