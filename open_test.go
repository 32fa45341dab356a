//lint:file-ignore SA1019 servers still use sampling, which the SDK calls deprecated

package mcpchain

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/oauth"
)

func linkOf(t *testing.T, address string) *hosttext.Link {
	t.Helper()
	return check.Value(hosttext.ParseLink(address))(t)
}

// serve serves tools over HTTP: add, which asks nobody, and ask, which borrows the model.
func serve(t *testing.T) (url string) {
	server := sdk.NewServer(&sdk.Implementation{Name: "s", Version: "1"}, nil)
	type pair struct{ A, B int }
	sdk.AddTool(server, &sdk.Tool{Name: "add"}, func(_ context.Context, _ *sdk.CallToolRequest, in pair) (*sdk.CallToolResult, any, error) {
		return nil, map[string]int{"sum": in.A + in.B}, nil
	})
	sdk.AddTool(server, &sdk.Tool{Name: "ask"}, func(_ context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		switch reply := r.Params.InputResponses["q"].(type) {
		case *sdk.CreateMessageResult:
			return &sdk.CallToolResult{Content: []sdk.Content{reply.Content}}, nil, nil
		case *sdk.CreateMessageWithToolsResult:
			return &sdk.CallToolResult{Content: reply.Content}, nil, nil
		}
		return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"q": &sdk.CreateMessageParams{
			MaxTokens: 9, Messages: []*sdk.SamplingMessage{{Role: "user", Content: &sdk.TextContent{Text: "Hi"}}},
		}}}, nil, nil
	})
	h := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	t.Cleanup(h.Close)
	return h.URL
}

// file writes an mcp.json.
func file(t *testing.T, servers map[string]any) string {
	data := check.Value(json.Marshal(map[string]any{"mcpServers": servers}))(t)
	path := filepath.Join(t.TempDir(), "mcp.json")
	check.Must(t, os.WriteFile(path, data, 0o600))
	return path
}

// TestOpen uses the servers that work, and reports the others to the program and the person.
func TestOpen(t *testing.T) {
	var shown strings.Builder
	h, err := Open(t.Context(), file(t, map[string]any{
		"good":   map[string]any{"url": serve(t), "includeTools": []string{"add", "ad"}, "timeout": "3s"},
		"typo":   map[string]any{"comand": "x"},
		"absent": map[string]any{"command": "no-such-program-here"},
		"locked": map[string]any{"url": protected(t, func() {})},
	}), &Options{Tokens: oauth.NewMemoryStore(), Terminal: &Terminal{In: strings.NewReader(""), Out: &shown}})
	check.Must(t, err)
	defer h.Close()
	all := h.Tools().Catalog(profile.Plain).Tools()
	check.That(t, len(all) == 1 && all[0].Name() == "add", "got %v, want the tool that the file allows", all)
	left := map[string]adapter.ServerStatus{}
	for _, s := range h.Problems() {
		left[s.Name] = s
	}
	check.That(t, len(left) == 4 && left["typo"].Err != nil && left["absent"].Err != nil && left["locked"].Err != nil && len(left["good"].Unmatched) == 1, "got %v", left)
	for _, want := range []string{`comand: unknown key`, `no-such-program-here`, `server "good" has no tool "ad"`, "wants you to sign in at"} {
		check.Contains(t, "the person saw", shown.String(), want)
	}
}

// TestNoPlaceForTokens has no folder for tokens that can be written, as in a container: servers that need no token work.
func TestNoPlaceForTokens(t *testing.T) {
	servers := file(t, map[string]any{"good": map[string]any{"url": serve(t)}, "locked": map[string]any{"url": protected(t, func() {})}})
	t.Setenv("HOME", servers) // a file
	t.Setenv("XDG_CONFIG_HOME", servers)
	t.Setenv("AppData", servers)
	var shown strings.Builder
	for _, terminal := range []*Terminal{nil, {In: strings.NewReader(""), Out: &shown}} {
		h := check.Value(Open(t.Context(), servers, &Options{Terminal: terminal}))(t)
		defer h.Close()
		check.Equal(t, "tools", len(h.Tools().Catalog(profile.Plain).Tools()), 2)
		check.That(t, terminal != nil || strings.Contains(h.Problems()[0].Err.Error(), "file store: "), "got %v, want why there are no tokens", h.Problems())
	}
	check.Contains(t, "the person saw", shown.String(), "a sign-in lasts until the end of the program only: file store: ")
}

// TestLateSignIn asks the person to sign in to a server that Open does not wait for.
func TestLateSignIn(t *testing.T) {
	opened := make(chan struct{})
	shown := make(writes, 100)
	h, err := Open(t.Context(), file(t, map[string]any{
		"good": map[string]any{"url": serve(t)}, "late": map[string]any{"url": protected(t, func() { <-opened })},
	}), &Options{
		Tokens:   oauth.NewMemoryStore(),
		Terminal: &Terminal{In: strings.NewReader(""), Out: shown},
		Toolset:  &adapter.Options{OpenWait: time.Nanosecond},
	})
	close(opened)
	check.Must(t, err)
	defer h.Close()
	for !strings.Contains(<-shown, `"late" wants you to sign in at`) {
	}
}

// writes has each text that is written.
type writes chan string

func (w writes) Write(p []byte) (int, error) {
	w <- string(p)
	return len(p), nil
}

// protected returns a server that requires a sign-in, with its authorization server. It answers when ready returns.
func protected(t *testing.T, ready func()) string {
	mux := http.NewServeMux()
	h := httptest.NewServer(mux)
	t.Cleanup(h.Close)
	for path, fixed := range map[string]map[string]any{
		"/.well-known/oauth-protected-resource/mcp": {"resource": h.URL + "/mcp", "authorization_servers": []string{h.URL}},
		"/.well-known/oauth-authorization-server": {
			"issuer": h.URL, "authorization_endpoint": h.URL + "/authorize", "token_endpoint": h.URL + "/token", "registration_endpoint": h.URL + "/register",
			"code_challenge_methods_supported": []string{"S256"}, "response_types_supported": []string{"code"},
		},
		"/register": {"client_id": "c"},
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			reply := maps.Clone(fixed)
			if r.Method == http.MethodPost { // a client registers
				_ = json.NewDecoder(r.Body).Decode(&reply)
				w.WriteHeader(http.StatusCreated)
			}
			_ = json.NewEncoder(w).Encode(reply)
		})
	}
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, _ *http.Request) {
		ready()
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+h.URL+`/.well-known/oauth-protected-resource/mcp"`)
		w.WriteHeader(http.StatusUnauthorized)
	})
	return h.URL + "/mcp"
}

// TestAgentOfAHost lends the agent's model to a server after the person's consent.
func TestAgentOfAHost(t *testing.T) {
	t.Setenv("OPENAI_MODEL", "m")
	t.Setenv("OPENAI_API_KEY", "k")
	t.Setenv("OPENAI_BASE_URL", completions(t))
	for typed, want := range map[string]string{"y\ny\n": "pong", "y\nn\n": "not approved", "y\n": "not here"} {
		var shown strings.Builder
		strict := func(context.Context, *approval.Request) (approval.Decision, error) {
			return approval.Decision{Allow: typed != "y\n", Reason: "not here"}, nil // before the person is asked
		}
		h := check.Value(Open(t.Context(), file(t, map[string]any{"s": map[string]any{"url": serve(t)}}), &Options{
			Tokens: oauth.NewMemoryStore(), Terminal: &Terminal{In: strings.NewReader(typed), Out: &shown}, Toolset: &adapter.Options{Approve: strict}}))(t)
		defer h.Close()
		result, err := check.Value(h.Agent(nil, nil))(t).Run(t.Context(), agent.Text("go"))
		check.That(t, err == nil && strings.Contains(result.Output, want) && strings.Contains(shown.String(), `"s" asks the model:`) == (typed != "y\n"),
			"%q: got %+v, %v, and the person saw %q", typed, result, err, &shown)
	}
}

// completions serves a model that calls the tool ask and repeats its result. To the server's request it answers pong.
func completions(t *testing.T) string {
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Tools    []any
			Messages []struct{ Role, Content string }
		}
		_ = json.NewDecoder(r.Body).Decode(&request)
		last := request.Messages[len(request.Messages)-1]
		message := map[string]any{"role": "assistant", "content": "pong"}
		switch {
		case last.Role == "tool":
			message["content"] = last.Content
		case len(request.Tools) > 0:
			message = map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{
				"id": "1", "type": "function", "function": map[string]any{"name": "ask", "arguments": "{}"},
			}}}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"message": message, "finish_reason": "stop"}}})
	}))
	t.Cleanup(h.Close)
	return h.URL
}

// TestModelThatCannotBeLent checks that the server gets the reason.
func TestModelThatCannotBeLent(t *testing.T) {
	l := new(lender)
	check.Must(t, l.lend(agenttest.Play(), nil))
	check.Text(t, check.Err(l.CreateMessage(t.Context(), &mcp.CreateMessageParams{})), "no model that servers can borrow")
}

// TestFromEnv checks that OPENAI_MODEL takes precedence, and that no model is returned with an error.
func TestFromEnv(t *testing.T) {
	for _, tt := range []struct{ openai, key, anthropic, want, model string }{
		{"", "", "", "no model: set OPENAI_MODEL", ""},
		{"m", "", "c", "neither OPENAI_API_KEY nor OPENAI_BASE_URL", ""},
		{"m", "k", "c", "", "m"},
		{"", "k", "claude-opus-4-7", "", "claude-opus-4-7"},
	} {
		t.Setenv("OPENAI_BASE_URL", "")
		t.Setenv("OPENAI_MODEL", tt.openai)
		t.Setenv("OPENAI_API_KEY", tt.key)
		t.Setenv("ANTHROPIC_MODEL", tt.anthropic)
		t.Setenv("ANTHROPIC_API_KEY", tt.key)
		m, err := ModelFromEnv()
		if tt.want != "" {
			check.Text(t, err, tt.want)
			check.Equal(t, tt, m, nil)
		} else {
			check.Must(t, err)
			check.Equal(t, tt, m.Info().Name, tt.model)
		}
	}
}

// TestAskWithoutAModel does not read the file, whose servers would be started.
func TestAskWithoutAModel(t *testing.T) {
	t.Setenv("OPENAI_MODEL", "")
	t.Setenv("ANTHROPIC_MODEL", "")
	check.Text(t, check.Err(Ask(t.Context(), "none.json", "go", nil)), "no model: set OPENAI_MODEL")
}

// TestModelOfTheEnvironment uses the model in an agent, which lends it to a server.
func TestModelOfTheEnvironment(t *testing.T) {
	t.Setenv("OPENAI_MODEL", "")
	t.Setenv("ANTHROPIC_MODEL", "")
	h := check.Value(Open(t.Context(), file(t, map[string]any{"s": map[string]any{"url": serve(t)}}),
		&Options{Tokens: oauth.NewMemoryStore(), Terminal: &Terminal{In: strings.NewReader("y\ny\n"), Out: io.Discard}}))(t)
	defer h.Close()
	check.Text(t, check.Err(h.Ask(t.Context(), "go")), "no model: set OPENAI_MODEL")

	t.Setenv("OPENAI_MODEL", "m")
	t.Setenv("OPENAI_API_KEY", "k")
	t.Setenv("OPENAI_BASE_URL", completions(t))
	check.Contains(t, "what the server had from the model", check.Value(h.Ask(t.Context(), "go"))(t).Output, "pong")
}
