package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mcpchain/mcpchain/evals/llama/tiny"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv/memhttp"
)

var (
	address = flag.String("url", "", "check the server at this `URL`, with or without /v1")
	name    = flag.String("name", "", "`name` of the model there; by default the first that the server lists")
)

// TestServer checks a real server that serves the model.
func TestServer(t *testing.T) {
	if *address == "" {
		t.Skip("-url names a server")
	}
	s := check.Value(find(t.Context(), http.DefaultTransport.(*http.Transport), *address, *name))(t)
	t.Log(s)
	for _, c := range checks() {
		t.Run(c.name, func(t *testing.T) {
			if !s.offers(c) {
				t.Skip("not offered:", c.needs)
			}
			note := check.Value(s.run(t.Context(), c))(t)
			if note != "" {
				t.Log(note)
			}
		})
	}
}

// Kinds of servers.
const llamacpp, ollama = "llamacpp", "ollama"

// scripted plays a llama-server with the model, or an Ollama. The fault is what it does wrong.
type scripted struct{ kind, fault string }

type asked struct {
	Stream   bool `json:"stream"`
	Messages []struct {
		Role      string `json:"role"`
		Content   string `json:"content"`
		Reasoning string `json:"reasoning_content"`
	} `json:"messages"`
	Tools []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
	Format any `json:"response_format"`
}

func (s scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	owner := map[string]string{llamacpp: llamacpp, ollama: "library"}[s.kind]
	var q asked
	if r.Method == http.MethodPost && json.NewDecoder(r.Body).Decode(&q) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	switch path := r.URL.Path; {
	case path == "/v1/models":
		fmt.Fprintf(w, `{"object":"list","data":[{"id":"tiny","object":"model","owned_by":%q}]}`, owner)
	case path == "/props" && s.kind == llamacpp:
		fmt.Fprint(w, `{"build_info":"b1"}`)
	case path == "/api/version" && s.kind == ollama:
		fmt.Fprint(w, `{"version":"0.9.6"}`)
	case path == "/apply-template" && s.kind == llamacpp:
		var thoughts []string
		for _, m := range q.Messages {
			thoughts = append(thoughts, m.Reasoning)
		}
		if s.fault == "forgets" {
			thoughts = nil
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"prompt": strings.Join(thoughts, " ")})
	case path == "/v1/chat/completions":
		s.complete(w, &q)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// filled fits the form.
const filled = `{"city":"","degrees":1,"sky":"clear"}`

// complete answers as the model does.
func (s scripted) complete(w http.ResponseWriter, q *asked) {
	last := q.Messages[len(q.Messages)-1]
	text, thought, finish, calls := tiny.Greeting, "", "stop", []any(nil)
	call := func(name, arguments string) {
		if s.fault == "one call" && len(calls) > 0 {
			return
		}
		calls = append(calls, map[string]any{"index": len(calls), "id": fmt.Sprint("call", len(calls)), "type": "function", "function": map[string]string{"name": name, "arguments": arguments}})
		text, finish = "", "tool_calls"
	}
	switch {
	case len(last.Content) > tiny.Window && s.kind == llamacpp:
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":{"code":%q,"message":"no","type":"invalid_request_error"}}`, map[bool]string{true: "bad", false: "context_length_exceeded"}[s.fault == "vague"])
		return
	case last.Role == "tool" && last.Content != tiny.Think:
		text = tiny.Answer
	case last.Content == tiny.Forever:
		text, finish = strings.Repeat(tiny.EndWords, lengthWords), "length"
	case s.kind == llamacpp && (q.Format != nil):
		text = filled
	default:
		for _, t := range q.Tools {
			switch name := t.Function.Name; {
			case name == "final_answer":
				call(name, filled)
			case name == tiny.Weather || name == tiny.Clock:
				call(name, tiny.Arguments)
			case s.kind == llamacpp:
				call(name, map[bool]string{true: `{}`, false: `{"n":1}`}[s.fault == "arguments"])
			}
		}
		switch {
		case last.Content != tiny.Think:
		case s.kind == llamacpp:
			thought = tiny.Thought
		default: // it has no parser for the model
			text = "<think>" + tiny.Thought + "</think>" + text
		}
	}
	s.write(w, q.Stream, text, thought, finish, calls)
}

// write writes an answer, whole or as a stream.
func (s scripted) write(w http.ResponseWriter, stream bool, text, thought, finish string, calls []any) {
	const usage = `{"prompt_tokens":4,"completion_tokens":6,"total_tokens":10}`
	message := func(text string) []byte {
		m := map[string]any{"role": "assistant", "content": text}
		if thought != "" {
			m["reasoning_content"] = thought
		}
		if len(calls) > 0 {
			m["tool_calls"] = calls
		}
		out, _ := json.Marshal(m) // of plain values
		return out
	}
	if !stream {
		fmt.Fprintf(w, `{"id":"1","object":"chat.completion","model":"tiny","choices":[{"index":0,"message":%s,"finish_reason":%q}],"usage":%s}`, message(text), finish, usage)
		return
	}
	pieces := strings.SplitAfter(text, " ")
	if s.fault == "one piece" {
		pieces = []string{text}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, piece := range pieces {
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":%s}]}\n\n", message(piece))
		thought, calls = "", nil
	}
	fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}]}\n\ndata: {\"choices\":[],\"usage\":%s}\n\ndata: [DONE]\n\n", finish, usage)
}

// outcomes runs the checks whose names match, and returns the names of those that fail and of those
// that are skipped, and the errors.
func outcomes(t *testing.T, played scripted, wanted string) (failed, skipped []string, errs error) {
	t.Helper()
	web := memhttp.New(played)
	defer web.Close()
	s := check.Value(find(t.Context(), web.Transport(), web.URL()+"/v1/", ""))(t)
	facts := s.String()
	check.That(t, strings.HasSuffix(facts, "/v1/responses"), "got the facts %s", facts)
	for _, c := range checks() {
		switch {
		case !regexp.MustCompile(wanted).MatchString(c.name):
		case !s.offers(c):
			skipped = append(skipped, c.name)
		default:
			if _, err := s.run(t.Context(), c); err != nil {
				failed, errs = append(failed, c.name), errors.Join(errs, err)
			}
		}
	}
	return failed, skipped, errs
}

// At a server without faults no check fails, and what the server does not offer is named.
func TestServers(t *testing.T) {
	t.Parallel()
	const wanted = `^(chat|stream|length|calls.*|agent|structured|sampling|reasoning.*|overflow|connections|responses)$`
	for kind, want := range map[string]string{
		llamacpp: "responses",
		ollama:   "calls/required structured reasoning/echo overflow responses",
	} {
		synctest.Test(t, func(t *testing.T) {
			failed, skipped, err := outcomes(t, scripted{kind: kind}, wanted)
			got := strings.Join(skipped, " ")
			check.That(t, err == nil && got == want, "%s: %q failed: %v; got %s skipped, want %s", kind, failed, err, got, want)
		})
	}
}

// Each fault of a server fails the checks for it, with the reason.
func TestFaults(t *testing.T) {
	t.Parallel()
	for fault, want := range map[string]struct{ names, text string }{
		"one piece": {"stream", "several pieces: got false, want true"},
		"one call":  {"calls reasoning reasoning/echo", "calls: got weather Oslo, want weather Oslo, clock Oslo"},
		"forgets":   {"reasoning/echo", "thoughts in the prompt: got 0, want 2"},
		"vague":     {"overflow", "want a limit of tokens"},
		"arguments": {"calls/required", `missing required property "n"`},
	} {
		synctest.Test(t, func(t *testing.T) {
			failed, _, err := outcomes(t, scripted{llamacpp, fault}, `^(stream|calls.*|reasoning.*|overflow)$`)
			if got := strings.Join(failed, " "); got != want.names || !strings.Contains(fmt.Sprint(err), want.text) {
				t.Errorf("%s: got %q: %v, want %s: %s", fault, got, err, want.names, want.text)
			}
		})
	}
}

// A server without the model and a wrong URL are reported at once.
func TestNoServer(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	for url, want := range map[string]string{"localhost:8080": "is not the URL of a server, such as http://127.0.0.1:8080", other.URL: "/v1/models has no model (HTTP 404)"} {
		_, err := find(t.Context(), http.DefaultTransport.(*http.Transport), url, "")
		check.That(t, err != nil && strings.HasSuffix(err.Error(), want), "%s: got %v, want %s", url, err, want)
	}
	file := filepath.Join(t.TempDir(), "m.gguf")
	check.Must(t, makeModel(file, io.Discard))
	data, err := os.ReadFile(file + ".modelfile")
	check.That(t, err == nil && strings.HasPrefix(string(data), "FROM "+file+"\n"),
		"got %q, %v, want the name of the model", data, err)
}
