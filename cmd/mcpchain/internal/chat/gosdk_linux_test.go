package chat

import (
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/fakehost"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

// TestServerOfTheGoSDK calls tools of the official Go SDK's example server that ask the model and the person. The server
// asks as in an older revision than it speaks, so the first call is in doubt. After a kill the server is started again.
func TestServerOfTheGoSDK(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "everything")
	build := exec.Command("go", "build", "-o", program, "github.com/modelcontextprotocol/go-sdk/examples/server/everything")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the server: %v\n%s", err, out)
	}
	file := configure(t, `everything=!{"command":"`+program+`"}`)
	form := regexp.MustCompile(`"name":"(elicit[^"]*form[^"]*)"`)
	host := &fakehost.OpenAI{Key: "key-1", Reply: func(r *fakehost.OpenAIRequest) []fakehost.Block {
		body := string(r.Body)
		switch {
		case strings.Contains(body, `"call_3"`):
			return []fakehost.Block{{Type: "text", Text: "It is back."}}
		case strings.Contains(body, "Once more"):
			return []fakehost.Block{{Type: "call", ID: "call_3", Name: "greet", Arguments: `{"name":"again"}`}}
		case strings.Contains(body, `"call_2"`):
			return []fakehost.Block{{Type: "text", Text: "Both have worked."}}
		case strings.Contains(body, "the connection allows it now") && !strings.Contains(body, `"call_1b"`):
			return []fakehost.Block{{Type: "call", ID: "call_1b", Name: "sample", Arguments: `{}`}}
		case strings.Contains(body, `"call_1b"`):
			return []fakehost.Block{{Type: "call", ID: "call_2", Name: form.FindStringSubmatch(body)[1], Arguments: `{}`}}
		case strings.Contains(body, `"sample"`):
			return []fakehost.Block{{Type: "call", ID: "call_1", Name: "sample", Arguments: `{}`}}
		}
		return []fakehost.Block{{Type: "text", Text: "A text for the server."}}
	}}
	server := httptest.NewServer(host)
	t.Cleanup(server.Close)
	cmd := command(t, "-config", file, "-host", "openai", "-model", "gpt-5.6-sol", "-base-url", server.URL+"/v1")
	cmd.Env = append(cmd.Env, "OPENAI_API_KEY=key-1")
	m := openPlainOf(t, cmd)
	m.enter("you ›", "Try sample and elicit (form)\n")
	m.enter("Allow it?", "y\n")
	m.await("an older revision of the protocol: it is connected with 2025-11-25")
	m.await("may have acted before it asked")
	m.enter("Allow it?", "y\n")
	m.enter("Allow it, with its reply?", "y\n")
	m.await("← everything sample: A text for the server.")
	m.enter("Allow it?", "y\n")
	m.enter("random", "words\n")
	m.enter("Send this to everything?", "y\n")
	m.await("words")
	m.await("Both have worked.")
	if n := testenv.KillChildren(t, program); n == 0 {
		t.Fatalf("%s does not run", program)
	}
	m.await("everything is back")
	m.enter("you ›", "Once more\n")
	m.enter("Allow it?", "y\n")
	m.await("← everything greet: Hi again")
	m.await("It is back.")
	m.leave()
	if bad := host.Invalid(); len(bad) > 0 {
		t.Errorf("the host refused %q", bad)
	}
}
