package agenteval

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/evals/agent/model"
	"github.com/mcpchain/mcpchain/evals/agent/results"
	"github.com/mcpchain/mcpchain/evals/agent/suite"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/models"
)

// theKey is the key of models in tests, and a word of a prompt.
const theKey = "xyzzy42plugh"

// endpoint is an OpenAI-compatible server that says what the scripts of a suite say. It knows an agent by its
// system prompt or its task, and the step by the replies before it. It refuses conversations with the
// text "out of order".
func endpoint(t *testing.T, yaml string) model.Spec {
	t.Helper()
	s, err := suite.Parse([]byte(yaml))
	check.Must(t, err)
	scripts := map[string][]suite.Step{}
	for _, task := range s.Tasks {
		scripts[task.Prompt] = task.Script
		for _, a := range task.Agents {
			scripts[a.System] = a.Script
		}
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Messages []struct {
				Role    string
				Content json.RawMessage
			}
		}
		err := json.NewDecoder(r.Body).Decode(&in)
		var script []suite.Step
		replies := 0
		for _, m := range in.Messages {
			if m.Role == "assistant" {
				replies++
			}
			for text, steps := range scripts {
				if script == nil && text != "" && strings.Contains(string(m.Content), text) {
					script = steps
				}
			}
			if strings.Contains(string(m.Content), "out of order") {
				http.Error(w, `{"error":{"message":"no such model"}}`, http.StatusBadRequest)
				return
			}
		}
		if err != nil || replies >= len(script) {
			http.Error(w, fmt.Sprintf(`{"error":{"message":"step %d of %d, %v"}}`, replies, len(script), err), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(completion(replies, script[replies])) // the client may be gone
	}))
	t.Cleanup(web.Close)
	return model.Spec{Mode: results.Live, Endpoint: models.Model{Name: "small-1", BaseURL: web.URL + "/v1", Key: theKey}}
}

// completion is a step as the API has it.
func completion(at int, step suite.Step) map[string]any {
	message := map[string]any{"role": "assistant", "content": step.Say}
	var calls []any
	for i, c := range step.Calls {
		calls = append(calls, map[string]any{"id": fmt.Sprintf("c%d_%d", at, i), "type": "function", "function": map[string]any{"name": c.Tool, "arguments": string(c.Args)}})
	}
	reason := "stop"
	if calls != nil {
		message["tool_calls"], reason = calls, "tool_calls"
	}
	return map[string]any{
		"id": "x", "object": "chat.completion", "model": "small-1", "choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": reason}},
		"usage": map[string]any{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
	}
}
