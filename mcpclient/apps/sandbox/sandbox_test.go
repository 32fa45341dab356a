package sandbox_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/apps/internal/source"
	"github.com/mcpchain/mcpchain/mcpclient/apps/sandbox"
)

func newSandbox(t *testing.T, origin string, granted []string) *sandbox.Sandbox {
	t.Helper()
	s, err := sandbox.New(&sandbox.Options{Origin: origin, HostOrigins: []string{ancestor}, Permissions: granted, Key: []byte("a key of this test")})
	check.Must(t, err)
	return s
}

// frame shows a view of a server.
func frame(t *testing.T, s *sandbox.Sandbox, about apps.ResourceMeta, server string) sandbox.Frame {
	t.Helper()
	return check.Value(s.Frame(about, sandbox.FrameOptions{User: "Ada", Server: server}))(t)
}

func get(s http.Handler, method, url string) *http.Response {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(method, url, nil))
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	return string(check.Value(io.ReadAll(r.Body))(t))
}

// "The Host and the Sandbox MUST have different origins."
func TestOrigins(t *testing.T) {
	for _, tt := range []struct {
		origin, host string
		ok           bool
	}{
		{"http://127.0.0.1:8081", "http://127.0.0.1:8080", true},
		{"https://sandbox.example.com", "https://example.com", true},
		{"https://*.sandbox.example", "https://app.example.com", true},
		{"http://*.localhost:8081", "http://127.0.0.1:8080", true},
		{"http://*.localhost:8081", "http://localhost:8080", true},
		{"http://127.0.0.1:8080", "http://127.0.0.1:8080", false},
		{"http://127.0.0.1:8080/", "HTTP://127.0.0.1:8080", false},
		{"https://example.com:443", "https://EXAMPLE.com", false},
		{"https://example.com", "http://example.com", false},
		{"https://*.views.example.com", "https://app.example.com", false},
		{"https://*.views.example.com", "https://example.com", false},
		{"https://*.views.example.com", "https://views.example.com", false},
		{"https://*.a.views.example.com", "https://example.com", false},
		{"https://*.a.views.example.com", "https://app.example.com", false},
		{"https://*.views.bbc.de", "https://bbc.de", false},
		{"https://*.example-views.co.uk", "https://example.co.uk", true},
		{"https://*.views.example.co.uk", "https://example.co.uk", false},
		{"https://*.example.com", "https://app.example.com", false},
		{"http://localhost:8081", "http://*.", false},
		{"http://*.127.0.0.1:8081", "http://127.0.0.1:8080", false},
		{"https://a.*.example.com", "https://example.org", false},
		{"https://a.example.com/x", "https://example.com", false},
		{"https://u:p@a.example.com", "https://example.com", false},
		{"ftp://a.example.com", "https://example.com", false},
		{"", "https://example.com", false},
		{"https://a.example.com", "", false},
		{"https://a.example.com", "https://*.example.com", false},
		{"https://a.example.com", "https://b.example.com;x", false},
	} {
		_, err := sandbox.New(&sandbox.Options{Origin: tt.origin, HostOrigins: []string{tt.host}})
		check.That(t, (err == nil) == tt.ok, "sandbox %q of host %q: got %v, want %v", tt.origin, tt.host, err, tt.ok)
	}
	check.Text(t, check.Err(sandbox.New(nil)), "Options.Origin", "no options")
}

func TestFrame(t *testing.T) {
	s := newSandbox(t, "http://127.0.0.1:8081", []string{"camera", "microphone"})
	f := frame(t, s, apps.ResourceMeta{CSP: apps.CSP{ConnectDomains: []string{"https://api.example.com"}}, Permissions: []string{"camera", "geolocation"}}, "weather")
	if f.Origin != "http://127.0.0.1:8081" || f.Sandbox != "allow-scripts allow-same-origin allow-forms" || f.Allow != "camera *; focus-without-user-activation 'none'" || !slices.Equal(f.Permissions, []string{"camera"}) {
		t.Errorf("got %+v", f)
	}
	for _, method := range []string{"GET", "HEAD"} {
		r := get(s, method, f.URL)
		check.Require(t, r.StatusCode == http.StatusOK && r.Header.Get("Content-Type") == "text/html; charset=utf-8", "got %s, %v", r.Status, r.Header)
		check.Equal(t, "the policy", r.Header.Get("Content-Security-Policy"), sandbox.Policy(f.CSP, ancestor))
		policy := r.Header.Get("Permissions-Policy")
		for _, want := range []string{"camera=*", "microphone=()", "geolocation=()", "clipboard-write=()", "usb=()", "focus-without-user-activation=()"} {
			check.That(t, strings.Contains(policy, want), "got the permissions policy %s, want it with %s", policy, want)
		}
		got := r.Header.Get("Referrer-Policy") + r.Header.Get("X-Content-Type-Options") + r.Header.Get("Cache-Control")
		check.That(t, got == "no-referrernosniffno-store", "got the headers %v", r.Header)
	}
	_, err := sandbox.New(&sandbox.Options{Origin: "http://127.0.0.1:8081", HostOrigins: []string{ancestor}, Permissions: []string{"usb"}})
	check.Text(t, err, `Options.Permissions: "usb" is not one of`)
	check.Contains(t, "page", body(t, get(s, "GET", f.URL)), `host = "`+ancestor+`", own = false`)
}

// No URL but of a frame shows a page, and none loosens the policy of a frame.
func TestOtherURLsAreRefused(t *testing.T) {
	s := newSandbox(t, "http://127.0.0.1:8081", nil)
	f := frame(t, s, apps.ResourceMeta{}, "a")
	loose := frame(t, s, apps.ResourceMeta{CSP: apps.CSP{ConnectDomains: []string{"https://api.example.com"}}}, "a")
	u, _ := url.Parse(f.URL)
	other, _ := url.Parse(loose.URL)
	q, o := u.Query(), other.Query()
	q.Set("view", o.Get("view"))
	strange := check.Value(sandbox.New(&sandbox.Options{Origin: "http://127.0.0.1:8081", HostOrigins: []string{ancestor}}))(t)
	for _, tt := range []struct {
		method, url string
		status      int
	}{
		{"GET", "http://127.0.0.1:8081/", 404},
		{"GET", "http://127.0.0.1:8081/x" + strings.TrimPrefix(f.URL, f.Origin+"/"), 404},
		{"GET", f.Origin + "/?" + q.Encode(), 404},
		{"GET", f.URL + "0", 404},
		{"GET", frame(t, strange, apps.ResourceMeta{}, "a").URL, 404},
		{"POST", f.URL, 405},
		{"GET", strings.Replace(f.URL, "127.0.0.1:8081", "127.0.0.1:8080", 1), 421},
		{"GET", strings.Replace(f.URL, "127.0.0.1:8081", "localhost:8081", 1), 421},
		{"GET", strings.Replace(f.URL, "127.0.0.1:8081", "evil.example.com", 1), 421},
	} {
		r := get(s, tt.method, tt.url)
		check.That(t, r.StatusCode == tt.status && strings.Contains(r.Header.Get("Content-Security-Policy"), "frame-ancestors 'none'"),
			"%s %.80s: got %s %v, want %d", tt.method, tt.url, r.Status, r.Header, tt.status)
	}
}

// Each server's views have an origin of their own, and no other serves them.
func TestOriginOfEachServer(t *testing.T) {
	s := newSandbox(t, "http://*.localhost:8081", nil)
	a, again, b := frame(t, s, apps.ResourceMeta{}, "a"), frame(t, s, apps.ResourceMeta{}, "a"), frame(t, s, apps.ResourceMeta{}, "b")
	if diff := cmp.Diff(a, again); diff != "" || a.Origin == b.Origin || !strings.HasSuffix(a.Origin, ".localhost:8081") {
		t.Errorf("got %s and %s, the same server differs in %s", a.Origin, b.Origin, diff)
	}
	r := get(s, "GET", a.URL)
	check.That(t, r.StatusCode == 200 && strings.Contains(body(t, r), "own = true"), "got %s, want a page with an origin", r.Status)
	r = get(s, "GET", b.Origin+strings.TrimPrefix(a.URL, a.Origin))
	check.That(t, r.StatusCode == 404, "a view at another server's origin: got %s", r.Status)
	r = get(s, "GET", "http://x.y.localhost:8081"+strings.TrimPrefix(a.URL, a.Origin))
	check.That(t, r.StatusCode == 421, "a deeper name: got %s", r.Status)
}

// A request may name the port that its scheme has anyway.
func TestDefaultPort(t *testing.T) {
	for _, origin := range []string{"http://*.localhost", "http://views.localhost"} {
		f := frame(t, newSandbox(t, origin, nil), apps.ResourceMeta{}, "a")
		again := strings.Replace(f.URL, f.Origin, f.Origin+":80", 1)
		check.Equal(t, origin, get(newSandbox(t, origin, nil), "GET", again).StatusCode, 200)
	}
}

// A view that declares more than a URL can have reaches nothing.
func allowsNothing(c apps.CSP) bool {
	return len(c.ConnectDomains)+len(c.ResourceDomains)+len(c.FrameDomains)+len(c.BaseURIDomains) == 0
}

func TestFrameURLIsBounded(t *testing.T) {
	s := newSandbox(t, "http://127.0.0.1:8081", nil)
	var many []string
	for range 64 {
		many = append(many, "https://"+strings.Repeat("a", 60)+"."+strings.Repeat("b", 60)+"."+strings.Repeat("c", 60)+".example.com")
	}
	f := frame(t, s, apps.ResourceMeta{CSP: apps.CSP{ConnectDomains: many, ResourceDomains: many}}, "a")
	check.That(t, len(f.URL) <= 16<<10 && allowsNothing(f.CSP) && get(s, "GET", f.URL).StatusCode == 200, "got a URL of %d bytes, %v", len(f.URL), f.CSP)
	check.Equal(t, "refused", len(f.Refused), 2*len(many))
}

// Each user has origins of their own, whatever the server is called.
func TestOriginOfEachUser(t *testing.T) {
	s := newSandbox(t, "http://*.localhost:8081", nil)
	seen := map[string]sandbox.FrameOptions{}
	for _, at := range []sandbox.FrameOptions{{User: "Ada", Server: "a"}, {User: "Grace", Server: "a"}, {User: "Ada", Server: "b"}, {User: "Adaa"}, {Server: "Adaa"}, {User: "A", Server: "daa"}} {
		f := check.Value(s.Frame(apps.ResourceMeta{}, at))(t)
		other, taken := seen[f.Origin]
		check.That(t, !taken, "%+v and %+v have the origin %s", at, other, f.Origin)
		seen[f.Origin] = at
	}
}

// A host with several names has a frame for each; another page gets none.
func TestHostOrigins(t *testing.T) {
	s := check.Value(sandbox.New(&sandbox.Options{Origin: "http://127.0.0.1:8081", HostOrigins: []string{ancestor, "http://localhost:8080"}}))(t)
	for host, want := range map[string]string{"": ancestor, ancestor: ancestor, "http://localhost:8080": "http://localhost:8080", "http://LOCALHOST:8080": "http://localhost:8080"} {
		r := get(s, "GET", check.Value(s.Frame(apps.ResourceMeta{}, sandbox.FrameOptions{Host: host}))(t).URL)
		if policy := r.Header.Get("Content-Security-Policy"); !strings.HasSuffix(policy, "frame-ancestors "+want) || !strings.Contains(body(t, r), `host = "`+want+`"`) {
			t.Errorf("%s: got the policy %s", host, policy)
		}
	}
	for _, host := range []string{"http://evil.example", "null", "http://127.0.0.1:8082"} {
		f, err := s.Frame(apps.ResourceMeta{}, sandbox.FrameOptions{Host: host})
		check.That(t, err != nil, "%s: got %+v, want an error", host, f)
	}
}

// The URL of a frame stays valid with the same key, and gives no more than other options allow.
func TestFrameOfAnotherProcess(t *testing.T) {
	const second = "http://localhost:8080"
	at := func(local bool, hosts ...string) *sandbox.Sandbox {
		s, err := sandbox.New(&sandbox.Options{Origin: "http://127.0.0.1:8081", HostOrigins: hosts, AllowPrivate: local, Key: []byte("a key of this test")})
		check.Must(t, err)
		return s
	}
	declared := apps.CSP{ConnectDomains: []string{"http://127.0.0.1:3000", "https://api.example.com"}}
	f := check.Value(at(true, ancestor, second).Frame(apps.ResourceMeta{CSP: declared}, sandbox.FrameOptions{Host: second}))(t)
	for _, tt := range []struct {
		name string
		in   *sandbox.Sandbox
		want string // the policy, "" if there is no page
	}{
		{"the same options", at(true, ancestor, second), sandbox.Policy(declared, second)},
		{"the hosts in another order", at(true, second, ancestor), sandbox.Policy(declared, second)},
		{"without the host", at(true, ancestor), ""},
		{"without private addresses", at(false, ancestor, second), sandbox.Policy(apps.CSP{ConnectDomains: declared.ConnectDomains[1:]}, second)},
	} {
		r := get(tt.in, "GET", f.URL)
		if tt.want == "" {
			check.Equal(t, tt.name, r.StatusCode, http.StatusNotFound)
			continue
		}
		check.Equal(t, tt.name, r.Header.Get("Content-Security-Policy"), tt.want)
	}
}

// A server cannot declare the host's own origin, nor the person's network.
func TestOwnAndPrivateSources(t *testing.T) {
	for _, tt := range []struct {
		origin, host, source string
		local, refused       bool
	}{
		{"https://views.example.net", "https://app.example.com", "https://api.example.com", false, false},
		{"https://views.example.net", "https://app.example.com", "https://app.example.com", false, true},
		{"https://views.example.net", "https://app.example.com", "https://app.example.com:8443", true, true},
		{"https://views.example.net", "https://app.example.com", "wss://app.example.com/x", true, true},
		{"https://views.example.net", "https://app.example.com", "https://*.example.com", true, true},
		{"https://views.example.net", "https://app.example.com", "https://views.example.net", true, true},
		{"https://*.views.example.net", "https://app.example.com", "https://x.views.example.net", true, true},
		{"https://*.views.example.net", "https://app.example.com", "https://*.example.net", true, true},
		{"https://views.example.net", "https://app.example.com", "http://127.0.0.1:3000", false, true},
		{"https://views.example.net", "https://app.example.com", "https://10.0.0.1", false, true},
		{"https://views.example.net", "https://app.example.com", "https://intranet", false, true},
		{"https://views.example.net", "https://app.example.com", "https://10.0.0.1", true, false},
		{"http://127.0.0.1:8081", ancestor, "http://127.0.0.1:3000", true, false},
		{"http://127.0.0.1:8081", ancestor, "http://127.0.0.1:8080", true, true},
		{"http://127.0.0.1:8081", ancestor, "ws://127.0.0.1:8080", true, true},
		{"http://127.0.0.1:8081", ancestor, "http://127.0.0.1:8081", true, true},
	} {
		s := check.Value(sandbox.New(&sandbox.Options{Origin: tt.origin, HostOrigins: []string{tt.host}, AllowPrivate: tt.local}))(t)
		all := []string{tt.source}
		f := frame(t, s, apps.ResourceMeta{CSP: apps.CSP{ConnectDomains: all, ResourceDomains: all, FrameDomains: all, BaseURIDomains: all}}, "a")
		check.That(t, allowsNothing(f.CSP) == tt.refused && (len(f.Refused) == 4) == tt.refused,
			"host %s, %s: got %+v, refused %q", tt.host, tt.source, f.CSP, f.Refused)
	}
}

// A short key can be guessed, and with it a policy can be forged.
func TestShortKey(t *testing.T) {
	_, err := sandbox.New(&sandbox.Options{Origin: "http://127.0.0.1:8081", HostOrigins: []string{ancestor}, Key: []byte("short")})
	check.Text(t, err, "Options.Key")
}

func FuzzURL(f *testing.F) {
	f.Add("/?view=e30&mark=00")
	f.Add("/")
	s, err := sandbox.New(&sandbox.Options{Origin: "http://127.0.0.1:8081", HostOrigins: []string{ancestor}, Key: []byte("a key of this test")})
	check.Must(f, err)
	f.Fuzz(func(t *testing.T, path string) {
		u, err := url.Parse("http://127.0.0.1:8081/" + path)
		if err != nil {
			return
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, &http.Request{Method: "GET", URL: u, Host: "127.0.0.1:8081"})
		check.That(t, w.Code != 200, "%q: got a page", path)
	})
}

const ancestor = "http://127.0.0.1:8080"

func directives(policy string) map[string]string {
	out := map[string]string{}
	for _, d := range strings.Split(policy, ";") {
		name, values, _ := strings.Cut(strings.TrimSpace(d), " ")
		out[name] += values
	}
	return out
}

// The policy of a view that declares nothing is the restrictive default of the specification, or
// tighter. Of what it declares it gets each source once.
func TestPolicy(t *testing.T) {
	declared := apps.CSP{
		ConnectDomains:  []string{"https://api.example.com", "wss://live.example.com"},
		ResourceDomains: []string{"https://*.cdn.example.com", "https://*.cdn.example.com"},
		FrameDomains:    []string{"https://frames.example.com"}, BaseURIDomains: []string{"https://base.example.com"},
	}
	var plain, full []string
	for _, d := range [][3]string{ // directive, default, declared
		{"default-src", "'none'", "'none'"},
		{"script-src", "'self' 'unsafe-inline'", "'self' 'unsafe-inline' https://*.cdn.example.com"},
		{"style-src", "'self' 'unsafe-inline'", "'self' 'unsafe-inline' https://*.cdn.example.com"},
		{"img-src", "'self' data:", "'self' data: https://*.cdn.example.com"},
		{"media-src", "'self' data:", "'self' data: https://*.cdn.example.com"},
		{"font-src", "'none'", "https://*.cdn.example.com"},
		{"connect-src", "'none'", "https://api.example.com wss://live.example.com"},
		{"frame-src", "'none'", "https://frames.example.com"},
		{"object-src", "'none'", "'none'"},
		{"form-action", "'none'", "'none'"},
		{"base-uri", "'self'", "https://base.example.com"},
		{"frame-ancestors", ancestor, ancestor},
	} {
		plain, full = append(plain, d[0]+" "+d[1]), append(full, d[0]+" "+d[2])
	}
	check.Equal(t, "default", sandbox.Policy(apps.CSP{}, ancestor), strings.Join(plain, "; "))
	check.Equal(t, "declared", sandbox.Policy(declared, ancestor), strings.Join(full, "; "))
}

// FuzzPolicy declares any source anywhere: it stands in no policy, or as an origin.
func FuzzPolicy(f *testing.F) {
	for _, source := range []string{"'unsafe-eval'", "*", "https://a.example.com; script-src *", "https://a.example.com\nx", "data:", "https://*", "https://a.example.com 'unsafe-eval'", "https://a.example.com,x"} {
		f.Add(source)
	}
	plain := directives(sandbox.Policy(apps.CSP{}, ancestor))
	f.Fuzz(func(t *testing.T, declared string) {
		all := []string{declared}
		policy := sandbox.Policy(apps.CSP{ConnectDomains: all, ResourceDomains: all, FrameDomains: all, BaseURIDomains: all}, ancestor)
		check.That(t, !strings.ContainsAny(policy, "\r\n\x00,"), "%q: got %q", declared, policy)
		clean, ok := source.Normalize(declared, true)
		got := directives(policy)
		check.Require(t, len(got) == len(plain) && strings.Count(policy, ";") == len(plain)-1, "%q: got other directives: %q", declared, policy)
		for name, values := range got {
			rest := strings.TrimSpace(strings.Replace(values, clean, "", 1))
			if !ok {
				rest = values
			}
			check.That(t, rest == plain[name] || (ok && rest == "" && (plain[name] == "'none'" || name == "base-uri")),
				"%q: got %s %q, without it %q", declared, name, values, plain[name])
		}
	})
}
