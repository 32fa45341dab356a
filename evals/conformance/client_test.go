package conformance

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/oauth"
	"github.com/mcpchain/mcpchain/mcpclient/skills"
)

// asClient is the role of a process that is the client of one scenario. The suite starts it with
// the URL of a server as the last argument, and names the scenario in MCP_CONFORMANCE_SCENARIO. It
// tests mcpclient's behaviour: the client only performs the steps of the scenario.
const asClient = "client"

// TestMain lets the test binary be the client.
func TestMain(m *testing.M) {
	testenv.Main(m, map[string]func() int{asClient: func() int {
		if err := perform(os.Args, os.Getenv); err != nil {
			fmt.Fprintln(os.Stderr, "client:", err)
			return 1
		}
		return 0
	}})
}

// scenario performs the client's steps in a scenario of the suite.
type scenario func(ctx context.Context, s *session) error

// session is a connected client, with the data of its scenario.
type session struct {
	*mcpclient.Client
	context json.RawMessage // given by the suite
}

var scenarios = map[string]scenario{
	"initialize": connectOnly, "tools_call": useTools, "elicitation-sep1034-client-defaults": useTools,
	"sse-retry": useTools, "request-metadata": ping, "sep-2322-client-request-state": useTools,
	"http-standard-headers": useEverything, "http-custom-headers": callsOfContext, "http-invalid-tool-headers": useTools,
	"json-schema-ref-no-deref": listTools, "json-schema-2020-12-preservation": echoSchema,
	"sep-2640-client-no-prefetch": listSkills, "sep-2640-client-verify-digest": loadSkills,
	"sep-2640-client-verify-size": loadSkills, "sep-2640-client-verify-frontmatter": loadSkills,
}

// perform plays the scenario of the environment against the server of the last argument.
func perform(args []string, env func(string) string) error {
	name := env("MCP_CONFORMANCE_SCENARIO")
	play, ok := scenarios[name]
	protected := strings.HasPrefix(name, "auth/")
	switch {
	case protected:
		play = useTools
	case !ok:
		return fmt.Errorf("no scenario %q", name)
	}
	if len(args) < 2 {
		return errors.New("want the URL of a server as the last argument")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 110*time.Second) // a little less than the suite gives it
	defer cancel()
	s := &session{context: json.RawMessage(env("MCP_CONFORMANCE_CONTEXT"))}
	server := &mcpclient.HTTP{URL: args[len(args)-1]}
	opts := s.options()
	if protected {
		auth, err := authorization(ctx, server.URL, name, s.context)
		if err != nil {
			return err
		}
		defer func() { _ = auth.Close() }()
		server.Client, opts.Protocol.Revision = auth.Client(), env("MCP_CONFORMANCE_PROTOCOL_VERSION")
	}
	client, err := mcpclient.Connect(ctx, server, opts)
	if err != nil {
		return err
	}
	s.Client = client
	return errors.Join(play(ctx, s), client.Close())
}

// options has a handler for each request of a server.
func (s *session) options() *mcpclient.Options {
	return &mcpclient.Options{
		ClientInfo: mcp.Implementation{Name: "mcpchain-conformance", Version: "1.0.0"},
		Sampling: mcp.SamplingFunc(func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Model: "none", Content: []mcp.Content{&mcp.TextContent{Text: "sampled"}}}, nil
		}),
		Elicitation: mcp.ElicitationFunc(s.elicit),
		Roots:       []mcp.Root{},
		// The suite serves all scenarios from one process, which may be slow.
		Timeouts: mcpclient.Timeouts{Probe: 90 * time.Second},
		Logger:   slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
}

// elicit accepts with only the values that a form wants confirmed: the client fills in defaults. Between the rounds of a tool
// that wants input it calls another tool. That tool must not see anything of the rounds.
func (s *session) elicit(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	fields, err := forms.Fields(p)
	if err != nil {
		return nil, err
	}
	content := map[string]any{}
	for _, f := range fields {
		if f.Name == "confirmed" {
			content[f.Name] = true
			if _, err := s.CallTool(ctx, "test_mrtr_unrelated", nil); err != nil {
				return nil, err
			}
		}
	}
	return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: content}, nil
}

// document is the suite's client id metadata document.
const document = "https://conformance-test.local/client-metadata.json"

// scenarioContext is the suite's data for some scenarios.
type scenarioContext struct {
	ClientID         string `json:"client_id"`
	ClientSecret     string `json:"client_secret"`
	Issuer           string `json:"issuer"`
	PrivateKey       string `json:"private_key_pem"`
	IDPClientID      string `json:"idp_client_id"`
	IDPIDToken       string `json:"idp_id_token"`
	IDPIssuer        string `json:"idp_issuer"`
	IDPTokenEndpoint string `json:"idp_token_endpoint"`
	ValidJWT         string `json:"valid_jwt"`
}

// authorization makes the HTTP client that signs in at a protected server. The
// suite plays the authorization server, and no person is needed: see browse.
func authorization(ctx context.Context, serverURL, scenario string, raw json.RawMessage) (*oauth.Transport, error) {
	var given scenarioContext
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &given); err != nil {
			return nil, fmt.Errorf("MCP_CONFORMANCE_CONTEXT: %w", err)
		}
	}
	opts, err := new(oauth.Options), error(nil)
	if strings.HasPrefix(scenario, "auth/dpop") {
		opts.RequireDPoP = true
		if opts.DPoP, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
			return nil, err
		}
	}
	if opts.Grant, err = grant(ctx, serverURL, scenario, &given); err != nil {
		return nil, err
	}
	return oauth.New(serverURL, opts)
}

func grant(ctx context.Context, serverURL, scenario string, given *scenarioContext) (oauth.Grant, error) {
	receiver := oauth.Loopback(browse, 0)
	switch scenario {
	case "auth/pre-registration":
		c := oauth.Credentials{Issuer: given.Issuer, ID: given.ClientID, Secret: given.ClientSecret}
		return &oauth.AuthorizationCode{Receiver: receiver, Clients: []oauth.Credentials{c}}, nil
	case "auth/client-credentials-basic", "auth/client-credentials-jwt":
		c, err := provisioned(ctx, serverURL, given)
		return oauth.ClientCredentials{c}, err
	case "auth/enterprise-managed-authorization":
		c, err := provisioned(ctx, serverURL, given)
		return &oauth.Enterprise{
			Clients:       []oauth.Credentials{c},
			TokenEndpoint: given.IDPTokenEndpoint,
			Client:        oauth.Credentials{Issuer: given.IDPIssuer, ID: given.IDPClientID},
			SubjectToken:  func(context.Context) (string, error) { return given.IDPIDToken, nil },
		}, err
	case "auth/wif-jwt-bearer":
		found, err := oauth.Discover(ctx, serverURL, nil)
		if err != nil {
			return nil, err
		}
		return &oauth.Workload{
			Issuers:   found,
			Assertion: func(context.Context, string) (string, error) { return given.ValidJWT, nil },
			ClientID:  given.ClientID,
		}, nil
	}
	return &oauth.AuthorizationCode{Receiver: receiver, Document: &oauth.Credentials{ID: document}}, nil
}

// provisioned makes credentials from the suite's data. The suite does not name their authorization server: the MCP server does.
func provisioned(ctx context.Context, serverURL string, given *scenarioContext) (oauth.Credentials, error) {
	c := oauth.Credentials{ID: given.ClientID, Secret: given.ClientSecret}
	found, err := oauth.Discover(ctx, serverURL, nil)
	if err != nil {
		return c, err
	}
	c.Issuer = found[0]
	if given.PrivateKey == "" {
		return c, nil
	}
	block, _ := pem.Decode([]byte(given.PrivateKey))
	if block == nil {
		return c, errors.New("private_key_pem is not PEM")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return c, err
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return c, fmt.Errorf("private_key_pem: a %T cannot sign", key)
	}
	c.Key = signer
	return c, nil
}

// browse is the person and the browser: it follows the redirects.
func browse(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func (s *session) tools(ctx context.Context) (all []*mcp.Tool, err error) {
	for t, err := range s.Tools(ctx) {
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

func listTools(ctx context.Context, s *session) error {
	_, err := s.tools(ctx)
	return err
}

// useTools calls every tool that the client lists.
func useTools(ctx context.Context, s *session) error {
	tools, err := s.tools(ctx)
	if err != nil {
		return err
	}
	for _, t := range tools {
		if _, err := s.CallTool(ctx, t.Name, map[string]any{"a": 2, "b": 3, "region": "eu"}); err != nil {
			return err
		}
	}
	return nil
}

func connectOnly(context.Context, *session) error { return nil }

func ping(ctx context.Context, s *session) error { return s.Ping(ctx) }

func useEverything(ctx context.Context, s *session) error {
	if err := useTools(ctx, s); err != nil {
		return err
	}
	for r, err := range s.Resources(ctx) {
		if err != nil {
			return err
		}
		if _, err := s.ReadResource(ctx, r.URI); err != nil {
			return err
		}
	}
	for p, err := range s.Prompts(ctx) {
		if err != nil {
			return err
		}
		if _, err := s.GetPrompt(ctx, p.Name, nil); err != nil {
			return err
		}
	}
	return nil
}

// callsOfContext makes the calls that the suite names.
func callsOfContext(ctx context.Context, s *session) error {
	var want struct {
		ToolCalls []struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"toolCalls"`
	}
	if err := json.Unmarshal(s.context, &want); err != nil {
		return fmt.Errorf("MCP_CONFORMANCE_CONTEXT: %w", err)
	}
	if err := listTools(ctx, s); err != nil {
		return err
	}
	for _, call := range want.ToolCalls {
		if _, err := s.CallTool(ctx, call.Name, call.Arguments); err != nil {
			return err
		}
	}
	return nil
}

// echoSchema sends a listed schema back, unchanged.
func echoSchema(ctx context.Context, s *session) error {
	tools, err := s.tools(ctx)
	if err != nil {
		return err
	}
	for _, t := range tools {
		if t.Name == "json_schema_2020_12_tool" {
			_, err := s.CallTool(ctx, "json_schema_echo", map[string]json.RawMessage{"schema": t.InputSchema})
			return err
		}
	}
	return errors.New("the tool with the schema is not listed")
}

func listSkills(ctx context.Context, s *session) error {
	for _, err := range skills.List(ctx, s.Client) {
		if err != nil {
			return err
		}
	}
	return nil
}

// loadSkills loads every listed skill and reads its files. A skill that differs
// from its entry is not used, which does not count as a failure.
func loadSkills(ctx context.Context, s *session) error {
	for skill, err := range skills.List(ctx, s.Client) {
		if err != nil {
			return err
		}
		_, err = skills.Load(ctx, s.Client, skill)
		for _, file := range skill.Files {
			if err == nil {
				_, err = skills.ReadFile(ctx, s.Client, skill, file.URI)
			}
		}
		if _, failed := errors.AsType[*mcp.RPCError](err); failed { // other errors refuse a skill, as some have to be
			return err
		}
	}
	return nil
}
