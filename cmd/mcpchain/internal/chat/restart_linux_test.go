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

// A restart uses the current entry of the file, and names servers that were added or removed.
func TestRestartReadsTheFile(t *testing.T) {
	t.Parallel()
	path := configure(t, "mine=good", `typo=!{"comand": "x"}`, "gone=good")
	o := converse(t, "/servers restart mine\n", "-config", path)
	check.That(t, o.status == 0 && !strings.Contains(o.stderr, "read again"), "got %d and %s, want no word of a file that is as it was", o.status, o.stderr)
	p := start(t, "-config", path, "-yes")
	p.await(p.stderr, "server gone: 7 tools")

	put(t, path, entries(t, "mine=thirteen", "typo=good", "other=good", `off=!{"command": "x", "disabled": true}`), 0o600)
	p.ask("/servers restart mine", p.stderr, "new in "+path+": other; /servers restart NAME connects to one")
	p.await(p.stderr, "not in "+path+" any more: gone; they run until the end of the program")
	p.await(p.stderr, path+":2: server \"mine\": is read again")
	p.await(p.stderr, "server mine: 13 tools")
	p.ask("/servers restart other", p.stderr, path+":4: server \"other\": is new")
	p.await(p.stderr, "server other: 7 tools")
	p.ask("/servers restart typo", p.stderr, "server typo: 7 tools")
	p.ask("/servers restart gone", p.stderr, "error: "+path+" does not name the server gone any more: it is left as it was")
	p.ask("/servers restart off", p.stderr, "error: "+path+`:5: server "off": is disabled: it is left as it was`)
	p.ask("/servers restart nothing", p.stderr, "error: no server nothing to restart; there are mine, gone, other, typo")

	put(t, path, entries(t, `mine=!{"comand": "x"}`, `other=!{"command": "no-such-program-here"}`), 0o600)
	p.ask("/servers restart mine", p.stderr, "error: "+path+`:2: server "mine": comand: unknown key`)
	p.ask("call mine__extra_0", p.stdout, "extra")
	p.say("/servers restart other")
	line := p.await(p.stderr, "error: ")
	check.That(t, strings.HasPrefix(line,
		"error: "+path+`:3: server "other": start "no-such-program-here": `), "got %q, want the place and the reason alone", line)
	p.close()
	p.wait(1) // commands failed
}

// A changed file of the folder is asked about again, and the content that was shown is used.
func TestRestartAsksAgain(t *testing.T) {
	t.Parallel()
	cmd := inProject(t)
	path := filepath.Join(cmd.Dir, "mcp.json")
	put(t, path, entries(t, "mine=good"), 0o600)
	m := openScreenOf(t, cmd)
	m.enter("[y]es", "o", "server mine: 7 tools")
	put(t, path, entries(t, "mine=thirteen", "more=good"), 0o600)
	m.ask("/servers restart mine", "with CHATBOT_TEST_SERVER=thirteen")
	m.enter("[y]es", "n", "error: you did not allow what the file says: mine is left as it was")
	m.enter("you ›\n", "What is 1 plus 2?\r", "[y]es", "y", "1 + 2 = 3")

	m.enter("you ›\n", "/servers restart mine\r")
	m.until("the question is there again", func(s string) bool {
		return strings.Count(s, "with CHATBOT_TEST_SERVER=thirteen") == 2 && strings.Contains(s, "[y]es")
	})
	put(t, path, entries(t, "mine=workshop"), 0o600)
	m.typed("y")
	m.await("server mine: 13 tools") // not the 12 of the workshop
	m.ask("/servers restart mine", "has changed since you allowed it. It names:")
	m.enter("[y]es", "y", "server mine: 12 tools")
	m.leave()
}

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

// A server that cannot be reached at the start joins later, and the person is told.
func TestServerThatComesLate(t *testing.T) {
	t.Parallel()
	address := testenv.FreeAddress(t)
	p := start(t, "-config", configure(t, `late=!{"url": "http://`+address+`"}`), "-yes")
	p.await(p.stderr, "connection refused")
	listener, err := net.Listen("tcp", address)
	check.Must(t, err)
	late := tryout.NewServer()
	web := &http.Server{Handler: sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return late }, &sdk.StreamableHTTPOptions{Stateless: true}), ReadHeaderTimeout: time.Minute}
	defer web.Close()
	go func() { _ = web.Serve(listener) }()
	p.await(p.stderr, "the server late is there now; the next question can use its tools")
	p.ask("What is 17 plus 25?", p.stdout, "17 + 25 = 42")
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
	if o.status != 0 || !strings.Contains(o.stderr, "server mine: 7 tools, connected to by its first call") || !strings.Contains(o.stdout+o.stderr, "17 + 25 = 42") {
		t.Errorf("the next program: got %+v", o)
	}
	if before, after, _ := strings.Cut(o.stdout+o.stderr, "17 + 25"); !strings.Contains(before, "ready, connected to by its first call") && !strings.Contains(after, "ready, revision") {
		t.Errorf("got %+v, want the state before and after the call", o)
	}
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
