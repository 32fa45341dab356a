package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/examples/internal/demo"
	"github.com/mcpchain/mcpchain/internal/check"
)

func TestMain(m *testing.M) {
	if !demo.Serve() {
		os.Exit(m.Run())
	}
}

// TestPage asks a question as the page does, allows the call, and comes back after the answer: a
// window that was away gets what it missed.
func TestPage(t *testing.T) {
	url := start(t)
	id := post(t, url+"/runs", "What is 17 plus 25?")
	last := ""
	for e := range events(t, url, id, "") {
		last = e.id
		if e.Type == "asked" {
			post(t, url+"/runs/"+id+"/answers", `{"ask":"`+e.Ask.ID+`","action":"allow"}`)
			break
		}
	}
	for e := range events(t, url, id, last) {
		check.That(t, e.Type != "asked", "an event came twice")
		if e.Type == "answer" {
			check.Equal(t, "the answer", e.Text, "The result: 17 + 25 = 42.")
			return
		}
	}
	t.Error("the stream ended without an answer")
}

// TestForeignPage refuses what another page sends, and another name for the address.
func TestForeignPage(t *testing.T) {
	url := start(t)
	for name, change := range map[string]func(*http.Request){
		"origin": func(r *http.Request) { r.Header.Set("Origin", "https://evil.test") },
		"host":   func(r *http.Request) { r.Host = "evil.test" },
	} {
		req := check.Value(http.NewRequestWithContext(t.Context(), "POST", url+"/runs", strings.NewReader("hello")))(t)
		change(req)
		resp := check.Value(http.DefaultClient.Do(req))(t)
		_ = resp.Body.Close()
		check.That(t, resp.StatusCode == http.StatusForbidden, "%s: got %s, want it refused", name, resp.Status)
	}
}

// TestLongBody refuses a body that is too large by its own status.
func TestLongBody(t *testing.T) {
	url := start(t)
	for path, body := range map[string]string{"/runs": strings.Repeat("x", maxBody+1), "/runs/x/answers": `{"ask":"` + strings.Repeat("x", maxBody) + `"}`} {
		resp := check.Value(http.Post(url+path, "text/plain", strings.NewReader(body)))(t)
		_ = resp.Body.Close()
		check.That(t, resp.StatusCode == http.StatusRequestEntityTooLarge, "%s: got %s, want 413", path, resp.Status)
	}
}

// start serves the page with the demo server and the demo model, and returns its URL.
func start(t *testing.T) string {
	file := demo.Start(t, nil)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	listener := check.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- serve(ctx, listener, file) }()
	t.Cleanup(func() {
		cancel()
		check.NoError(t, <-served)
	})
	return "http://" + listener.Addr().String()
}

func post(t *testing.T, url, body string) string {
	t.Helper()
	resp := check.Value(http.Post(url, "text/plain", strings.NewReader(body)))(t)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	check.Require(t, err == nil && resp.StatusCode == http.StatusOK, "got %s %s, %v", resp.Status, data, err)
	return string(data)
}

type event struct {
	id   string
	Type string
	Text string
	Ask  struct{ ID string }
}

// events reads the stream of a run after an event.
func events(t *testing.T, url, id, last string) func(func(event) bool) {
	return func(yield func(event) bool) {
		req := check.Value(http.NewRequestWithContext(t.Context(), "GET", url+"/runs/"+id+"/events", nil))(t)
		req.Header.Set("Last-Event-ID", last)
		resp := check.Value(http.DefaultClient.Do(req))(t)
		defer resp.Body.Close()
		var e event
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
				e.id = id
			}
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok {
				continue
			}
			check.Must(t, json.Unmarshal([]byte(data), &e))
			if !yield(e) {
				return
			}
			e = event{}
		}
	}
}
