package browsertest_test

import (
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/mcpchain/mcpchain/internal/check"
)

func write(t *testing.T, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	check.Must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// TestSignInByToken signs in by the token of a file, and is signed out when a hangup has the file read without it.
func TestSignInByToken(t *testing.T) {
	t.Parallel()
	users := write(t, "users.txt", "Ada 0123456789abcdef\n")
	p := start(t, "-users", users)
	ada := open(t, p, nil)
	ada.focused("#token")
	ada.accessible("sign-in by token")
	ada.expectErrors("400", "401")
	ada.press("fedcba9876543210" + kb.Enter)
	ada.see("#trouble", "no user has that name or token")
	ada.shoot("sign-in by token")
	eval[bool](ada, "(document.querySelector('#token').select(), true)")
	ada.press("0123456789abcdef" + kb.Enter)
	ada.see("#user", "Ada")
	check.That(t, !eval[bool](ada, "document.querySelector('#token').value !== ''"), "the page keeps the token")
	check.Must(t, os.WriteFile(users, []byte("Ada fedcba9876543210\n"), 0o600))
	check.Must(t, p.cmd.Process.Signal(syscall.SIGHUP))
	ada.await("fetch('/api/me').then(r => r.json()).then(me => !me.user)")
	ada.do(chromedp.Reload())
	ada.see("h1", "Who are you?")
}

// TestWithoutHTTPS has a conversation at a name that is not this machine's own: browsers give such
// a page no locks and fewer functions.
func TestWithoutHTTPS(t *testing.T) {
	t.Parallel()
	proxy := httptest.NewUnstartedServer(nil) // -origin has its port, which it holds
	_, port, _ := strings.Cut(proxy.Listener.Addr().String(), ":")
	origin := "http://page.test:" + port
	p := start(t, "-origin", origin, "-demo-sign-in")
	target := check.Value(url.Parse(p.url))(t)
	proxy.Config.Handler = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
	}}
	proxy.Start()
	t.Cleanup(func() {
		proxy.CloseClientConnections()
		proxy.Close()
	})
	p.url = origin
	ada := visit(t, p, "Ada")
	check.Require(t, !eval[bool](ada, "isSecureContext"), "the browser trusts the page")
	ada.ask("What is 1 plus 1?", ".reply .prose", "2")
	ada.reload()
	ada.see(".reply .prose", "2")
}

// TestServersWithMistakes shows on the panel which servers of the file are left out, and why.
func TestServersWithMistakes(t *testing.T) {
	ada := enter(t, "-config", write(t, "mcp.json", `{"mcpServers": {
		"files": {"comand": "file-server"},
		"search": {"command": "search-server", "timeout": 2000}
	}}`))
	ada.see("#troubles", `files: mcp.json:2: comand: unknown key; did you mean "command"?`, "milliseconds in some programs")
	ada.accessible("servers with mistakes")
	ada.ask("What is 1 plus 1?", ".reply .prose", "I am a demo model")
}

// TestTokensOfAnAnswer has a question need more tokens than its answer may use: the page says so in words.
func TestTokensOfAnAnswer(t *testing.T) {
	ada := enter(t, "-turn-tokens", "800")
	ada.ask("What is 17 plus 25?", ".note", "The answer used as many tokens as it may, and ended early.")
	ada.accessible("an answer that ended early")
}

// TestRoomOfAUser keeps as many conversations as there may be: the page says what to do, and takes
// the question when one is deleted.
func TestRoomOfAUser(t *testing.T) {
	ada := enter(t, "-stored", "1")
	ada.ask("What is 17 plus 25?", ".reply .prose", "42")
	ada.expectErrors("507")
	ada.click("#new", "New")
	ada.ask("hello", "#trouble", "you keep as many conversations as you may (1): delete one that you do not need")
	ada.await("document.querySelector('#question').value === 'hello'")
	ada.shoot("room of a user")
}
