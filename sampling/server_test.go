//lint:file-ignore SA1019 sampling is deprecated, but servers use it

package sampling

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv/peer"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// connect reaches a server of the official SDK whose tool "poem" asks for a
// completion and whose tool "poems" for two, at a revision of either era.
func connect(t *testing.T, revision string, s *Sampler) *mcpclient.Client {
	t.Helper()
	server := sdk.NewServer(&sdk.Implementation{Name: "poet", Version: "1"}, nil)
	server.AddTool(&sdk.Tool{Name: "poem", InputSchema: json.RawMessage(`{"type":"object"}`)}, poem)
	server.AddTool(&sdk.Tool{Name: "poems", InputSchema: json.RawMessage(`{"type":"object"}`)}, poems)
	client := check.Value(mcpclient.Connect(t.Context(), peer.Connect(t, server),
		&mcpclient.Options{Protocol: mcpclient.Protocol{Revision: revision}, Sampling: s}))(t)
	t.Cleanup(func() { client.Close() })
	return client
}

func poem(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	answer, ok := r.Params.InputResponses["poem"].(*sdk.CreateMessageWithToolsResult)
	if !ok {
		return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"poem": poemPlease()}}, nil
	}
	text := fmt.Sprintf("%s says %q and stops for %s", answer.Model, answer.Content[0].(*sdk.TextContent).Text, answer.StopReason)
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil
}

func poems(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	if len(r.Params.InputResponses) < 2 {
		return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"one": poemPlease(), "two": poemPlease()}}, nil
	}
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "two poems"}}}, nil
}

func poemPlease() *sdk.CreateMessageParams {
	messages := []*sdk.SamplingMessage{{Role: "user", Content: &sdk.TextContent{Text: "A poem, please"}}}
	return &sdk.CreateMessageParams{MaxTokens: 10, SystemPrompt: "Rhyme.", Messages: messages}
}

// Each call has its own budget without help of the host, even if calls of two clients have the same ids. The same holds
// if the host names them by the ids of models, which count from 0 in each conversation.
func TestBudgetOfACallByItsOrigin(t *testing.T) {
	named := func(context.Context) (server, call string) { return "poet", "call_0" }
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		for name, origin := range map[string]func(context.Context) (server, call string){"": nil, "call_0": named} {
			t.Run(revision+" "+name, func(t *testing.T) {
				h := newHost(t, answering(plainAnswer))
				var mu sync.Mutex
				calls := map[string]int{}
				s := h.sampler(t, &Options{Limits: Limits{PerCall: Budget{Requests: 2}}, Origin: origin, Audit: auditTo(t, func(r record) {
					mu.Lock()
					defer mu.Unlock()
					calls[r.Call]++
				})})
				first, second := connect(t, revision, s), connect(t, revision, s)
				for _, c := range []*mcpclient.Client{first, first, second, second} {
					got, err := c.CallTool(t.Context(), "poems", nil)
					check.That(t, err == nil && got.Text() == "two poems", "got %+v, %v", got, err)
				}
				if name != "" {
					check.Same(t, "requests with the host's name of the call", calls, map[string]int{name: 8})
				} else { // both clients use the same ids
					for call, n := range calls {
						check.That(t, call != "" && n == 4, "got %d requests of call %q, want 4", n, call)
					}
				}
				check.Equal(t, "accounts of calls", len(s.governor.calls), 4)

				s = h.sampler(t, &Options{Limits: Limits{PerCall: Budget{Requests: 1}}, Origin: origin})
				got, err := connect(t, revision, s).CallTool(t.Context(), "poems", nil)
				check.That(t, err != nil || got.IsError, "got %+v, want the second request of the call refused", got)
			})
		}
	}
}

func TestServerOfTheOfficialSDK(t *testing.T) {
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			h := newHost(t, answering(plainAnswer))
			var origin mcp.Origin
			client := connect(t, revision, h.sampler(t, &Options{Review: &Review{
				Request: func(_ context.Context, r *Request) error { origin = r.requester.origin; return nil },
			}}))
			got := check.Value(client.CallTool(t.Context(), "poem", nil))(t)
			check.Equal(t, "", got.Text(), `gpt-4.1-2025-04-14 says "Hello" and stops for endTurn`)
			equalJSON(t, h.Last(), `{"model":"gpt-4.1","max_completion_tokens":10,"stream":false,
				"messages":[{"role":"system","content":"Rhyme."},{"role":"user","content":"A poem, please"}]}`)
			check.That(t, origin.Server.Info.Name == "poet" && origin.Call != nil && origin.Call.Name == "poem",
				"the reviewer was told of %+v in %+v, want poet in poem", origin.Server.Info, origin.Call)
		})
	}
}

func TestRefusalReachesTheServer(t *testing.T) {
	h := newHost(t, answering(plainAnswer))
	client := connect(t, "2025-11-25", h.sampler(t, &Options{Review: &Review{
		Request: func(context.Context, *Request) error { return fmt.Errorf("never mind %s", testKey) },
	}}))
	got, err := client.CallTool(t.Context(), "poem", nil)
	text := fmt.Sprint(err)
	if err == nil {
		text = got.Text()
	}
	check.That(t, strings.Contains(text, "the request was not approved") && !strings.Contains(text, testKey),
		"the server learned %q, want that the request was not approved", text)
	h.wantAsked(t, 0)
}
