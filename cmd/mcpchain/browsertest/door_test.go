package browsertest_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
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

// behind starts the program behind a proxy, at a host. change may change the requests that the proxy passes on.
func behind(t *testing.T, host string, change func(*http.Request), args ...string) *program {
	t.Helper()
	t.Parallel()
	proxy := httptest.NewUnstartedServer(nil) // -origin has its port, which it holds
	_, port, _ := strings.Cut(proxy.Listener.Addr().String(), ":")
	origin := "http://" + host + ":" + port
	p := start(t, append(args, "-origin", origin)...)
	target := check.Value(url.Parse(p.url))(t)
	proxy.Config.Handler = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
		change(r.Out)
	}}
	proxy.Start()
	t.Cleanup(func() {
		proxy.CloseClientConnections()
		proxy.Close()
	})
	p.url = origin
	return p
}

// TestTwoBrowsersOfAUser has a proxy sign Ada in, so that her browsers have one session: neither ends the other's stream.
func TestTwoBrowsersOfAUser(t *testing.T) {
	var streams atomic.Int32
	p := behind(t, "127.0.0.1", func(r *http.Request) {
		r.Header.Set("X-User", "Ada")
		if r.URL.Path == "/api/events" {
			streams.Add(1)
		}
	}, "-user-from", "X-User", "-trusted-proxy", "127.0.0.1")
	laptop, phone := open(t, p, nil), open(t, p, nil)
	laptop.see("#user", "Ada")
	check.That(t, eval[bool](laptop, `document.getElementById("sign-out").hidden`), "the page offers to sign out, which only the proxy can do")
	phone.ask("What is 1 plus 1?", ".reply .prose", "2")
	laptop.see("#list", "What is 1 plus 1?")
	before := streams.Load()
	for _, answer := range []string{"101", "102", "103", "104"} {
		phone.ask("What is "+answer+" plus 0?", ".reply .prose", answer)
	}
	check.Equal(t, "streams", streams.Load(), before)
}

// TestWithoutHTTPS has a conversation at a name that is not this machine's own: browsers give such
// a page no locks and fewer functions.
func TestWithoutHTTPS(t *testing.T) {
	ada := visit(t, behind(t, "page.test", func(*http.Request) {}, "-demo-sign-in"), "Ada")
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
