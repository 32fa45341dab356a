package agent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/anthropic"
	"github.com/tmc/langchaingo/llms/ollama"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/compact"
	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/agent/run"
)

// A window is a host whose model has few tokens, of four bytes each. To each question it first asks for
// the tool "read".
type window struct {
	tokens  int
	refusal func(w http.ResponseWriter, prompt, window int) // nil: it leaves out the beginning without a word
	refused int
	asked   []string // requests that were answered
}

// record is the writer of a response.
type record struct {
	bytes.Buffer
	status int
}

func (r *record) Header() http.Header    { return http.Header{} }
func (r *record) WriteHeader(status int) { r.status = status }

func (w *window) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	out := &record{status: http.StatusOK}
	switch prompt := len(body) / 4; {
	case prompt > w.tokens && w.refusal != nil:
		w.refused++
		w.refusal(out, prompt, w.tokens)
	default:
		w.asked = append(w.asked, string(body))
		message := `{"role":"assistant","content":"Read."}`
		if strings.Contains(string(body[bytes.LastIndex(body, []byte(`"role":`)):]), `"user"`) {
			message = fmt.Sprintf(`{"role":"assistant","tool_calls":[{"id":"c%d","type":"function","function":{"name":"read","arguments":"{}"}}]}`, len(w.asked))
		}
		fmt.Fprintf(out, `{"model":"m","choices":[{"message":%s}],"usage":{"prompt_tokens":%d,"completion_tokens":10}}`, message, min(prompt, w.tokens))
	}
	return &http.Response{StatusCode: out.status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(out), Request: r}, nil
}

// refusals are the words of hosts for a call that is too long.
var refusals = map[string]func(w http.ResponseWriter, prompt, window int){
	"llamacpp": func(w http.ResponseWriter, prompt, window int) {
		w.WriteHeader(400)
		fmt.Fprintf(w, `{"error":{"code":400,"message":"request (%d tokens) exceeds the available context size (%d tokens)","type":"exceed_context_size_error"}}`, prompt, window)
	},
	"ollama": func(w http.ResponseWriter, prompt, window int) {
		w.WriteHeader(400)
		fmt.Fprintf(w, `{"error":{"type":"invalid_request_error","message":"{\"error\":{\"code\":400,\"message\":\"request (%d tokens) exceeds the available context size (%d tokens)\"}}"}}`, prompt, window)
	},
	"vllm": func(w http.ResponseWriter, prompt, window int) {
		w.WriteHeader(400)
		fmt.Fprintf(w, `{"object":"error","message":"The decoder prompt (length %d) is longer than the maximum model length of %d.","code":400}`, prompt, window)
	},
	"openai": func(w http.ResponseWriter, _, _ int) {
		w.WriteHeader(400)
		fmt.Fprint(w, `{"error":{"message":"Your input exceeds the context window of this model.","code":"context_length_exceeded"}}`)
	},
}

const theWindow = 3000

// aLibrary is a tool with a result of about 600 tokens.
func aLibrary() adapter.Source {
	return adapter.Func("read", "Reads.", func(context.Context, struct{}) (string, error) { return strings.Repeat("read text. ", 220), nil }, nil)
}

// A conversation continues at four times the window of the model, also in other processes, and so it
// does after a question that is too long by itself.
func TestFourTimesTheWindow(t *testing.T) {
	for host, refusal := range refusals {
		t.Run(host, func(t *testing.T) {
			store, w := inFiles(t, filestore.Never), &window{tokens: theWindow, refusal: refusal}
			processes := 2
			for process := range processes {
				a := newAgent(t, at(t, host, "gpt-4.1", w), &agent.Options{
					Store: store, Stream: agent.StreamNever, Tools: []adapter.Source{aLibrary()}, ModelRetries: -1,
				})
				for i := range 10 {
					question := fmt.Sprintf("question %d of %d", i, process)
					r, err := a.Run(t.Context(), human(question), agent.In(theRun.ID))
					if err != nil || r.Answer != "Read." {
						t.Fatalf("%s: got %v, %v", question, r, err)
					}
					if last := w.asked[len(w.asked)-1]; !strings.Contains(last, question) {
						t.Errorf("%s is not in %s", question, last)
					}
				}
				long := strings.Repeat("too long ", theWindow)
				if _, err := a.Run(t.Context(), human(long), agent.In(theRun.ID)); err == nil || !strings.Contains(err.Error(), "larger window") {
					t.Errorf("a question that is too long: got %v, want a remedy", err)
				}
			}
			if _, err := newAgent(t, at(t, host, "gpt-4.1", w), &agent.Options{Store: store, Stream: agent.StreamNever, Tools: []adapter.Source{aLibrary()}}).
				Run(t.Context(), human("last"), agent.In(theRun.ID)); err != nil {
				t.Errorf("after all: got %v", err)
			}
			if most := 8 * processes; host != "openai" && w.refused > most {
				t.Errorf("got %d refusals, want at most %d: the window is learned", w.refused, most)
			}
		})
	}
}

// The compactor may fail; a call that is too long is then trimmed all the same, and made again once.
func TestOverflowWithoutSummary(t *testing.T) {
	w := &window{tokens: theWindow, refusal: refusals["llamacpp"]}
	a := newAgent(t, at(t, "llamacpp", "m", w), &agent.Options{
		Store: inFiles(t, filestore.Never), Stream: agent.StreamNever, Tools: []adapter.Source{aLibrary()},
		Compact: func(context.Context, []run.Message, compact.Budget) (*run.Compacted, error) {
			return nil, errors.New("no model")
		},
	})
	for i := range 6 {
		r, err := a.Run(t.Context(), human(fmt.Sprint("question ", i)), agent.In(theRun.ID))
		if err != nil || r.Answer != "Read." {
			t.Fatalf("question %d: got %v, %v", i, r, err)
		}
	}
	if w.refused == 0 {
		t.Error("no call was too long")
	}
}

// A host that leaves out the beginning of a call counts too few tokens: the person is told once.
func TestSilentTruncation(t *testing.T) {
	for _, tt := range []struct {
		name   string
		window int
		want   int // warnings
	}{{"a small window", 1500, 1}, {"a large one", 100_000, 0}} {
		t.Run(tt.name, func(t *testing.T) {
			a := newAgent(t, at(t, "ollama", "m", &window{tokens: tt.window}), &agent.Options{
				Store: inFiles(t, filestore.Never), Stream: agent.StreamNever, Tools: []adapter.Source{aLibrary()},
			})
			told := 0
			for range 12 {
				r, err := a.Run(t.Context(), human("go"), agent.In(theRun.ID))
				if err != nil {
					t.Fatal(err)
				}
				told += len(slices.DeleteFunc(warningsOf(r), func(s string) bool { return !strings.Contains(s, "OLLAMA_CONTEXT_LENGTH") }))
			}
			if (told > 0) != (tt.want > 0) {
				t.Errorf("got %d warnings, want some: %t", told, tt.want > 0)
			}
		})
	}
}

// Providers of langchaingo have the status in the text of a plain error.
func TestPlainErrors(t *testing.T) {
	for text, again := range map[string]bool{
		"API returned unexpected status code: 429: slow down": true,
		"anthropic: API returned unexpected status code: 529": true,
		"googleapi: Error 503: overloaded":                    true,
		"API returned unexpected status code: 401: key":       false,
		"API returned unexpected status code: 400: bad":       false,
		"no status": false,
		"status code: 400: the maximum context length is 5 tokens": false,
	} {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			m := modelFunc(func() (*llms.ContentResponse, error) {
				if calls++; calls == 1 {
					return nil, errors.New(text)
				}
				return &llms.ContentResponse{Choices: []*llms.ContentChoice{{Content: "ok"}}}, nil
			})
			_, err := newAgent(t, m, nil).Run(t.Context(), human("go"))
			if (err == nil) != again {
				t.Errorf("%s: got %v after %d calls, want another call: %t", text, err, calls, again)
			}
		})
	}
}

// modelFunc is a model.
type modelFunc func() (*llms.ContentResponse, error)

func (f modelFunc) GenerateContent(context.Context, []llms.MessageContent, ...llms.CallOption) (*llms.ContentResponse, error) {
	return f()
}

func (f modelFunc) Call(context.Context, string, ...llms.CallOption) (string, error) {
	return "", errors.ErrUnsupported
}

// A provider of langchaingo that drops tools is refused with some, and the temperature of a call for which
// none is asked is that of the host.
func TestProvidersOfLangchaingo(t *testing.T) {
	w := &wire{replies: []string{anthropicAnswer}}
	local, err := ollama.New(ollama.WithModel("m"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := agent.New(local, &agent.Options{Tools: []adapter.Source{aLibrary()}}); err == nil || !strings.Contains(err.Error(), "http://localhost:11434/v1") {
		t.Errorf("got %v, want what to use instead", err)
	}
	if _, err := agent.New(local, nil); err != nil {
		t.Errorf("without tools: %v", err)
	}
	claude, err := anthropic.New(anthropic.WithToken("x"), anthropic.WithModel("claude"), anthropic.WithHTTPClient(w))
	if err != nil {
		t.Fatal(err)
	}
	for i, tt := range []struct {
		options []llms.CallOption
		want    float64
	}{{nil, 1}, {[]llms.CallOption{llms.WithTemperature(0)}, 0}, {[]llms.CallOption{llms.WithTemperature(0.5)}, 0.5}} {
		mustRun(t, newAgent(t, claude, &agent.Options{CallOptions: tt.options}), human("go"))
		if got := w.requests[i]["temperature"]; got != tt.want {
			t.Errorf("got the temperature %v, want %v", got, tt.want)
		}
	}
}

// The person is told once that a model does not reason, since it would take no tools otherwise.
func TestModelThatMayNotReason(t *testing.T) {
	calls := replying(`{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"read","arguments":"{}"}}]}`)
	w := &wire{replies: []string{calls, replying(`{"role":"assistant","content":"Read."}`)}}
	a := newAgent(t, at(t, "openai", "gpt-6-sol", w), &agent.Options{Stream: agent.StreamNever, Tools: []adapter.Source{aLibrary()}})
	r := mustRun(t, a, human("go"))
	if got := warningsOf(r); len(got) != 1 || !strings.Contains(got[0], "gpt-6-sol") || w.requests[1]["reasoning_effort"] != "none" {
		t.Errorf("got the warnings %q and the effort %v", got, w.requests[1]["reasoning_effort"])
	}
	if start := eventOf[*agent.ModelStart](t, a); start.Model != "gpt-6-sol" {
		t.Errorf("got the model %q", start.Model)
	}
}

// eventOf is the first event of a type in a run.
func eventOf[E agent.Event](t *testing.T, a *agent.Agent) (first E) {
	t.Helper()
	for event, err := range a.Events(t.Context(), human("go")) {
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := event.(E); ok {
			return e
		}
	}
	t.Fatalf("got no %T", first)
	return first
}
