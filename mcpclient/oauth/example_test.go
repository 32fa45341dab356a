package oauth_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/oauth"
)

// A person signs in with the browser of this machine if the server asks for it.
func Example() {
	ctx := context.Background()
	server := newDemo()
	defer server.Close()
	auth, err := oauth.New(server.URL+"/mcp", &oauth.Options{
		Grant: &oauth.AuthorizationCode{
			Receiver:   oauth.Loopback(browse, 0), // shows the URL, then oauth.OpenBrowser
			RegisterAs: "My agent",
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = auth.Close() }()
	if err := auth.SignIn(ctx); err != nil {
		fmt.Println(err)
		return
	}
	client, err := mcpclient.Connect(ctx, &mcpclient.HTTP{URL: server.URL + "/mcp", Client: auth.Client()}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = client.Close() }()
	result, err := client.CallTool(ctx, "whoami", nil)
	fmt.Println(result.Text(), err)
	// Output: somebody with a token <nil>
}

// On a device without a browser the person copies the answer from another device.
func ExamplePaste() {
	server := newDemo()
	defer server.Close()
	ask := func(_ context.Context, authorizationURL string) (string, error) {
		fmt.Println("visit", strings.Contains(authorizationURL, "/authorize?"))
		state := authorizationURL[strings.Index(authorizationURL, "state=")+len("state="):]
		return "http://127.0.0.1/callback?code=the-code&state=" + state, nil
	}
	auth, err := oauth.New(server.URL+"/mcp", &oauth.Options{Grant: &oauth.AuthorizationCode{Receiver: oauth.Paste(ask)}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = auth.Close() }()
	fmt.Println("signed in:", auth.SignIn(context.Background()) == nil)
	// Output:
	// visit true
	// signed in: true
}

// A client registered by hand, with tokens in files.
func ExampleNewFileStore() {
	server := newDemo()
	defer server.Close()
	dir, err := os.MkdirTemp("", "tokens")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	store, err := oauth.NewFileStore(filepath.Join(dir, "tokens"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 { // the second time uses the stored token
		server.use(&oauth.Options{
			Store: store,
			Grant: &oauth.AuthorizationCode{
				Receiver: oauth.Loopback(browse, 0),
				Clients:  []oauth.Credentials{{Issuer: server.URL, ID: "my-client", Secret: os.Getenv("CLIENT_SECRET")}},
			},
		})
	}
	fmt.Println(server.grants)
	// Output:
	// somebody with a token
	// somebody with a token
	// [authorization_code]
}

// A service signs in as itself. With Key instead of Secret it signs assertions.
func ExampleClientCredentials() {
	server := newDemo()
	defer server.Close()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader) // usually read from a file
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range []oauth.Credentials{
		{Issuer: server.URL, ID: "my-service", Secret: "from the environment"},
		{Issuer: server.URL, ID: "my-service", Key: key, KeyID: "2026"},
	} {
		server.use(&oauth.Options{Grant: oauth.ClientCredentials{c}})
	}
	fmt.Println(server.grants)
	// Output:
	// somebody with a token
	// somebody with a token
	// [client_credentials client_credentials]
}

// The company's identity provider vouches for a person after a sign-in there.
func ExampleEnterprise() {
	server := newDemo()
	defer server.Close()
	server.use(&oauth.Options{Grant: &oauth.Enterprise{
		TokenEndpoint: server.URL + "/token",
		Client:        oauth.Credentials{Issuer: "https://idp.example.com", ID: "my-agent", Secret: "from the vault"},
		SubjectToken:  func(context.Context) (string, error) { return "the ID token of the sign-in", nil },
		Clients:       []oauth.Credentials{{Issuer: server.URL, ID: "my-agent", Secret: "from the vault"}},
	}})
	fmt.Println(server.grants)
	// Output:
	// somebody with a token
	// [token-exchange jwt-bearer]
}

// The platform vouches for the program, here with a token file of Kubernetes.
func ExampleWorkload() {
	server := newDemo()
	defer server.Close()
	path := filepath.Join(os.TempDir(), "mcpchain-example-token")
	if err := os.WriteFile(path, []byte("header.claims.signature\n"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.Remove(path) }()
	server.use(&oauth.Options{Grant: &oauth.Workload{
		Issuers: []string{server.URL},
		Assertion: func(context.Context, string) (string, error) {
			token, err := os.ReadFile(path)
			return strings.TrimSpace(string(token)), err
		},
	}})
	fmt.Println(server.grants)
	// Output:
	// somebody with a token
	// [jwt-bearer]
}

// Tokens are useless without the key.
func ExampleOptions_dPoP() {
	server := newDemo()
	defer server.Close()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader) // keep it with the stored tokens
	if err != nil {
		fmt.Println(err)
		return
	}
	server.use(&oauth.Options{
		Grant:       &oauth.AuthorizationCode{Receiver: oauth.Loopback(browse, 0)},
		DPoP:        key,
		RequireDPoP: true,
	})
	// Output: somebody with a token
}

// A host shows this before it asks for credentials.
func ExampleDiscover() {
	server := newDemo()
	defer server.Close()
	found, err := oauth.Discover(context.Background(), server.URL+"/mcp", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(found[0] == server.URL)
	// Output: true
}

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
