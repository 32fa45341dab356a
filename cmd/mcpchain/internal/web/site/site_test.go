package site_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/site"
	"github.com/mcpchain/mcpchain/internal/check"
)

// TestForeignRequests refuses what does not come from the page.
func TestForeignRequests(t *testing.T) {
	w := serve(t, site.Limits{}, record.NewMemory(), agenttest.PlayRepeating(agenttest.Say("hello")))
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	host := func(r *http.Request) { r.Host = "evil.example" }
	for name, tt := range map[string]struct {
		user, method, path, body string
		change                   func(*http.Request)
		want                     int
	}{
		"name that leads here":       {"Ada", "GET", "/", "", host, 421},
		"name that leads here, JSON": {"Ada", "POST", "/api/conversations", `{"text":"x"}`, host, 421},
		"origin":                     {"Ada", "POST", "/api/conversations", `{"text":"x"}`, header("Origin", "https://evil.example"), 403},
		"invalid origin":             {"Ada", "POST", "/api/conversations", `{"text":"x"}`, header("Origin", "null"), 403},
		"site":                       {"Ada", "POST", "/api/conversations", `{"text":"x"}`, header("Sec-Fetch-Site", "cross-site"), 403},
		"same site, other origin":    {"Ada", "POST", "/api/sign-out", `{}`, header("Sec-Fetch-Site", "same-site"), 403},
		"read of another site":       {"Ada", "GET", "/api/events", "", header("Sec-Fetch-Site", "cross-site"), 403},
		"deletion of another site":   {"Ada", "DELETE", "/api/conversations/x", "", header("Sec-Fetch-Site", "cross-site"), 403},
		"form":                       {"Ada", "POST", "/api/conversations", "text=x", header("Content-Type", "application/x-www-form-urlencoded"), 415},
		"plain text":                 {"Ada", "POST", "/sign-in", `{"name":"Ada"}`, header("Content-Type", "text/plain"), 415},
		"large":                      {"Ada", "POST", "/api/conversations", `{"text":"` + strings.Repeat("x", 1<<20) + `"}`, nil, 413},
		"long":                       {"Ada", "POST", "/api/conversations", `{"text":"` + strings.Repeat("x", 65<<10) + `"}`, nil, 422},
		"empty":                      {"Ada", "POST", "/api/conversations", `{"text":""}`, nil, 422},
		"no JSON":                    {"Ada", "POST", "/api/conversations", `x`, nil, 400},
		"two values":                 {"Ada", "POST", "/api/conversations", `{"text":"a"}{"text":"b"}`, nil, 400},
		"large behind a value":       {"Ada", "POST", "/api/conversations", `{"text":"a"}` + strings.Repeat(" ", 1<<20), nil, 413},
		"unknown member":             {"Ada", "POST", "/api/conversations", `{"txt":"x"}`, nil, 400},
		"not signed in":              {"", "POST", "/api/conversations", `{"text":"x"}`, nil, 401},
		"stream, not signed in":      {"", "GET", "/api/events", "", nil, 401},
		"position":                   {"Ada", "GET", "/api/events?after=-1", "", nil, 400},
		"no conversation":            {"Ada", "POST", "/api/conversations/none/messages", `{"text":"x"}`, nil, 404},
		"no route":                   {"Ada", "GET", "/api/none", "", nil, 404},
		"no method":                  {"Ada", "PUT", "/api/conversations", "", nil, 405},
		"blank":                      {"Ada", "POST", "/api/conversations", `{"text":" \n"}`, nil, 422},
		"of the page":                {"Ada", "POST", "/api/conversations", `{"text":"x"}`, header("Sec-Fetch-Site", "same-origin"), 202},
	} {
		t.Run(name, func(t *testing.T) {
			change := tt.change
			if change == nil {
				change = func(*http.Request) {}
			}
			status, h, body := w.do(t, tt.user, tt.method, tt.path, tt.body, change)
			check.That(t, status == tt.want && h.Get("Content-Type") == "application/json",
				"got %d %s %s, want %d and JSON", status, h.Get("Content-Type"), body, tt.want)
			for name, want := range map[string]string{
				"Content-Security-Policy": "default-src 'none'; script-src 'self'", "X-Content-Type-Options": "nosniff",
				"Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin", "X-Frame-Options": "DENY",
			} {
				check.That(t, strings.HasPrefix(h.Get(name), want), "%s: got %q, want %q", name, h.Get(name), want)
			}
		})
	}
}

// TestUsersAreApart has one user try all routes of another one's conversation.
func TestUsersAreApart(t *testing.T) {
	w := serve(t, site.Limits{}, record.NewMemory(), agenttest.PlayRepeating(agenttest.Say("hello")))
	id := w.begin(t, "Ada", "a secret")
	w.watch(t, "Ada", id, "").until(t, "ended")
	base := "/api/conversations/" + id
	for path, body := range map[string]string{
		base + "/messages": `{"text":"x"}`, base + "/edits": `{"seq":1,"index":0,"text":"x"}`,
		base + "/answers": `{"ask":"x","action":"allow"}`, base + "/stop": `{}`, base + "/retry": `{}`,
	} {
		check.Equal(t, path, w.status(t, "Grace", "POST", path, body), 404)
	}
	status, _, answer := w.do(t, "Grace", "GET", base+"/media/1/0/call/0", "")
	check.That(t, status == 404 && !strings.Contains(answer, "secret"), "GET %s: got %d %s, want 404", base, status, answer)
	got := w.watch(t, "Grace", id, "").next(t)
	check.That(t, got.Type == "refused" && got.member(t, "status") == "404", "stream: got %s %s, want a refusal with 404", got.Type, got.Data)
	check.Equal(t, "DELETE", w.status(t, "Grace", "DELETE", base, ""), 404)
	check.Equal(t, "Grace's list", string(w.watch(t, "Grace", "", "").until(t, "list")[0].Data), "[]")
	later := "/api/conversations?after=&updated=" + url.QueryEscape(time.Now().Add(time.Hour).Format(time.RFC3339Nano))
	for user, want := range map[string]bool{"Ada": true, "Grace": false} {
		status, _, list := w.do(t, user, "GET", later, "")
		check.That(t, status == 200 && strings.Contains(list, id) == want, "%s reads the list: got %d %s", user, status, list)
	}
	check.Contains(t, "the list", string(w.watch(t, "Ada", "", "").until(t, "list")[0].Data), id)
}

func TestRate(t *testing.T) {
	w := serve(t, site.Limits{PerMinute: 1, Burst: 2, Windows: 2}, record.NewMemory(), agenttest.PlayRepeating(agenttest.Say("hello")))
	for range 2 {
		w.begin(t, "Ada", "hello")
	}
	status, h, _ := w.do(t, "Ada", "POST", "/api/conversations", `{"text":"hello"}`)
	check.That(t, status == 429 && h.Get("Retry-After") != "",
		"third request: got %d, Retry-After %q, want 429 and when to try again", status, h.Get("Retry-After"))
	w.begin(t, "Grace", "hello") // has a rate of her own
	for range 2 {
		w.do(t, "", "POST", "/sign-in", `{"name":"Ada"}`)
	}
	check.Equal(t, "third sign-in of an address", w.status(t, "", "POST", "/sign-in", `{"name":"Ada"}`), 429)
	first := w.watch(t, "Ada", "", "")
	w.watch(t, "Ada", "", "").until(t, "list")
	check.Equal(t, "third window", w.status(t, "Ada", "GET", "/api/events", ""), 429)
	w.watch(t, "Grace", "", "").until(t, "list")
	first.close()
	w.watchOnce(t, "Ada", "") // there is room when the first window is gone
}
