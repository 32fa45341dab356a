// Package peer runs servers of others for tests: MCP servers of the official Go SDK, and an
// authorization server from npm.
package peer

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/testenv"
)

// Provider is a running authorization server: oidc-provider, certified for OpenID Connect. It registers clients, demands
// PKCE, rotates refresh tokens, and issues signed tokens for one resource with the scopes notes:read and notes:write.
type Provider struct {
	Issuer string
	Login  string // login of the person as whom Browse acts
}

// startProvider runs a provider of tokens for a resource until the test ends. They expire after life, in whole seconds.
func startProvider(t testing.TB, resource string, life time.Duration) *Provider {
	t.Helper()
	folder, err := fs.Sub(files, "npm")
	if err != nil {
		t.Fatal(err)
	}
	set := testenv.InstallNPM(t, folder)
	port := set.Listen(t, regexp.MustCompile(`^listening at (\d+)$`), set.Path("provider.mjs"), resource, fmt.Sprint(int(life.Seconds())))
	return &Provider{Issuer: "http://127.0.0.1:" + port, Login: "ada"}
}

var (
	formAction = regexp.MustCompile(`<form[^>]* action="([^"]*)"`)
	formPrompt = regexp.MustCompile(`name="prompt" value="([^"]*)"`)
)

// Browse acts as a person with a browser. It fills in the server's pages and
// allows everything, until a redirect leads to the application.
func (p *Provider) Browse(ctx context.Context, authorizationURL string) error {
	redirect := ""
	if err := p.BrowseUntil(ctx, authorizationURL, func(u *url.URL) { redirect = u.String() }); err != nil {
		return err
	}
	resp, err := request(ctx, http.DefaultClient, http.MethodGet, redirect, nil)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// BrowseUntil is Browse up to the redirect to the application; done gets its URL.
func (p *Provider) BrowseUntil(ctx context.Context, authorizationURL string, done func(*url.URL)) error {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	browser := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := request(ctx, browser, http.MethodGet, authorizationURL, nil)
	for range 20 {
		if err != nil {
			return err
		}
		page, readErr := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
		_ = resp.Body.Close()
		switch next, noRedirect := resp.Location(); {
		case readErr != nil:
			return readErr
		case noRedirect != nil:
			resp, err = p.fillIn(ctx, browser, resp, page)
		case strings.HasPrefix(next.String(), p.Issuer+"/"):
			resp, err = request(ctx, browser, http.MethodGet, next.String(), nil)
		default:
			done(next)
			return nil
		}
	}
	return errors.New("the pages do not end")
}

// fillIn sends the form of a page, with everything allowed, and returns the answer.
func (p *Provider) fillIn(ctx context.Context, browser *http.Client, resp *http.Response, page []byte) (*http.Response, error) {
	action := formAction.FindSubmatch(page)
	prompt := formPrompt.FindSubmatch(page)
	if action == nil || prompt == nil {
		return nil, fmt.Errorf("HTTP status %d, a page without a form:\n%s", resp.StatusCode, page)
	}
	target, err := resp.Request.URL.Parse(html.UnescapeString(string(action[1])))
	if err != nil {
		return nil, err
	}
	form := url.Values{"prompt": {string(prompt[1])}, "login": {p.Login}, "password": {"any"}}
	return request(ctx, browser, http.MethodPost, target.String(), form)
}

func request(ctx context.Context, client *http.Client, method, target string, form url.Values) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, target, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return client.Do(req)
}

//go:embed npm
var files embed.FS
