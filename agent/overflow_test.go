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

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/compact"
	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
)

// A window is a host whose model has few tokens, of four bytes each. To each question it first asks for the tool "read".
type window struct {
	tokens  int
	refusal string // "": it leaves out the beginning without a word
	refused int
	asked   []string // requests that were answered
}

func (w *window) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	prompt, status := len(body)/4, http.StatusBadRequest
	reply := strings.NewReplacer("PROMPT", fmt.Sprint(prompt), "WINDOW", fmt.Sprint(w.tokens)).Replace(w.refusal)
	if prompt > w.tokens && w.refusal != "" {
		w.refused++
	} else {
		w.asked = append(w.asked, string(body))
		message := `{"role":"assistant","content":"Read."}`
		if strings.Contains(string(body[bytes.LastIndex(body, []byte(`"role":`)):]), `"user"`) {
			message = fmt.Sprintf(`{"role":"assistant","tool_calls":[{"id":"c%d","type":"function","function":{"name":"read","arguments":"{}"}}]}`, len(w.asked))
		}
		status = http.StatusOK
		reply = fmt.Sprintf(`{"model":"m","choices":[{"message":%s}],"usage":{"prompt_tokens":%d,"completion_tokens":10}}`, message,
			min(prompt, w.tokens))
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(reply)),
		Request: r}, nil
}

// refusals are the words of hosts for a call that is too long.
var refusals = map[string]string{
	"llamacpp": `{"error":{"code":400,"message":"request (PROMPT tokens) exceeds the available context size (WINDOW tokens)","type":"exceed_context_size_error"}}`,
	"ollama":   `{"error":{"type":"invalid_request_error","message":"{\"error\":{\"code\":400,\"message\":\"request (PROMPT tokens) exceeds the available context size (WINDOW tokens)\"}}"}}`,
	"vllm":     `{"object":"error","message":"The decoder prompt (length PROMPT) is longer than the maximum model length of WINDOW.","code":400}`,
	"groq":     `{"error":{"message":"Request too large for model m on tokens per minute (TPM): Limit WINDOW, Requested PROMPT, please reduce.","code":"rate_limit_exceeded"}}`,
	"openai":   `{"error":{"message":"Your input exceeds the context window of this model.","code":"context_length_exceeded"}}`,
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
			store, w := inFiles(t, &filestore.Options{NoSync: true}), &window{tokens: theWindow, refusal: refusal}
			for process := range 2 {
				a := newAgent(t, at(t, host, "gpt-4.1", w), &agent.Options{
					Durable: agent.Durable{Store: store}, Tools: []adapter.Source{aLibrary()}, Model: agent.ModelSettings{Retries: -1},
				})
				for i := range 10 {
					question := fmt.Sprintf("question %d of %d", i, process)
					check.Equal(t, question, mustRun(t, a, human(question), agent.WithRun(theRun.ID)).Output, "Read.")
					check.Contains(t, "request", w.asked[len(w.asked)-1], question)
				}
				check.Text(t, check.Err(a.Run(t.Context(), human(strings.Repeat("too long ", theWindow)), agent.WithRun(theRun.ID))), "ask for less, or give the model a larger window")
			}
			last := newAgent(t, at(t, host, "gpt-4.1", w), &agent.Options{Durable: agent.Durable{Store: store}, Tools: []adapter.Source{aLibrary()}})
			mustRun(t, last, human("last"), agent.WithRun(theRun.ID))
			check.That(t, host == "openai" || w.refused <= 16, "got %d refusals, want at most 16: the window is learned", w.refused)
		})
	}
}

// The compactor may fail; a call that is too long is then trimmed all the same, and made again once.
func TestOverflowWithoutSummary(t *testing.T) {
	w := &window{tokens: theWindow, refusal: refusals["llamacpp"]}
	a := newAgent(t, at(t, "llamacpp", "m", w), &agent.Options{
		Durable: agent.Durable{Store: inFiles(t, &filestore.Options{NoSync: true})}, Tools: []adapter.Source{aLibrary()},
		Compact: func(context.Context, []run.Message, compact.Budget) (*compact.Result, error) {
			return nil, errors.New("no model")
		},
	})
	for range 6 {
		answers(t, a, "Read.", agent.WithRun(theRun.ID))
	}
	check.Equal(t, "a call was too long", w.refused > 0, true)
}

// A host that leaves out the beginning of a call counts too few tokens: the person is told once.
func TestSilentTruncation(t *testing.T) {
	for name, size := range map[string]int{"a small window": 1500, "a large one": 100_000} {
		t.Run(name, func(t *testing.T) {
			a := newAgent(t, at(t, "ollama", "m", &window{tokens: size}), &agent.Options{
				Durable: agent.Durable{Store: inFiles(t, &filestore.Options{NoSync: true})}, Tools: []adapter.Source{aLibrary()},
			})
			told := 0
			for range 12 {
				r := mustRun(t, a, human("go"), agent.WithRun(theRun.ID))
				told += len(slices.DeleteFunc(warningsOf(r), func(s string) bool { return !strings.Contains(s, "OLLAMA_CONTEXT_LENGTH") }))
			}
			check.Equal(t, "the person is told", told > 0, name == "a small window")
		})
	}
}

// The person is told once what a model says of how it was asked.
func TestWarningOfAModel(t *testing.T) {
	warns := func(s step) step {
		return changed(s, func(r *model.Response) { r.Warning = "it does not reason with tools" })
	}
	m := play(warns(uses(toolCall("1", "read", "{}"))), warns(says("Read."))).called("m-1")
	a := newAgent(t, m, &agent.Options{Tools: []adapter.Source{aLibrary()}})
	check.Same(t, "warnings", warningsOf(mustRun(t, a, human("go"))), []string{"it does not reason with tools"})
}

func eventOf[E agent.Event](t *testing.T, a *agent.Agent) (first E) {
	t.Helper()
	for event := range each(t, a.Events(t.Context(), human("go"))) {
		if e, ok := event.(E); ok {
			return e
		}
	}
	t.Fatalf("got no %T", first)
	return first
}

// serverTool is a function that stands for a tool of a server.
func serverTool(server, name, description string) adapter.Source {
	return adapter.Func(name, description, func(context.Context, struct{ City string }) (string, error) {
		return strings.Repeat("It is sunny. ", 40), nil
	}, &adapter.FuncOptions{Server: server, ReadOnly: true})
}

// TestWindowUse says what fills the window in each call of the model.
func TestWindowUse(t *testing.T) {
	for name, provider := range map[string]string{"openai": "", "anthropic": "anthropic"} {
		for hook, hooks := range map[string][]agent.Hook{"": nil, " with a hook": {{BeforeModel: func(context.Context, *agent.State, *model.Request) error { return nil }}}} {
			t.Run(name+hook, func(t *testing.T) {
				info := model.Info{NoStreaming: true, Window: 50_000, Provider: provider}
				m := agenttest.Play(
					agenttest.CallTools("weather", `{"City":"Oslo"}`),
					agenttest.CallTools("weather", `{"City":"Bergen"}`),
					agenttest.Say("sunny").WithUsage(2000, 3),
				).WithInfo(info)
				a := newAgent(t, m, &agent.Options{System: strings.Repeat("Be brief. ", 20), Hooks: hooks, Tools: []adapter.Source{
					serverTool("north", "weather", "Tells the weather of a city."), serverTool("south", "traffic", strings.Repeat("Tells of the traffic. ", 30)),
					serverTool("north", "tides", "Tells the tides."),
				}})
				var uses []*agent.WindowUse
				events, result := played(t, a.Events(t.Context(), human("How is it?")))
				for _, end := range of[*agent.ModelEnd](events) {
					uses = append(uses, end.Window)
				}
				check.Require(t, len(uses) == 3 && result.Window == uses[2], "got %d accounts, and %p in the result", len(uses), result.Window)
				for i, use := range uses {
					sum := use.Instructions + use.History + use.Results
					for _, s := range use.Servers {
						sum += s.Tokens
					}
					check.That(t, sum == use.Input && use.Size == 50_000, "call %d: the parts make %d, want %d: %+v", i, sum, use.Input, use)
					check.That(t, len(use.Servers) == 2 && use.Servers[0].Server == "north" && use.Servers[0].Tools == 2 && use.Servers[1].Tools == 1 && use.Servers[1].Tokens >= use.Servers[0].Tokens,
						"call %d: got the servers %+v", i, use.Servers)
					whole := model.Tokens(&m.Turns()[i].Request, &info)
					if counted := i == 2; counted != !use.Estimated || counted && use.Input != 2000 || !counted && (use.Input < whole*95/100 || use.Input > whole*105/100) {
						t.Errorf("call %d: got %+v, want about %d", i, use, whole)
					}
				}
				if one, two := uses[0], uses[1]; one.Results != 0 || two.Results < 100 || uses[2].Results < two.Results || two.Instructions != one.Instructions || two.History <= one.History {
					t.Errorf("got %+v, %+v, %+v", *one, *two, *uses[2])
				}
			})
		}
	}
}

// TestWindowUseOfHooks distinguishes the tools that a hook adds from those of a search.
func TestWindowUseOfHooks(t *testing.T) {
	add := func(_ context.Context, _ *agent.State, q *model.Request) error {
		q.Tools = append(q.Tools, model.Tool{Name: "added"})
		return nil
	}
	opts := &agent.Options{Hooks: []agent.Hook{{BeforeModel: add}}}
	count := func() (tools []string) {
		for _, s := range mustRun(t, newAgent(t, play(says("hi")), opts), human("hello")).Window.Servers {
			tools = append(tools, fmt.Sprint(s.Server, " ", s.Tools))
		}
		return tools
	}
	check.Same(t, "tools", count(), []string{"hook 1"})
	opts.Tools = []adapter.Source{serverTool("north", "weather", "Tells the weather.")}
	opts.Discover = agent.Discover{Threshold: 1e-9, Mode: agent.DiscoveryCall}
	check.Same(t, "tools", count(), []string{"discovery 2", "hook 1"})
}

// TestWindowUseOfAResult has the account of the last call in a result, and none without a call.
func TestWindowUseOfAResult(t *testing.T) {
	a := newAgent(t, play(says("hi")), &agent.Options{Durable: agent.Durable{Store: record.NewMemory()}})
	got := mustRun(t, a, human("hello"), agent.WithRun("r"))
	check.That(t, got.Window != nil && got.Window.Input != 0, "got %+v", got.Window)
	check.Equal(t, "account of a result without a call", resumed(t, a).Window, nil)
}
