package chat

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/fakehost"
)

// TestModelsOfToday uses models of OpenAI that take tools at one of its APIs only, with and without an effort.
func TestModelsOfToday(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"-model gpt-6-astra", "-model gpt-6-astra -effort high", "-model gpt-5.6-sol", "-model gpt-5.6-sol -effort high", "-model gpt-6-sol -model-api chat"} {
		host := &fakehost.OpenAI{Key: "key-1", Reply: func(r *fakehost.OpenAIRequest) []fakehost.Block {
			if strings.Contains(string(r.Body), `"call_1"`) {
				return []fakehost.Block{{Type: "reasoning", Text: "Now I know."}, {Type: "text", Text: "It is 42."}}
			}
			return []fakehost.Block{{Type: "reasoning", Text: "Add them."}, {Type: "call", ID: "call_1", Name: "add", Arguments: `{"a":17,"b":25}`}}
		}}
		server := httptest.NewServer(host)
		t.Cleanup(server.Close)
		cmd := command(t, strings.Fields(args+" -host openai -demo -yes -base-url "+server.URL+"/v1")...)
		cmd.Env = append(cmd.Env, "OPENAI_API_KEY=key-1")
		o := finish(t, cmd, "What is 17 plus 25?\n")
		if o.status != 0 || o.stdout != "It is 42.\n" || len(host.Invalid()) > 0 || len(host.Requests()) != 2 {
			t.Fatalf("%s: got %+v, refused %q", args, o, host.Invalid())
		}
		want := "/v1/responses"
		if strings.HasSuffix(args, "chat") {
			want = "/v1/chat/completions"
		}
		if got := host.Requests()[0]; got.Path != want || strings.Contains(args, "high") != strings.Contains(string(got.Body), `"effort":"high"`) {
			t.Errorf("%s: got %s %s", args, got.Path, got.Body)
		}
	}
}
