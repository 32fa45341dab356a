package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/examples/internal/demomodel"
	"github.com/mcpchain/mcpchain/examples/internal/demoserver"
)

const programVariable = "MCPCHAIN_QUICKSTART_PROGRAM"

// TestMain makes this program the quickstart, or its server.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == "serve":
		if err := demoserver.Run(context.Background()); err != nil {
			os.Exit(1)
		}
		if len(os.Args) > 2 {
			_ = os.WriteFile(os.Args[2], nil, 0o600) // says that the server ended by itself
		}
	case os.Getenv(programVariable) != "":
		main()
	default:
		os.Exit(m.Run())
	}
}

// TestQuickstart runs the program of the README.
func TestQuickstart(t *testing.T) {
	model, err := demomodel.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = model.Close() }()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, program, "serve")
	cmd.Env = append(os.Environ(), programVariable+"=1", "OPENAI_API_KEY=none", "OPENAI_MODEL=demo", "OPENAI_BASE_URL="+model.BaseURL)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "42") {
		t.Errorf("got %v and %q, want an answer with 42", err, out)
	}
}

// An answer cannot control the terminal.
func TestHostileModel(t *testing.T) {
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"\u001b[2JIt is 42."},"finish_reason":"stop"}]}`)
	}))
	defer host.Close()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, program, "serve")
	cmd.Env = append(os.Environ(), programVariable+"=1", "OPENAI_API_KEY=none", "OPENAI_MODEL=m", "OPENAI_BASE_URL="+host.URL)
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != `\x1b[2JIt is 42.`+"\n" {
		t.Errorf("got %v and %q", err, out)
	}
}

// TestInterrupt presses Ctrl-C while the model thinks: the program ends, and its server before it.
func TestInterrupt(t *testing.T) {
	asked := make(chan struct{}, 1)
	host := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // so that the end of the request is noticed
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	defer host.Close()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ended := filepath.Join(t.TempDir(), "ended")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, program, "serve", ended)
	cmd.Env = append(os.Environ(), programVariable+"=1", "OPENAI_API_KEY=none", "OPENAI_MODEL=m", "OPENAI_BASE_URL="+host.URL)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-asked:
	case <-ctx.Done():
		t.Fatal("the model was not asked")
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	if _, serverErr := os.Stat(ended); err == nil || cmd.ProcessState.ExitCode() != 1 || serverErr != nil || !strings.Contains(out.String(), "interrupt") {
		t.Errorf("got %v, %v and %q, want an end that says why, after the server's", err, serverErr, out.String())
	}
}

// Without a required setting the program names it.
func TestUsage(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args, env []string
		want      string
	}{
		{nil, nil, "usage: quickstart COMMAND [ARGUMENT …], where the command starts an MCP server\n"},
		{[]string{"x"}, nil, "OPENAI_MODEL is not set: it names the model\n"},
		{[]string{"x"}, []string{"OPENAI_MODEL=m"}, "neither OPENAI_API_KEY nor OPENAI_BASE_URL is set: the model needs a key, or another host\n"},
	} {
		cmd := exec.CommandContext(t.Context(), program, tt.args...)
		cmd.Env = append(tt.env, programVariable+"=1")
		out, err := cmd.CombinedOutput()
		if err == nil || string(out) != tt.want {
			t.Errorf("%v %v: got %v and %q, want %q", tt.args, tt.env, err, out, tt.want)
		}
	}
}
