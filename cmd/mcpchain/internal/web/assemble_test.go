package web

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/demoservers"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/internal/tryout"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// trial is the program with these flags, and its log. Its page is at 127.0.0.1:8080.
func trial(t *testing.T, args ...string) (http.Handler, *bytes.Buffer) {
	t.Helper()
	a, log := opened(t, args...)
	t.Cleanup(func() { check.NoError(t, a.close()) })
	return a.handler, log
}

func opened(t *testing.T, args ...string) (*app, *bytes.Buffer) {
	t.Helper()
	log := new(bytes.Buffer)
	args = append([]string{"-store", filepath.Join(t.TempDir(), "web.db"), "-views", "none"}, args...)
	o := check.Value(parseFlags(args, func(string) string { return "" }, log))(t)
	o.logger = slog.New(slog.NewTextHandler(log, nil))
	return check.Value(assemble(t.Context(), o, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}))(t), log
}

func served(t *testing.T, listener net.Listener) string {
	t.Helper()
	server := tryout.NewServer()
	web := httptest.NewUnstartedServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true}))
	if listener != nil {
		_ = web.Listener.Close()
		web.Listener = listener
	}
	web.Start()
	t.Cleanup(func() {
		web.CloseClientConnections() // streams that clients have open
		web.Close()
	})
	return web.URL
}

func inFile(t *testing.T, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	check.Must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func request(h http.Handler, method, path, body string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://127.0.0.1:8080"+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", "http://127.0.0.1:8080")
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// as signs in, and has requests come from that session.
func as(t *testing.T, h http.Handler, body string) func(*http.Request) {
	t.Helper()
	w := request(h, "POST", "/sign-in", body)
	check.Require(t, w.Code == http.StatusNoContent, "got %d %s, want a session", w.Code, w.Body)
	return func(r *http.Request) { r.AddCookie(w.Result().Cookies()[0]) }
}

// TestFileWithMistakes has each mistake leave out its server alone, and tells it in the log and on the panel.
func TestFileWithMistakes(t *testing.T) {
	file := inFile(t, "mcp.json", fmt.Sprintf(`{"mcpServers": {
		"good": {"url": %[1]q, "timeout": "90s", "excludeTools": ["ad", "add"]},
		"mine": {"url": %[1]q, "oauth": {"clientId": "x"}, "timeout": "90s"},
		"typo": {"comand": "x"},
		"odd": {"url": %[1]q, "timeout": 2000},
		"gone": {"command": "/does/not/exist"},
		"off": {"command": "x", "disabled": true}
	}}`, served(t, nil)))
	o := check.Value(parseFlags([]string{"-config", file, "-store", "x", "-user-header", "X-User"}, func(string) string { return "" }, new(bytes.Buffer)))(t)
	e, err := hosting.ReadEntries(t.Context(), o.config, &o.Hosting, true)
	check.That(t, err == nil && len(e.Shared) == 2 && e.Shared[0].Policy.IdleTimeout == 90*time.Second && len(e.Shared[0].Deny) == 2, "got %+v, %v, want the settings of the file", e.Shared, err)
	for _, s := range e.File { // a server that asks for a sign-in gets each user's own token
		h, isHTTP := s.Transport.(*mcpclient.HTTP)
		check.That(t, !isHTTP || h.WrapTransport == nil, "%s would get the name of the user beside a token", s.Name)
	}
	check.That(t, e.Shared[0].Transport.(*mcpclient.HTTP).WrapTransport != nil, "a shared server does not get the name of the user")
	h, log := trial(t, "-config", file)
	me := sharedBy(t, h, as(t, h, `{"name":"Ada"}`))
	check.That(t, len(me.Servers) == 1 && me.Servers[0] == "good", "got %+v, want the server that can be used", me)
	shown := fmt.Sprint(me.Troubles)
	for _, want := range []string{`mcp.json:4: comand: unknown key`, "mcp.json:5", "cannot be used; the log has the reason", "has no tool ad, which"} {
		check.Contains(t, "", shown, want)
	}
	check.That(t, len(me.Troubles) == 4 && !strings.Contains(shown, "/"), "got %s, want nothing of other servers, and no place of this machine", shown)
	for _, want := range []string{"server=typo", "server=odd", "server=gone", "server does not have\" server=good tool=ad"} {
		check.Contains(t, "the log", log.String(), want)
	}
}

// sharedBy is what the event stream says first of what all users share.
func sharedBy(t *testing.T, h http.Handler, signed func(*http.Request)) (s shared) {
	t.Helper()
	server := httptest.NewServer(h)
	defer server.Close()
	r := check.Value(http.NewRequestWithContext(t.Context(), "GET", server.URL+"/api/events", nil))(t)
	r.Host = "127.0.0.1:8080"
	signed(r)
	resp := check.Value(http.DefaultClient.Do(r))(t)
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for kind := ""; lines.Scan(); {
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			kind = name
		}
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && kind == "shared" {
			check.Must(t, json.Unmarshal([]byte(data), &s))
			return s
		}
	}
	t.Fatalf("got status %d and no word of the servers: %v", resp.StatusCode, lines.Err())
	return s
}

// TestOrigin tells browsers to use HTTPS alone if the page has it, and takes a proxy's word for the user.
func TestOrigin(t *testing.T) {
	h, _ := trial(t, "-origin", "https://agent.example", "-user-from", "X-User", "-trusted-proxy", "192.0.2.0/24", "-address-header", "X-From")
	by := func(proxy string) func(*http.Request) {
		return func(r *http.Request) {
			r.Host, r.RemoteAddr = "agent.example", proxy+":1"
			r.Header.Set("X-User", "Ada")
			r.Header.Set("Origin", "https://agent.example")
		}
	}
	w := request(h, "GET", "/api/me", "", by("192.0.2.7"))
	got := w.Header().Get("Strict-Transport-Security")
	check.That(t, got == "max-age=31536000" && strings.Contains(w.Body.String(), `"user":"Ada"`), "got %q and %s, want HTTPS alone, for Ada", got, w.Body)
	w = request(h, "GET", "/api/me", "", by("198.51.100.1"))
	check.That(t, !strings.Contains(w.Body.String(), "Ada"), "got %s by a machine that is not a proxy of the page", w.Body)
	plain, _ := trial(t)
	check.Equal(t, "header without HTTPS", request(plain, "GET", "/", "").Header().Get("Strict-Transport-Security"), "")
}

// TestAddresses bounds the sign-ins of an address. A network of IPv6 counts as one, and only a proxy names another address.
func TestAddresses(t *testing.T) {
	h, _ := trial(t, "-rate", "1", "-trusted-proxy", "192.0.2.0/24", "-address-header", "X-From")
	for name, tt := range map[string]struct {
		from, header string // %d is the number of the request
		want         int
	}{
		"one address":                {"198.51.100.1:%d", "", 30},
		"an address of its own each": {"198.51.100.1%02d:1", "", 40},
		"header of no proxy":         {"198.51.100.2:%d", "198.51.100.%d", 30},
		"header of a proxy":          {"192.0.2.7:%d", "203.0.113.1, 198.51.100.2%02d", 40},
		"header with a constant end": {"192.0.2.8:%d", "203.0.113.%d, 198.51.100.3", 30},
		"network of IPv6":            {"[2001:db8:1::%d]:1", "", 30},
		"network of IPv6 by a proxy": {"192.0.2.7:%d", "2001:db8:2::%d", 30},
		"networks of IPv6":           {"[2001:db8:3:%d::1]:1", "", 40},
		"IPv4 as IPv6":               {"[::ffff:198.51.100.1%02d]:1", "", 40},
		"no address, by the proxy":   {"192.0.2.7:%d", "unknown", 30},
		"with a port, by the proxy":  {"192.0.2.7:%d", "198.51.100.4:%d", 30},
		"IPv6 with a port, by it":    {"192.0.2.7:%d", "[2001:db8:4::%d]:80", 30},
	} {
		accepted := 0
		for i := range 40 {
			w := request(h, "POST", "/sign-in", `{"name":"Ada"}`, func(r *http.Request) {
				r.RemoteAddr = strings.ReplaceAll(strings.ReplaceAll(tt.from, "%02d", fmt.Sprintf("%02d", i)), "%d", fmt.Sprint(i))
				r.Header.Set("X-From", strings.ReplaceAll(strings.ReplaceAll(tt.header, "%02d", fmt.Sprintf("%02d", i)), "%d", fmt.Sprint(i)))
			})
			if w.Code == http.StatusNoContent {
				accepted++
			}
		}
		check.Equal(t, name, accepted, tt.want)
	}
}

// TestHealth answers probes, which name any host, and says when the store is away.
func TestHealth(t *testing.T) {
	a, _ := opened(t)
	probe := func(r *http.Request) { r.Host = "10.0.0.7:8080" }
	for path, want := range map[string]int{"/healthz": http.StatusNoContent, "/": http.StatusMisdirectedRequest} {
		check.Equal(t, path, request(a.handler, "GET", path, "", probe).Code, want)
	}
	check.NoError(t, a.close())
	check.Equal(t, "without the store", request(a.handler, "GET", "/healthz", "", probe).Code, http.StatusServiceUnavailable)
}

// TestNavigations has names of this machine lead to one page, and says why another request is refused.
func TestNavigations(t *testing.T) {
	h, _ := trial(t)
	browse := func(host string) func(*http.Request) {
		return func(r *http.Request) {
			r.Host = host
			r.Header.Set("Sec-Fetch-Mode", "navigate")
			r.Header.Del("Origin")
		}
	}
	for _, host := range []string{"localhost:8080", "LOCALHOST:8080", "[::1]:8080"} {
		w := request(h, "GET", "/", "", browse(host))
		check.That(t, w.Code == http.StatusTemporaryRedirect && w.Header().Get("Location") == "http://127.0.0.1:8080/", "%s: got %d to %s", host, w.Code, w.Header().Get("Location"))
	}
	check.Equal(t, "the page", request(h, "GET", "/", "", browse("127.0.0.1:8080")).Code, http.StatusOK)
	for _, tt := range []struct {
		host, path, want string
		code             int
	}{
		{"127.0.0.1:8080", "/servers/callback?state=x", "<h1>You are not signed in</h1><p>sign in first.</p>", 403},
		{"localhost:8080", "/servers/callback?error=<script>", "You are not signed in", 403},
		{"127.0.0.1:8080", "/none", "there is no such path", 404},
		{"127.0.0.1:8080", "/sign-in", "there is no such page", 404},
		{"127.0.0.1:8080", "/api/conversations", "sign in first", 401},
		{"evil.example", "/", "this host is not served here", 421},
	} {
		w := request(h, "GET", tt.path, "", browse(tt.host))
		check.That(t, w.Code == tt.code && strings.Contains(w.Body.String(), tt.want), "%s%s: got %d %s", tt.host, tt.path, w.Code, w.Body)
	}
}

// TestBoundsOfAUser has a user keep as many conversations, and bytes, as there may be: the page says so, and what to do.
func TestBoundsOfAUser(t *testing.T) {
	begin := func(h http.Handler, who func(*http.Request)) *httptest.ResponseRecorder {
		return request(h, "POST", "/api/conversations", `{"text":"hello"}`, who)
	}
	h, _ := trial(t, "-stored", "2")
	ada, grace := as(t, h, `{"name":"Ada"}`), as(t, h, `{"name":"Grace"}`)
	for range 2 {
		check.Equal(t, "within the bound", begin(h, ada).Code, http.StatusAccepted)
	}
	w := begin(h, ada)
	check.That(t, w.Code == http.StatusInsufficientStorage && strings.Contains(w.Body.String(), "there is no room: you keep as many conversations as you may (2): delete one"), "got %d %s", w.Code, w.Body)
	check.Equal(t, "another user", begin(h, grace).Code, http.StatusAccepted)
	h, _ = trial(t, "-bytes", "100")
	ada = as(t, h, `{"name":"Ada"}`)
	check.Equal(t, "within the bound", begin(h, ada).Code, http.StatusAccepted)
	w = begin(h, ada)
	check.That(t, w.Code == http.StatusInsufficientStorage && strings.Contains(w.Body.String(), "that they may"), "got %d %s", w.Code, w.Body)
}

// TestSilentServer shows that a server does not answer, and tells windows.
func TestSilentServer(t *testing.T) {
	demo := check.Value(demoservers.Start())(t)
	tools := check.Value(adapter.Open(t.Context(), []adapter.Server{{Name: "far", Transport: &mcpclient.HTTP{URL: demo.DemoURL}}},
		&adapter.Options{ClientOptions: &mcpclient.Options{Limits: mcpclient.Limits{Retries: -1}}}))(t)
	defer tools.Close()
	check.Must(t, demo.Close())
	changed := make(chan struct{}, 1)
	watch, stop := hosting.NewWatch(tools.Servers, slog.New(slog.DiscardHandler), func() { changed <- struct{}{} })
	defer stop()
	<-changed
	got := (&servers{tools: tools, watch: watch}).panel("", "")
	check.That(t, len(got.Servers) == 0 && len(got.Troubles) == 1 && got.Troubles[0].Text == "does not answer; it is tried again", "got %+v", got)
}

// TestLateServers has servers that are down at the start. One of them then requires a sign-in, and becomes personal. Another refuses a token.
func TestLateServers(t *testing.T) {
	late, locked := testenv.FreeAddress(t), testenv.FreeAddress(t)
	h, _ := trial(t, "-config", inFile(t, "mcp.json", fmt.Sprintf(`{"mcpServers": {"late": {"url": "http://%[1]s"}, "locked": {"url": "http://%[2]s"}, "token": {"url": "http://%[2]s", "headers": {"Authorization": "x"}}}}`, late, locked)))
	ada := as(t, h, `{"name":"Ada"}`)
	s := sharedBy(t, h, ada)
	check.That(t, len(s.Servers) == 0 && len(s.Troubles) == 3 && strings.Contains(s.Troubles[0].Text, "it is tried again"), "got %+v, want the servers that are not there", s)
	served(t, check.Value(net.Listen("tcp", late))(t))
	refusing := http.Server{Addr: locked, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })}
	defer refusing.Close()
	go refusing.ListenAndServe()
	for s = sharedBy(t, h, ada); len(s.Servers) != 1 || len(s.Troubles) != 1; s = sharedBy(t, h, ada) {
		time.Sleep(100 * time.Millisecond)
	}
	w := request(h, "POST", "/api/servers/locked/sign-in", "{}", ada) // there is no authorization server
	check.That(t, s.Troubles[0].Server == "token" && w.Code == http.StatusBadGateway, "got %+v and a sign-in with %d", s, w.Code)
}
