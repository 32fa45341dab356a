package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/sampling"
)

// TestMain makes the test binary the program, client and server.
func TestMain(m *testing.M) {
	if os.Getenv("BE_THE_EXAMPLE") != "" || slices.Contains(os.Args, "-serve") {
		main()
		return
	}
	os.Exit(m.Run())
}

// host is a model's host that answers with the number of words to summarise.
type host struct {
	*httptest.Server
	mu      sync.Mutex
	systems []string // instructions in the requests
}

func newHost(t *testing.T) *host {
	h := &host{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Messages []struct{ Role, Content string }
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || len(q.Messages) != 2 {
			t.Errorf("got %d messages, %v, want instructions and a text", len(q.Messages), err)
			http.Error(w, "bad request", http.StatusBadRequest)
			return
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.systems = append(h.systems, q.Messages[0].Content)
		summary := fmt.Sprintf("Some %d words.\x1b[2J", len(strings.Fields(q.Messages[1].Content)))
		body, err := json.Marshal(map[string]any{
			"model":   "small",
			"choices": []any{map[string]any{"message": map[string]string{"content": summary}, "finish_reason": "stop"}},
			"usage":   map[string]int{"prompt_tokens": 20, "completion_tokens": 4},
		})
		check.NoError(t, err)
		w.Write(body)
	}))
	t.Cleanup(h.Close)
	return h
}

// example runs the program in a directory with two files.
func example(t *testing.T, h *host, input string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"a.txt": "one two three", "b.txt": "one\x1b[31m two"} {
		check.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	cmd := exec.CommandContext(t.Context(), check.Value(os.Executable())(t), args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "BE_THE_EXAMPLE=1", "OPENAI_API_KEY=sk-of-nobody", "OPENAI_MODEL=small", "OPENAI_BASE_URL="+h.URL)
	cmd.Stdin = strings.NewReader(input)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if _, ok := err.(*exec.ExitError); !ok {
			t.Fatal(err)
		}
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func TestSummaries(t *testing.T) {
	const plain = "Summarise the text in at most three sentences."
	tests := []struct {
		name, input string
		files       []string
		want        []string // in the output
		systems     []string
		failure     string // in the errors
	}{
		{"allowed", "y\ny\ny\ny\n", []string{"a.txt", "b.txt"},
			[]string{"The server summarizer asks small for up to 300 tokens", "  system prompt:\n    " + plain + "\n  user:\n    one two three\n", "a.txt: Some 3 words.", "b.txt: Some 2 words.", "[summarizer: answered, 24 tokens]"},
			[]string{plain, plain}, ""},
		{"always", "a\ny\ny\n", []string{"a.txt", "b.txt"}, []string{"a.txt: Some 3 words.", "b.txt: Some 2 words."}, []string{plain, plain}, ""},
		{"instructed", "i\nIn French.\ny\n", []string{"a.txt"}, []string{"a.txt: Some 3 words."}, []string{plain + "\nIn French."}, ""},
		{"not understood at first", "?\ny\ny\n", []string{"a.txt"}, []string{"a.txt: Some 3 words."}, []string{plain}, ""},
		{"refused", "n\n", []string{"a.txt"}, []string{"[summarizer: refused, 0 tokens]"}, nil, "the request was not approved"},
		{"reply refused", "y\nn\n", []string{"a.txt"}, []string{"would get this reply:\n  reply:\n    Some 3 words.\\x1b[2J\n", "[summarizer: refused, 24 tokens]"}, []string{plain}, "the reply was not approved"},
		{"nobody there", "", []string{"a.txt"}, []string{"[summarizer: refused, 0 tokens]"}, nil, "the request was not approved"},
		{"outside the directory", "", []string{"../x"}, nil, nil, "../x"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t)
			stdout, stderr, status := example(t, h, tt.input, tt.files...)
			for _, want := range tt.want {
				check.Contains(t, "output", stdout, want)
			}
			check.That(t, !strings.Contains(stdout, "\x1b"), "control characters in the output: %q", stdout)
			check.That(t, (status != 0) == (tt.failure != "") && strings.Contains(stderr, tt.failure),
				"got status %d and errors %q, want %q", status, stderr, tt.failure)
			check.Same(t, "instructions of the host", h.systems, tt.systems)
		})
	}
}

// TestWaitingRequests has two requests at once: what is decided for all is decided for the one that waits, too.
func TestWaitingRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, typed := io.Pipe()
		var screen strings.Builder
		p := newPerson(&mcpchain.Terminal{In: in, Out: &screen})
		var reviews sync.WaitGroup
		for range 2 {
			reviews.Go(func() {
				r := &sampling.Request{Server: "one", Params: &mcp.CreateMessageParams{}}
				check.NoError(t, p.reviewRequest(t.Context(), r))
			})
		}
		_, _ = io.WriteString(typed, "?\na\n")
		reviews.Wait()
		check.Equal(t, "requests shown", strings.Count(screen.String(), "The server one asks"), 1)
	})
}
