package agent_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/testenv/memhttp"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// gate is a server over HTTP whose tool calls need a person who has signed in.
type gate struct {
	*server
	web *memhttp.Server

	mu     sync.Mutex
	signed bool
	ran    int // calls of "echo"
}

func newGate(t *testing.T) *gate {
	g := &gate{server: emptyServer()}
	g.addTool("ask", ask)
	g.addTool("echo", func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.ran++
		return text(string(r.Params.Arguments)), nil
	})
	g.web = memhttp.New(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return g.Server }, &sdk.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(g.web.Close)
	return g
}

// sign signs the person in or out.
func (g *gate) sign(in bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.signed = in
}

func (g *gate) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	g.mu.Lock()
	signed := g.signed
	g.mu.Unlock()
	if !signed && bytes.Contains(body, []byte(`"tools/call"`)) {
		return nil, &mcp.SignInError{URL: "https://host.test/sign-in"}
	}
	return g.web.Transport().RoundTrip(r)
}

// process is an agent with a connection of its own, as another process would have it.
func (g *gate) process(t *testing.T, revision string, model *script, opts agent.Options) *agent.Agent {
	t.Helper()
	client := &mcpclient.Options{Protocol: mcpclient.Protocol{Revision: revision}}
	transport := &mcpclient.HTTP{URL: g.web.URL(), Client: &http.Client{Transport: g}}
	toolset := openAll(t, &adapter.Options{ClientOptions: client}, adapter.Server{Name: "drive", Transport: transport})
	return withTools(t, model, toolset, &opts)
}

// Calls that need a sign-in wait for it, in any process, and are sent once after it. One
// sign-in is for all calls of its server.
func TestSignIn(t *testing.T) {
	for _, revision := range eras {
		t.Run(revision, func(t *testing.T) {
			store, g := record.NewMemory(), newGate(t)
			first := g.process(t, revision, play(uses(toolCall("1", "echo", `{"x":1}`), toolCall("2", "echo", `{"x":2}`))), agent.Options{Durable: agent.Durable{Store: store}})
			got := asks(t, first, 2, run.QuestionSignIn)
			q := got.Questions[0]
			if q.Kind != run.QuestionSignIn || q.Server != "drive" || q.URL != "https://host.test/sign-in" || !q.Survives {
				t.Errorf("got the question %+v, want a sign-in that survives", q)
			}
			g.sign(true)
			answer := accepted(t, q, nil)
			got = resumed(t, g.process(t, revision, play(says("done")), agent.Options{Durable: agent.Durable{Store: store}}), answer)
			diff(t, "results", lines(got.Messages)[2:], []string{`tool: 1/echo→"{\"x\":1}"`, `tool: 2/echo→"{\"x\":2}"`, `ai: "done"`})
			if g.ran != 2 {
				t.Errorf("%d calls ran, want each once", g.ran)
			}
		})
	}
}

// A call whose sign-in is declined is not sent, whatever is answered for another call, and
// in every order.
func TestSignInDeclinedForOneCall(t *testing.T) {
	for name, order := range map[string][]int{"declined first": {1, 0}, "accepted first": {0, 1}} {
		t.Run(name, func(t *testing.T) {
			store, g := record.NewMemory(), newGate(t)
			model := play(uses(toolCall("1", "echo", `{"x":1}`), toolCall("2", "echo", `{"x":2}`), toolCall("3", "echo", `{"x":3}`)), says("done"))
			a := g.process(t, eras[1], model, agent.Options{Durable: agent.Durable{Store: store}})
			got := asks(t, a, 3, run.QuestionSignIn)
			g.sign(true)
			yes := accepted(t, got.Questions[0], nil)
			answers := []run.Reply{yes, got.Questions[1].Decline()}
			got = resumed(t, a, answers[order[0]], answers[order[1]])
			diff(t, "results", lines(got.Messages)[2:], []string{
				`tool: 1/echo→"{\"x\":1}"`, `tool: 2/echo→"Error: the user did not sign in at the tool's server. Nothing was done."`, `tool: 3/echo→"{\"x\":3}"`, `ai: "done"`,
			})
			if g.ran != 2 {
				t.Errorf("%d calls ran, want all but the one that was declined", g.ran)
			}
		})
	}
}

// A person may refuse to sign in, and a sign-in may be needed in the course of a call.
func TestSignInMidway(t *testing.T) {
	store, g := record.NewMemory(), newGate(t)
	g.sign(true)
	a := g.process(t, eras[1], play(uses(toolCall("1", "ask", "{}")), says("done")), agent.Options{Durable: agent.Durable{Store: store}})
	got := asks(t, a, 1, run.QuestionForm)
	g.sign(false)
	name := accepted(t, got.Questions[0], map[string]any{"name": "Ann"})
	got, err := a.Resume(t.Context(), theRun, name)
	if err != nil || len(got.Questions) != 1 || got.Questions[0].Kind != run.QuestionSignIn {
		t.Fatalf("got %+v, %v, want a sign-in", got, err)
	}
	g.sign(true)
	signed := accepted(t, got.Questions[0], nil)
	got = resumed(t, a, signed)
	diff(t, "result", lines(got.Messages)[2], `tool: 1/ask→"accept Ann"`)
}

func TestSignInIsRefused(t *testing.T) {
	g := newGate(t)
	no := func(_ context.Context, q *run.Question) (run.Reply, error) { return q.Decline(), nil }
	a := g.process(t, eras[1], play(uses(toolCall("1", "echo", "{}")), says("done")), agent.Options{Person: agent.Person{Reply: no}})
	diff(t, "result", lines(mustRun(t, a, human("go")).Messages)[2], `tool: 1/echo→"Error: the user did not sign in at the tool's server. Nothing was done."`)
}

// A person who says to have signed in, and has not, is not asked without end.
func TestSignInThatDoesNotHelp(t *testing.T) {
	g, asked := newGate(t), 0
	yes := func(_ context.Context, q *run.Question) (run.Reply, error) {
		asked++
		return q.Accept(nil)
	}
	a := g.process(t, eras[1], play(uses(toolCall("1", "echo", "{}")), says("done")), agent.Options{Person: agent.Person{Reply: yes}})
	got := lines(mustRun(t, a, human("go")).Messages)[2]
	diff(t, "result", got, `tool: 1/echo→"Error: the user has to sign in at the tool's server first. Nothing was done."`)
	if asked < 2 || asked > 32 {
		t.Errorf("the person was asked %d times", asked)
	}
}

// The person at hand is asked once for a sign-in that several calls need. A refusal is for one
// call: the next one has a question of its own.
func TestSignInIsPutOnce(t *testing.T) {
	const refused = "Error: the user did not sign in at the tool's server. Nothing was done."
	for name, tt := range map[string]struct {
		answer func(*run.Question) run.Reply // nil: none
		asked  int32
		want   []string
	}{
		"accepted": {func(q *run.Question) run.Reply { return run.Reply{Question: q.ID, Action: run.ActionAccept} }, 1,
			[]string{`tool: 1/echo→"{\"x\":1}"`, `tool: 2/echo→"{\"x\":2}"`, `ai: "done"`}},
		"declined":  {(*run.Question).Decline, 2, []string{fmt.Sprintf("tool: 1/echo→%q", refused), fmt.Sprintf("tool: 2/echo→%q", refused), `ai: "done"`}},
		"no answer": {nil, 1, nil},
	} {
		synctestRun(t, name, func(t *testing.T) {
			g := newGate(t)
			var asked, together atomic.Int32
			answer := func(_ context.Context, q *run.Question) (run.Reply, error) {
				asked.Add(1)
				if together.Add(1) > 1 {
					t.Error("the person is asked twice at the same time")
				}
				defer together.Add(-1)
				time.Sleep(time.Second) // until both calls wait
				if tt.answer == nil {
					return run.Reply{}, nil
				}
				a := tt.answer(q)
				g.sign(a.Action == run.ActionAccept)
				return a, nil
			}
			model := play(uses(toolCall("1", "echo", `{"x":1}`), toolCall("2", "echo", `{"x":2}`)), says("done"))
			got := mustRun(t, g.process(t, eras[1], model, agent.Options{Person: agent.Person{Reply: answer}, ParallelWrites: true}), human("go"))
			if n := asked.Load(); n != tt.asked {
				t.Errorf("the person was asked %d times, want %d", n, tt.asked)
			}
			if tt.want == nil {
				if got.Status != run.StatusWaiting || len(got.Questions) != 2 {
					t.Errorf("got %s with the questions %+v, want a question for each call", got.Status, got.Questions)
				}
				return
			}
			diff(t, "results", lines(got.Messages)[2:], tt.want)
		})
	}
}

// One sign-in is for the calls of an agent and of its sub-agents: the person at hand is asked once, and one answer from
// elsewhere is enough.
func TestSignInIsForTheTree(t *testing.T) {
	tree := func(t *testing.T, g *gate, opts agent.Options) *agent.Agent {
		helper := g.process(t, eras[1], play(onInput(uses(toolCall("1", "echo", `{"x":1}`)), says("helped"))), agent.Options{})
		opts.Tools = []adapter.Source{sub(t, helper, agent.NewSubAgent)}
		return g.process(t, eras[1], play(onInput(uses(toolCall("a", "helper", `{"task":"x"}`), toolCall("b", "echo", `{"x":2}`), toolCall("c", "helper", `{"task":"y"}`)), says("done"))), opts)
	}
	want := []string{`tool: a/helper→"helped"`, `tool: b/echo→"{\"x\":2}"`, `tool: c/helper→"helped"`, `ai: "done"`}
	for name, refusals := range map[string]int32{"at hand": 0, "at hand, after a refusal": 1} {
		synctestRun(t, name, func(t *testing.T) {
			g := newGate(t)
			var asked, together atomic.Int32
			answer := func(_ context.Context, q *run.Question) (run.Reply, error) {
				if together.Add(1) > 1 {
					t.Error("the person is asked twice at the same time")
				}
				defer together.Add(-1)
				time.Sleep(time.Second) // until all calls wait
				if asked.Add(1) <= refusals {
					return q.Decline(), nil
				}
				g.sign(true)
				return run.Reply{Action: run.ActionAccept}, nil
			}
			got := mustRun(t, tree(t, g, agent.Options{Person: agent.Person{Reply: answer}, ParallelWrites: true}), human("go"))
			if n := asked.Load(); n != 1+refusals || g.ran != 3-int(refusals) {
				t.Errorf("the person was asked %d times, and %d calls ran, want %d and %d", n, g.ran, 1+refusals, 3-refusals)
			}
			if refusals == 0 {
				diff(t, "results", lines(got.Messages)[2:], want)
			}
		})
	}
	t.Run("from elsewhere", func(t *testing.T) {
		store, g := record.NewMemory(), newGate(t)
		got := asks(t, tree(t, g, agent.Options{Durable: agent.Durable{Store: store}}), 3, run.QuestionSignIn)
		g.sign(true)
		answer := accepted(t, got.Questions[1], nil)
		got = resumed(t, tree(t, g, agent.Options{Durable: agent.Durable{Store: store}}), answer)
		diff(t, "results", lines(got.Messages)[2:], want)
		if g.ran != 3 {
			t.Errorf("%d calls ran, want each once", g.ran)
		}
	})
	t.Run("refused elsewhere", func(t *testing.T) {
		store, g := record.NewMemory(), newGate(t)
		got := asks(t, tree(t, g, agent.Options{Durable: agent.Durable{Store: store}}), 3, run.QuestionSignIn)
		got, err := tree(t, g, agent.Options{Durable: agent.Durable{Store: store}}).Resume(t.Context(), theRun, got.Questions[1].Decline())
		if err != nil || len(got.Questions) != 2 || g.ran > 0 {
			t.Errorf("got %+v, %v after %d calls, want two questions", got.Questions, err, g.ran)
		}
	})
}

// A question may be settled in another way: the wait for its answer ends, and what comes of it
// does not count.
func TestSettledQuestionIsWithdrawn(t *testing.T) {
	for name, late := range map[string]func(*run.Question) (run.Reply, error){
		"no answer": func(*run.Question) (run.Reply, error) { return run.Reply{}, nil },
		"an answer": func(q *run.Question) (run.Reply, error) { a := q.Decline(); return a, nil },
		"an error":  func(*run.Question) (run.Reply, error) { return run.Reply{}, context.Canceled },
	} {
		synctestRun(t, name, func(t *testing.T) {
			local := adapter.Func("local", "x", func(context.Context, struct{}) (string, error) {
				time.Sleep(time.Second) // until the sign-in is asked for
				return "ok", nil
			}, nil)
			stop := agent.Hook{AfterTool: func(context.Context, *agent.State, *agent.ToolCall, *run.Part) error { return agent.StopRun("enough") }}
			answer := func(ctx context.Context, q *run.Question) (run.Reply, error) {
				<-ctx.Done()
				return late(q)
			}
			model := play(uses(toolCall("1", "echo", "{}"), toolCall("2", "local", "{}")))
			opts := agent.Options{Person: agent.Person{Reply: answer}, Tools: []adapter.Source{local}, Hooks: []agent.Hook{stop}}
			got := mustRun(t, newGate(t).process(t, eras[1], model, opts), human("go"))
			diff(t, "results", lines(got.Messages)[2:], []string{
				`tool: 1/echo→"The call was not made: the run was stopped."`, `tool: 2/local→"ok"`, `ai: "enough"`,
			})
		})
	}
}
