package config_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/config"
)

// all is a program that uses everything that a file can say.
var all = config.Loader{AllowFilters: true, AllowSignIn: true}

// mistake returns the error of a file or of its servers, "" for none.
func mistake(t *testing.T, l *config.Loader, text string) string {
	t.Helper()
	cfg, err := l.LoadData(t.Context(), "mcp.json", []byte(text))
	if err == nil {
		err = mistakes(cfg)
	}
	if err == nil {
		return ""
	}
	return err.Error()
}

// The files of other programs are read as these write them.
func TestPrograms(t *testing.T) {
	t.Setenv("KEY", "k")
	for name, tt := range map[string]struct {
		text string
		want config.Server
	}{
		"windsurf": {
			`{"mcpServers": {"s": {"serverUrl": "https://example.com/mcp", "headers": {"A": "b"}, "disabledTools": ["x"]}}}`,
			config.Server{Transport: &mcpclient.HTTP{URL: "https://example.com/mcp", Header: http.Header{"A": {"b"}}}, Deny: []string{"x"}},
		},
		"gemini cli": {
			`{"mcpServers": {"s": {"httpUrl": "https://example.com/mcp", "headers": {"A": "Bearer $KEY"}, "timeout": 30000, "trust": false,
				"includeTools": ["a", "b"], "excludeTools": ["b"], "oauth": {"enabled": true, "clientId": "c", "scopes": ["x", "y"]}}}}`,
			config.Server{Transport: &mcpclient.HTTP{URL: "https://example.com/mcp", Header: http.Header{"A": {"Bearer k"}}}, Timeout: 30 * time.Second,
				Allow: []string{"a", "b"}, Deny: []string{"b"}, OAuth: &config.OAuth{ClientID: "c", Scopes: []string{"x", "y"}}},
		},
		"gemini cli without a sign-in": {
			`{"mcpServers": {"s": {"httpUrl": "https://example.com/mcp", "oauth": {"enabled": false, "clientId": "c", "tokenUrl": "https://x"}}}}`,
			config.Server{Transport: &mcpclient.HTTP{URL: "https://example.com/mcp"}},
		},
		"gemini cli, variables": {
			`{"mcpServers": {"s": {"command": "x", "args": ["-c", "$KEY"], "env": {"A": "$KEY", "B": "a$KEY", "C": "$5", "D": "$key"}}}}`,
			config.Server{Transport: &mcpclient.Command{Path: "x", Args: []string{"-c", "$KEY"}, Env: []string{"A=k", "B=a$KEY", "C=$5", "D=$key"}}},
		},
		"claude code": {
			`{"mcpServers": {"s": {"type": "http", "url": "https://example.com/mcp", "timeout": 600000, "alwaysLoad": true,
				"oauth": {"clientId": "c", "callbackPort": 8080, "scopes": "x y"}}}}`,
			config.Server{Transport: &mcpclient.HTTP{URL: "https://example.com/mcp"}, Timeout: 10 * time.Minute,
				OAuth: &config.OAuth{ClientID: "c", CallbackPort: 8080, Scopes: []string{"x", "y"}}},
		},
		"claude code without scopes": {
			`{"mcpServers": {"s": {"type": "http", "url": "https://example.com/mcp", "oauth": {"clientId": "c", "scopes": ""}}}}`,
			config.Server{Transport: &mcpclient.HTTP{URL: "https://example.com/mcp"}, OAuth: &config.OAuth{ClientID: "c"}},
		},
		"cursor": {
			`{"mcpServers": {"s": {"url": "https://example.com/mcp", "auth": {"CLIENT_ID": "c", "CLIENT_SECRET": "${KEY}", "scopes": ["x"]}}}}`,
			config.Server{Transport: &mcpclient.HTTP{URL: "https://example.com/mcp"},
				OAuth: &config.OAuth{ClientID: "c", ClientSecret: "k", Scopes: []string{"x"}}},
		},
		"cline": {
			`{"mcpServers": {"s": {"type": "streamableHttp", "url": "https://example.com/mcp", "timeout": 60, "autoApprove": ["x"], "disabled": false}}}`,
			config.Server{Transport: &mcpclient.HTTP{URL: "https://example.com/mcp"}, Timeout: time.Minute},
		},
		"zed": {
			`{"theme": "One", "context_servers": {"s": {"source": "custom", "command": "x", "args": ["a"], "env": {}, "enabled": true}}}`,
			config.Server{Transport: &mcpclient.Command{Path: "x", Args: []string{"a"}}},
		},
		"vs code settings": {
			`{"editor.fontSize": 12, "mcp": {"inputs": [], "servers": {"s": {"type": "stdio", "command": "x"}}}}`,
			config.Server{Transport: &mcpclient.Command{Path: "x"}},
		},
		"vs code settings, dotted": {
			`{"mcp.servers": {"s": {"command": "x"}}}`, config.Server{Transport: &mcpclient.Command{Path: "x"}},
		},
		"copilot cli": {
			`{"mcpServers": {"s": {"type": "local", "command": "x", "tools": ["*"], "timeout": "90s"}}}`,
			config.Server{Transport: &mcpclient.Command{Path: "x"}, Allow: []string{"*"}, Timeout: 90 * time.Second},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := check.Value(all.LoadData(t.Context(), "mcp.json", []byte(tt.text)))(t)
			tt.want.Name = "s"
			check.NoError(t, mistakes(cfg))
			check.Same(t, "", cfg, []config.Server{tt.want}, cmpopts.IgnoreUnexported(config.Server{}))
		})
	}
}

// What cannot be read is answered with what to write instead.
func TestHints(t *testing.T) {
	server := func(entry string) string { return `{"mcpServers": {"s": ` + entry + `}}` }
	for text, want := range map[string]string{
		`{"files": {"command": "x"}}`:                                                    `files: a server stands outside of "mcpServers"; did you mean {"mcpServers": {"files": …}}?`,
		`{"mcp": {"other": []}}`:                                                         "no servers: want an object",
		`{"context_server": {}}`:                                                         `did you mean "context_servers"?`,
		`{"mcp": {"allowed": []}, "servers": {}}`:                                        `mcp.allowed: not supported: write "disabled": true in the servers`,
		server(`{"serverURL": "https://example.com"}`):                                   `s.serverURL: unknown key; did you mean "serverUrl"?`,
		server(`{"url": "https://a.example", "httpUrl": "https://b.example"}`):           `s.httpUrl: has the meaning of "url" on line 1; give one of them`,
		server(`{"serverUrl": "a.example"}`):                                             "s.serverUrl: want a complete http or https URL",
		server(`{"type": "local", "url": "https://a.example"}`):                          "s.url: does not go with a server that is started by command",
		server(`{"command": "x", "oauth": {}}`):                                          "s.oauth: does not go with a server that is started by command",
		server(`{"command": "x", "timeout": 1800}`):                                      `s.timeout: milliseconds in some programs, seconds in others; write "1800ms" or "1800s"`,
		server(`{"command": "x", "timeout": -1}`):                                        `want text such as "90s", a number of seconds below 1,000, or`,
		server(`{"command": "x", "timeout": -18446744073}`):                              `want text such as "90s", a number of seconds below 1,000, or`, // times 1e9 it is positive in 64 bits
		server(`{"command": "x", "timeout": 30.5}`):                                      `want text such as "90s", a number of seconds below 1,000, or`,
		server(`{"command": "x", "timeout": "25h"}`):                                     "up to 24 hours",
		server(`{"command": "x", "timeout": 86400001}`):                                  "up to 24 hours",
		server(`{"command": "x", "timeout": {"request": 1}}`):                            `want text such as "90s", a number of seconds below 1,000, or`,
		server(`{"command": "x", "includeTools": []}`):                                   "s.includeTools: allows no tool",
		server(`{"url": "https://a.example", "oauth": {"clientid": "x"}}`):               `s.oauth.clientid: unknown key; did you mean "clientId"?`,
		server(`{"url": "https://a.example", "oauth": {"scope": "x", "scopes": ["y"]}}`): `s.oauth.scopes: has the meaning of "scope" on line 1; give one of them`,
		server(`{"url": "https://a.example", "oauth": {"enabled": "false"}}`):            "s.oauth.enabled: want true or false, got a string",
		server(`{"url": "https://a.example", "oauth": "false"}`):                         "s.oauth: want an object, got a string",
		server(`{"url": "https://a.example", "oauth": {"callbackPort": 0}}`):             "s.oauth.callbackPort: want a port from 1 to 65535",
		server(`{"url": "https://a.example", "oauth": {"clientSecret": "x"}}`):           "s.oauth: has a client secret and no client id",
		server(`{"url": "https://a", "oauth": {}, "headers": {"authorization": "x"}}`):   "s.oauth: does not go with the header Authorization",
		server(`{"url": "https://a.example", "oauth": {"tokenUrl": "https://x"}}`):       "s.oauth.tokenUrl: not supported: the server names its authorization server",
		server(`{"url": "https://a.example", "oauth": {"redirectUri": "http://x"}}`):     "s.oauth.redirectUri: not supported: the redirect URI is http://127.0.0.1:PORT/callback",
		server(`{"url": "https://a.example", "authProviderType": "google_credentials"}`): "s.authProviderType: not supported: use",
		server(`{"command": "x", "env": {"A": "$UNSET_X"}}`):                             "s.env.A: environment variable UNSET_X is not set",
		server(`{"command": "x", "env": {"A": "${HOME:-${PATH}}"}}`):                     "s.env.A: the default of ${HOME:-…} has a variable; write text only",
		`{"excludeMCPServers": ["s"], "mcpServers": {"s": {"command": "x"}}}`:            `excludeMCPServers: not supported: write "disabled": true in the servers`,
		`{"mcp": {"serverCommand": "x"}, "mcpServers": {}}`:                              "mcp.serverCommand: not supported: write a server",
	} {
		check.Contains(t, text, mistake(t, &all, text), want)
	}
}

// A server is not used without the settings that its program ignores.
func TestSettingsOfTheProgram(t *testing.T) {
	for entry, want := range map[string]string{
		`{"command": "x", "includeTools": ["a"]}`:                                    "s.includeTools: not supported",
		`{"command": "x", "disabledTools": ["a"]}`:                                   "s.disabledTools: not supported",
		`{"command": "x", "tools": ["*"], "excludeTools": ["a"]}`:                    "s.excludeTools: not supported",
		`{"url": "https://example.com", "oauth": {"clientId": "c"}}`:                 "s.oauth: not supported",
		`{"url": "https://example.com", "oauth": {}, "tools": ["*"], "timeout": 60}`: "",
	} {
		got := mistake(t, new(config.Loader), `{"mcpServers": {"s": `+entry+`}}`)
		check.That(t, (got == "") == (want == "") && strings.Contains(got, want), "%s: got %q, want %q", entry, got, want)
	}
}

func TestEmptyVariableInAHeader(t *testing.T) {
	t.Setenv("EMPTY", "")
	for value, want := range map[string]string{
		"Bearer ${EMPTY}":       "s.headers.A: environment variable EMPTY is empty; set it, or write ${EMPTY:-} if it may be empty",
		"Bearer ${env:MISSING}": "environment variable MISSING is not set",
		"Bearer ${EMPTY:-}":     "",
		"":                      "",
	} {
		text := `{"servers": {"s": {"url": "https://example.com/${EMPTY}", "headers": {"A": "` + value + `"}}}}`
		got := mistake(t, new(config.Loader), text)
		check.That(t, (got == "") == (want == "") && strings.Contains(got, want), "%s: got %q, want %q", value, got, want)
	}
}

const withInputs = `{
	"inputs": [
		{"type": "promptString", "id": "key", "description": "The key", "password": true},
		{"type": "pickString", "id": "place", "default": "b", "options": ["a", {"label": "Bee", "value": "b"}, {"label": "C", "value": "Bee"}]},
		{"type": "command", "id": "run", "command": "x"}],
	"servers": {
		"one": {"url": "https://${input:place}.example/", "headers": {"Authorization": "Bearer ${input:key}"}},
		"two": {"command": "x", "env": {"KEY": "${input:key}"}},
		"run": {"command": "${input:run}"},
		"none": {"command": "${input:none}"},
		"off": {"command": "${input:none}", "disabled": true}}}`

// Each input of the used servers is asked for once.
func TestInputs(t *testing.T) {
	var asked []config.Input
	l := config.Loader{Input: func(_ context.Context, in *config.Input) (string, error) {
		asked = append(asked, *in)
		return map[string]string{"key": "k", "place": "Bee"}[in.ID], nil
	}}
	cfg := check.Value(l.LoadData(t.Context(), "mcp.json", []byte(withInputs)))(t)
	check.Same(t, "asked", asked, []config.Input{
		{ID: "place", Default: "Bee", Choices: []string{"a", "Bee", "C"}},
		{ID: "key", Description: "The key", Password: true},
	}, cmpopts.IgnoreUnexported(config.Input{}))
	for i, w := range []mcpclient.Transport{
		&mcpclient.HTTP{URL: "https://b.example/", Header: http.Header{"Authorization": {"Bearer k"}}},
		&mcpclient.Command{Path: "x", Env: []string{"KEY=k"}},
	} {
		check.Same(t, "", cfg[i].Transport, w)
	}
	for _, s := range cfg[2:4] {
		check.That(t, s.Err != nil && strings.Contains(s.Err.Error(), "there is no input with the id"), "%s: got %v, want it unknown", s.Name, s.Err)
	}
}

// A refused answer and a choice that does not exist are mistakes of the servers that need it, without the answer.
func TestWrongInputs(t *testing.T) {
	refused := errors.New("nobody is there")
	l := config.Loader{Only: []string{"two", "one"}, Input: func(_ context.Context, in *config.Input) (string, error) {
		if in.ID == "key" {
			return "", refused
		}
		return "hunter2", nil
	}}
	const want = `mcp.json:7: servers.one.url: input "place": answer is not one of the choices
mcp.json:8: servers.two.env.KEY: input "key": nobody is there`
	check.Equal(t, "", mistake(t, &l, withInputs), want)
}

func TestOnly(t *testing.T) {
	l := &config.Loader{Only: []string{"b"}}
	const two = `{"servers": {"a": {"comand": "x"}, "b": {"command": "x"}}}`
	cfg := check.Value(l.LoadData(t.Context(), "mcp.json", []byte(two)))(t)
	check.That(t, len(cfg) == 1 && cfg[0].Name == "b" && cfg[0].Err == nil, "got %+v, want b alone", cfg)
	var many, names []string
	for i := range 30 {
		names = append(names, fmt.Sprintf(`"server%02d"`, i))
		many = append(many, names[i]+": {}")
	}
	for only, tt := range map[string]struct{ text, want string }{
		"c":       {two, `there is no server "c"; the file has "a", "b"`},
		"serve07": {`{"servers": {` + strings.Join(many, ",") + `}}`, `there is no server "serve07"; did you mean "server07"? the file has ` + strings.Join(names[:20], ", ") + `, 10 more`},
		"unlike":  {`{"servers": {` + strings.Join(many, ",") + `}}`, `there is no server "unlike"; the file has ` + strings.Join(names[:20], ", ") + `, 10 more`},
	} {
		l.Only = []string{only}
		got := mistake(t, l, tt.text)
		check.That(t, strings.HasSuffix(got, tt.want), "got %q, want %q", got, tt.want)
	}
}

// A preview shows what a file says, and neither a variable nor another file.
func TestParsePreview(t *testing.T) {
	t.Setenv("KEY", "hunter2")
	cfg, err := config.ParsePreview("mcp.json", []byte(`{"inputs": [], "mcpServers": {
		"one": {"command": "${KEY}", "args": ["${input:x}", "$${y}", "${Z:-z}"], "env": {"A": "${KEY}"}, "envFile": "/none", "tools": ["t"]},
		"open": {"type": "${T:-stdio}", "command": "x", "timeout": "${T:-90s}", "revision": "${T:-2025-11-25}", "start": "${T:-lazy}"},
		"two": {"url": "https://${KEY}/mcp", "headers": {"Authorization": "$KEY"}, "oauth": {"clientId": "c"}},
		"bad": {"comand": "x"}, "type": {"type": "x", "command": "x"}, "timeout": {"command": "x", "timeout": "x"},
		"revision": {"command": "x", "revision": "x"}, "start": {"command": "x", "start": "x"}, "url": {"url": "x"}}}`))
	check.Must(t, err)
	want := []mcpclient.Transport{
		&mcpclient.Command{Path: "${KEY}", Args: []string{"${input:x}", "${y}", "${Z:-z}"}, Env: []string{"A=${KEY}"}},
		&mcpclient.Command{Path: "x"},
		&mcpclient.HTTP{URL: "https://${KEY}/mcp", Header: http.Header{"Authorization": {"$KEY"}}},
	}
	for i, w := range want {
		diff := cmp.Diff(w, cfg[i].Transport)
		check.That(t, diff == "" && cfg[i].Err == nil, "got %v, -want +got\n%s", cfg[i].Err, diff)
	}
	for _, s := range cfg[len(want):] {
		check.That(t, s.Err != nil, "%s: got no mistake", s.Name)
	}
}
