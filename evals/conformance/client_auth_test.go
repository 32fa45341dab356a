package conformance

import (
	"context"
	"crypto"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/mcpchain/mcpchain/mcpclient/oauth"
)

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
	opts := new(oauth.Options)
	if strings.HasPrefix(scenario, "auth/dpop") {
		opts.DPoP = &oauth.DPoP{Require: true}
	}
	var err error
	if opts.Grant, err = grant(ctx, serverURL, scenario, &given); err != nil {
		return nil, err
	}
	return oauth.New(serverURL, opts)
}

func grant(ctx context.Context, serverURL, scenario string, given *scenarioContext) (oauth.Grant, error) {
	receiver := &oauth.Loopback{Open: browse}
	switch scenario {
	case "auth/pre-registration":
		c := oauth.Credentials{Issuer: given.Issuer, ID: given.ClientID, Secret: given.ClientSecret}
		return &oauth.AuthorizationCode{Receiver: receiver, Clients: []oauth.Credentials{c}}, nil
	case "auth/client-credentials-basic", "auth/client-credentials-jwt":
		c, err := provisioned(ctx, serverURL, given)
		return &oauth.ClientCredentials{Clients: []oauth.Credentials{c}}, err
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

// provisioned makes credentials from the suite's data. The suite does not name
// their authorization server: the MCP server does.
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
