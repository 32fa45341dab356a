package main

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpchain/mcpchain/examples/internal/demo"
	"github.com/mcpchain/mcpchain/internal/check"
)

// TestInterrupt: Ctrl-C ends a reply that does not come, and the conversation continues.
func TestInterrupt(t *testing.T) {
	file := demo.Start(t, nil)
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err != nil { // the end of the request is seen only then
			t.Error(err)
		}
		check.NoError(t, syscall.Kill(syscall.Getpid(), syscall.SIGINT))
		<-r.Context().Done()
	}))
	defer silent.Close()
	t.Setenv("OPENAI_BASE_URL", silent.URL)

	in, typed := io.Pipe()
	shown, screen := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := start(t.Context(), file, in, screen)
		_ = screen.Close()
		ended <- err
	}()
	lines := bufio.NewScanner(shown)
	for _, step := range []struct{ typed, want string }{{"What is 17 plus 25?\n", "No answer: "}, {"/tools\n", "  add: "}} {
		go func() { _, _ = io.WriteString(typed, step.typed) }() // read when the chatbot asks
		found := false
		for !found && lines.Scan() {
			found = strings.Contains(lines.Text(), step.want)
		}
		check.Require(t, found, "the screen ended without %q", step.want)
	}
	go func() { _ = typed.Close() }()
	_, _ = io.Copy(io.Discard, shown)
	check.NoError(t, <-ended)
}
