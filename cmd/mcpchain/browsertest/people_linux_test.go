package browsertest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpchain/mcpchain/internal/testenv"
)

// TestPeopleAtOneServer has two users with two windows each, whose forms of one server over standard input and output are open at
// the same time: each answer reaches its own call. When the server's processes are killed, the log says so, and the next call works.
func TestPeopleAtOneServer(t *testing.T) {
	t.Parallel()
	set := testenv.InstallNPM(t, os.DirFS(filepath.Join("..", "..", "..", "evals", "interop", "testdata", "npm")))
	script := set.Module("@modelcontextprotocol/server-everything/dist/index.js")
	p := start(t, "-config", write(t, "mcp.json", fmt.Sprintf(`{"mcpServers": {"everything": {"command": %q, "args": [%q, "stdio"]}}}`, set.Node(), script)))
	ada, grace := visit(t, p, "Ada"), visit(t, p, "Grace")
	all := []*person{ada, grace, open(t, p, ada), open(t, p, grace)}
	for _, w := range all {
		w.ask("call trigger-elicitation-request {}")
	}
	for _, w := range all {
		w.click(".card.approval button", "Allow")
	}
	for _, w := range all {
		w.see(".card.form", "everything")
	}
	ada.shoot("a form of a process of one's own")
	for i, w := range all {
		w.fill("String", fmt.Sprint("Name ", i))
		w.click(".card.form button", "Send")
	}
	for i, w := range all {
		w.see(".reply .prose", fmt.Sprint("Name ", i))
	}
	if n := testenv.KillChildren(t, script); n == 0 {
		t.Fatal("the server has no process")
	}
	p.logs(t, "a server is lost, and is reached again")
	p.logs(t, "a server is there again")
	ada.ask("call echo {\"message\":\"back\"}")
	ada.click(".card.approval button", "Allow")
	ada.see(".reply:last-of-type .prose", "Echo: back")
}
