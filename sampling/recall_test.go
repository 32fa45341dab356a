package sampling

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// The model's reasoning goes back to its host only in a conversation of the
// same server, even if another server repeats that conversation word for word.
func TestRecallIsOfOneServer(t *testing.T) {
	const thoughtful = `{"choices":[{"message":{"reasoning_content":"Secret of clinic.","tool_calls":[` +
		`{"id":"functions.search:0","function":{"name":"search","arguments":"{\"for\":\"x\"}"}}]}}]}`
	const (
		head = `{"maxTokens":9,"tools":[{"name":"search","inputSchema":{"type":"object"}}],"messages":[`
		user = `{"role":"user","content":{"type":"text","text":"Patient 7?"}}`
		tail = `,{"role":"assistant","content":{"type":"tool_use","id":"functions.search:0","name":"search","input":{"for": "x"}}},` +
			`{"role":"user","content":{"type":"tool_result","toolUseId":"functions.search:0","content":[]}}]}`
	)
	unnamed := func(s *Sampler) mcp.SamplingHandler { return s }
	named := func(name string) func(s *Sampler) mcp.SamplingHandler {
		return func(s *Sampler) mcp.SamplingHandler { return s.ForServer(name) }
	}
	for _, tt := range []struct {
		name          string
		first, second func(*Sampler) mcp.SamplingHandler
		history       string
		found         bool
	}{
		{"the same server", named("clinic"), named("clinic"), user, true},
		{"its other conversation", named("clinic"), named("clinic"), `{"role":"user","content":{"type":"text","text":"Repeat what you thought."}}`, false},
		{"another server", named("clinic"), named("evil"), user, false},
		{"one without a name", named("clinic"), unnamed, user, false},
		{"after one without a name", unnamed, named(""), user, true},
	} {
		h := newHost(t, answering(thoughtful, plainAnswer))
		s := h.sampler(t, &Options{Host: "moonshot"})
		answered(t, tt.first(s), head+user+`]}`)
		answered(t, tt.second(s), head+tt.history+tail)
		check.That(t, strings.Contains(h.Last(), "Secret of clinic.") == tt.found,
			"%s: got %s, want the reasoning in it: %t", tt.name, h.Last(), tt.found)
	}
}

// Servers without a host's name are told apart by their connections, since two servers can use the same name.
func TestRecallOfServersWithoutNames(t *testing.T) {
	s := newHost(t, answering(plainAnswer)).sampler(t, nil)
	first, second := connect(t, "2025-11-25", s), connect(t, "2025-11-25", s)
	for _, c := range []*mcpclient.Client{first, second, first} {
		check.Must(t, check.Err(c.CallTool(t.Context(), "poem", nil)))
	}
	check.Equal(t, "memories for two connections of servers with one name", len(s.memories.all), 2)
}

func TestRecallIsBounded(t *testing.T) {
	var r hostMemories
	kept := r.memory(&requester{label: "kept"})
	for i := range 3 * maxServers {
		r.memory(&requester{label: fmt.Sprint(i)})
		check.Require(t, r.memory(&requester{label: "kept"}) == kept, "a memory that is in use was forgotten")
	}
	check.Equal(t, "memories", len(r.all), maxServers)
}

// Two servers have conversations with the same ids at the same time: in each the host gets its own thoughts back.
func TestRecallAtOnce(t *testing.T) {
	h := newHost(t, func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Messages []thought }
		check.NoError(t, json.NewDecoder(r.Body).Decode(&asked))
		for _, m := range asked.Messages[1:] {
			check.That(t, m.Role != "assistant" || m.Reasoning == "of "+asked.Messages[0].Content,
				"%q was sent the thought %q", asked.Messages[0].Content, m.Reasoning)
		}
		answering(fmt.Sprintf(`{"choices":[{"message":{"reasoning_content":%q,"tool_calls":[`+
			`{"id":"functions.f:0","function":{"name":"f","arguments":"{}"}}]}}]}`, "of "+asked.Messages[0].Content))(w, r)
	})
	s := h.sampler(t, &Options{Host: "moonshot"})
	var wg sync.WaitGroup
	for _, server := range []string{"a", "b"} {
		for i := range 10 {
			wg.Go(func() {
				p := question(t, fmt.Sprintf(`{"maxTokens":9,"tools":[{"name":"f"}],"messages":[{"role":"user","content":{"type":"text","text":"%s %d"}}]}`, server, i))
				first, err := s.ForServer(server).CreateMessage(t.Context(), p)
				if err != nil {
					t.Error(err)
					return
				}
				p.Messages = append(p.Messages, mcp.SamplingMessage{Role: "assistant", Content: first.Content},
					mcp.SamplingMessage{Role: "user", Content: []mcp.Content{&mcp.ToolResultContent{ToolUseID: "functions.f:0"}}})
				check.NoError(t, check.Err(s.ForServer(server).CreateMessage(t.Context(), p)))
			})
		}
	}
	wg.Wait()
	h.wantAsked(t, 40)
}

type thought struct {
	Role      string `json:"role"`
	Content   string `json:"content"`
	Reasoning string `json:"reasoning_content"`
}
