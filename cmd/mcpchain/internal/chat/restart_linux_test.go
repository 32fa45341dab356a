package chat

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/internal/tryout"
)

// The program names a file that is not used with the demo model, and how to use it.
func TestFileBesideTheDemoModel(t *testing.T) {
	t.Parallel()
	cmd := command(t)
	cmd.Dir = t.TempDir()
	path := filepath.Join(cmd.Dir, "mcp.json")
	put(t, path, entries(t, "mine=good"), 0o600)
	const word = "servers: the demo server only, as there is no model of yours. The file mcp.json is not used: -base-url and -model name a model that uses it\n"
	finish(t, again(t, cmd), "hello\n").check(t, converse(t, "hello\n").stdout, 0, word)
	script := again(t, cmd)
	script.Args = append(script.Args, "-json", "-prompt", "hello")
	o := finish(t, script, "")
	o.check(t, o.stdout, 0, word)
	check.That(t, !strings.Contains(o.stdout, "mcp.json") && strings.Contains(o.stdout, `"problems":[]`), "got %s, want the word on stderr alone", o.stdout)
	demo := again(t, cmd)
	demo.Args = append(demo.Args, "-demo")
	o = finish(t, demo, "hello\n")
	check.That(t, !strings.Contains(o.stderr, "mcp.json"), "got %s, want no word if the demo server was asked for", o.stderr)
	m := openScreenOf(t, again(t, cmd))
	m.golden("demo-file")
	m.leave()

	// The file of the person is named by its path.
	check.Must(t, os.Remove(path))
	mine := filepath.Join(m.home(), ".config", "mcpchain", "mcp.json")
	check.Must(t, os.MkdirAll(filepath.Dir(mine), 0o700))
	put(t, mine, entries(t, "mine=good"), 0o600)
	o = finish(t, again(t, cmd), "hello\n")
	o.check(t, o.stdout, 0, "The file "+mine+" is not used: ")
}

// A server that cannot be reached at the start joins later, with its instructions, and the person is told.
func TestServerThatComesLate(t *testing.T) {
	t.Parallel()
	address := testenv.FreeAddress(t)
	p := start(t, "-config", configure(t, `late=!{"url": "http://`+address+`"}`), "-yes")
	p.await(p.stderr, "connection refused")
	listener := check.Value(net.Listen("tcp", address))(t)
	late := tryout.NewServer()
	web := &http.Server{Handler: sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return late }, &sdk.StreamableHTTPOptions{Stateless: true}), ReadHeaderTimeout: time.Minute}
	defer web.Close()
	go func() { _ = web.Serve(listener) }()
	p.await(p.stderr, "the server late is there now; the next question can use its tools")
	p.ask("What is 17 plus 25?", p.stderr, "server late tells the model: Tools for trying things out")
	p.await(p.stdout, "17 + 25 = 42")
}

// The first program connects to a lazy server and keeps its list of tools. The next one connects at the first call.
func TestLazyServer(t *testing.T) {
	t.Parallel()
	path, home := configure(t, "mine=!"+strings.TrimSuffix(entry(t, "good"), "}")+`, "start": "lazy"}`), t.TempDir()
	run := func(args ...string) outcome {
		cmd := command(t, append([]string{"-config", path, "-yes"}, args...)...)
		cmd.Env = append(cmd.Env, "XDG_CONFIG_HOME="+home)
		return finish(t, cmd, "/servers\nWhat is 17 plus 25?\n/servers\n")
	}
	if o := run(); o.status != 0 || strings.Contains(o.stderr, "by its first call") || !strings.Contains(o.stdout+o.stderr, "17 + 25 = 42") {
		t.Errorf("the first program: got %+v", o)
	}
	o := run()
	check.That(t, o.status == 0 && strings.Contains(o.stderr, "server mine: 7 tools, connected to by its first call") && strings.Contains(o.stdout+o.stderr, "17 + 25 = 42"),
		"the next program: got %+v", o)
	before, after, _ := strings.Cut(o.stdout+o.stderr, "17 + 25")
	check.That(t, strings.Contains(before, "ready, connected to by its first call") || strings.Contains(after, "ready, revision"), "got %+v, want the state before and after the call", o)
}

// The start does not wait for a slow server, which joins when it is ready.
func TestSlowServer(t *testing.T) {
	t.Parallel()
	slow, goOn := tryout.NewServer(), make(chan struct{})
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return slow }, &sdk.StreamableHTTPOptions{Stateless: true})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-goOn:
			handler.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	}))
	defer web.Close()
	m := openScreenOf(t, here(t, []string{"good", `slow=!{"url": "` + web.URL + `"}`}, "-yes"))
	m.await("server slow: is still being connected to")
	m.ask("What is 1 plus 2?", "The result: 1 + 2 = 3.")
	close(goOn)
	m.await("the server slow is there now")
	m.leave()
}
