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
	"github.com/mcpchain/mcpchain/internal/check"
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
	loses  bool // the answer of the next call is lost, and the sign-in with it
	ran    int  // calls of "echo"
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
	response, err := g.web.Transport().RoundTrip(r)
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil && g.loses && bytes.Contains(body, []byte(`"tools/call"`)) {
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		g.loses, g.signed = false, false
		return nil, io.ErrUnexpectedEOF
	}
	return response, err
}

// process is an agent with a connection of its own, as another process would have it.
func (g *gate) process(t *testing.T, revision string, model *script, opts agent.Options) *agent.Agent {
	t.Helper()
	transport := &mcpclient.HTTP{URL: g.web.URL(), Client: &http.Client{Transport: g}}
	return withTools(t, model, openAll(t, inEra(revision), adapter.Server{Name: "drive", Transport: transport}), &opts)
}

// Calls that need a sign-in wait for it, in any process, and are sent once after it. One sign-in is for all calls of its server.
func TestSignIn(t *testing.T) {
	for _, revision := range eras {
		t.Run(revision, func(t *testing.T) {
			store, g := record.NewMemory(), newGate(t)
			first := g.process(t, revision, play(uses(toolCall("1", "echo", `{"x":1}`), toolCall("2", "echo", `{"x":2}`))), agent.Options{Durable: agent.Durable{Store: store}})
			got := asks(t, first, 2, run.QuestionSignIn)
			q := got.Questions[0]
			check.Same(t, "server and URL", []string{q.Server, q.URL}, []string{"drive", "https://host.test/sign-in"})
			g.sign(true)
			got = resumed(t, g.process(t, revision, play(says("done")), agent.Options{Durable: agent.Durable{Store: store}}), accepted(t, q, nil))
			check.Same(t, "results", lines(got.Messages)[2:], []string{`tool: 1/echo→"{\"x\":1}"`, `tool: 2/echo→"{\"x\":2}"`, `ai: "done"`})
			check.Equal(t, "calls that ran", g.ran, 2)
		})
	}
}

// A call whose sign-in is declined is not sent, whatever is answered for another call, and in every order.
func TestSignInDeclinedForOneCall(t *testing.T) {
	for name, order := range map[string][]int{"declined first": {1, 0}, "accepted first": {0, 1}} {
		t.Run(name, func(t *testing.T) {
			store, g := record.NewMemory(), newGate(t)
			model := play(uses(toolCall("1", "echo", `{"x":1}`), toolCall("2", "echo", `{"x":2}`), toolCall("3", "echo", `{"x":3}`)), says("done"))
			a := g.process(t, eras[1], model, agent.Options{Durable: agent.Durable{Store: store}})
			got := asks(t, a, 3, run.QuestionSignIn)
			g.sign(true)
			answers := []run.Reply{accepted(t, got.Questions[0], nil), got.Questions[1].Decline()}
			got = resumed(t, a, answers[order[0]], answers[order[1]])
			check.Same(t, "results", lines(got.Messages)[2:], []string{
				`tool: 1/echo→"{\"x\":1}"`, `tool: 2/echo→"Error: the user did not sign in at the tool's server. Nothing was done."`, `tool: 3/echo→"{\"x\":3}"`, `ai: "done"`,
			})
			check.Equal(t, "calls that ran, all but the one that was declined", g.ran, 2)
		})
	}
}

// A person may refuse to sign in, and a sign-in may be needed in the course of a call.
func TestSignInMidway(t *testing.T) {
	for _, tt := range []struct {
		reply func(*run.Question) run.Reply
		want  string
	}{
		{func(q *run.Question) run.Reply { return accepted(t, q, nil) }, "accept Ann"},
		{(*run.Question).Decline, "Error: the user did not sign in at the tool's server. The call was given up; it may or may not have run."},
	} {
		store, g := record.NewMemory(), newGate(t)
		g.sign(true)
		a := g.process(t, eras[1], play(uses(toolCall("1", "ask", "{}")), says("done")), agent.Options{Durable: agent.Durable{Store: store}})
		got := asks(t, a, 1, run.QuestionForm)
		g.sign(false)
		got = resumed(t, a, accepted(t, got.Questions[0], map[string]any{"name": "Ann"}))
		q := questions(t, got, 1, run.QuestionSignIn)[0]
		g.sign(true)
		got = resumed(t, a, tt.reply(q))
		check.Same(t, "result", results(got.Messages), []string{tt.want})
	}
}

// A call that may have run is not called undone because nobody signs in for the next attempt, or signing in does not help.
func TestSignInAfterALostAnswer(t *testing.T) {
	for _, tt := range []struct {
		reply func(*run.Question) (run.Reply, error)
		want  string
	}{
		{func(q *run.Question) (run.Reply, error) { return q.Decline(), nil }, "Error: the user did not sign in at the tool's server. The call was given up; it may or may not have run."},
		{func(q *run.Question) (run.Reply, error) { return q.Accept(nil) },
			"It is unknown whether the call ran: the work on it ended before its result came. Check before you repeat it."},
	} {
		g := newGate(t)
		g.signed, g.loses = true, true
		transport := &mcpclient.HTTP{URL: g.web.URL(), Client: &http.Client{Transport: g}}
		o := inEra(eras[1])
		o.Policy.Repeat = isHarmless
		a := withTools(t, play(uses(toolCall("1", "echo", "{}")), says("done")), openAll(t, o, adapter.Server{Name: "drive", Transport: transport}),
			&agent.Options{Person: agent.Person{Reply: func(_ context.Context, q *run.Question) (run.Reply, error) { return tt.reply(q) }}})
		check.Same(t, "result", results(mustRun(t, a, human("go")).Messages), []string{tt.want})
		check.Equal(t, "calls that ran", g.ran, 1)
	}
}

// A call that may have run is not called undone if its tool is gone after the sign-in.
func TestToolGoneAfterALostAnswer(t *testing.T) {
	g, durable := newGate(t), agent.Durable{Store: record.NewMemory()}
	g.signed, g.loses = true, true
	o := inEra(eras[1])
	o.Policy.Repeat = isHarmless
	all := openAll(t, o, adapter.Server{Name: "drive", Transport: &mcpclient.HTTP{URL: g.web.URL(), Client: &http.Client{Transport: g}}})
	got := asks(t, withTools(t, play(uses(toolCall("1", "echo", "{}"))), all, &agent.Options{Durable: durable}), 1, run.QuestionSignIn)
	accept := check.Value(got.Questions[0].Accept(nil))(t)
	got = resumed(t, newAgent(t, play(says("done")), &agent.Options{Durable: durable}), accept)
	check.Contains(t, "result", results(got.Messages)[0], "it may or may not have run")
}

// A person who says to have signed in, and has not, is not asked without end.
func TestSignInThatDoesNotHelp(t *testing.T) {
	g, asked := newGate(t), 0
	yes := func(_ context.Context, q *run.Question) (run.Reply, error) { asked++; return q.Accept(nil) }
	a := g.process(t, eras[1], play(uses(toolCall("1", "echo", "{}")), says("done")), agent.Options{Person: agent.Person{Reply: yes}})
	got := lines(mustRun(t, a, human("go")).Messages)[2]
	check.Same(t, "result", got, `tool: 1/echo→"Error: the user has to sign in at the tool's server first. Nothing was done."`)
	within(t, "how often the person was asked", asked, 2, 32)
}

// The person at hand is asked once for a sign-in that several calls need. A refusal is for one call: the next one asks again.
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
				check.Equal(t, "how often the person is asked at the same time", together.Add(1), 1)
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
			check.Equal(t, "how often the person was asked", asked.Load(), tt.asked)
			if tt.want == nil {
				check.Same(t, "a question for each call", []any{got.Status, len(got.Questions)}, []any{run.StatusWaiting, 2})
				return
			}
			check.Same(t, "results", lines(got.Messages)[2:], tt.want)
		})
	}
}

// One sign-in is for an agent and its sub-agents: the person at hand is asked once, and one answer from elsewhere is enough.
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
				check.Equal(t, "how often the person is asked at the same time", together.Add(1), 1)
				defer together.Add(-1)
				time.Sleep(time.Second) // until all calls wait
				if asked.Add(1) <= refusals {
					return q.Decline(), nil
				}
				g.sign(true)
				return run.Reply{Action: run.ActionAccept}, nil
			}
			got := mustRun(t, tree(t, g, agent.Options{Person: agent.Person{Reply: answer}, ParallelWrites: true}), human("go"))
			check.Same(t, "how often the person was asked, and calls that ran", []int{int(asked.Load()), g.ran},
				[]int{1 + int(refusals), 3 - int(refusals)})
			if refusals == 0 {
				check.Same(t, "results", lines(got.Messages)[2:], want)
			}
		})
	}
	t.Run("from elsewhere", func(t *testing.T) {
		store, g := record.NewMemory(), newGate(t)
		got := asks(t, tree(t, g, agent.Options{Durable: agent.Durable{Store: store}}), 3, run.QuestionSignIn)
		g.sign(true)
		got = resumed(t, tree(t, g, agent.Options{Durable: agent.Durable{Store: store}}), accepted(t, got.Questions[1], nil))
		check.Same(t, "results", lines(got.Messages)[2:], want)
		check.Equal(t, "calls that ran", g.ran, 3)
	})
	t.Run("refused elsewhere", func(t *testing.T) {
		store, g := record.NewMemory(), newGate(t)
		got := asks(t, tree(t, g, agent.Options{Durable: agent.Durable{Store: store}}), 3, run.QuestionSignIn)
		got = resumed(t, tree(t, g, agent.Options{Durable: agent.Durable{Store: store}}), got.Questions[1].Decline())
		check.Same(t, "questions, and calls that ran", []int{len(got.Questions), g.ran}, []int{2, 0})
	})
}

// A question may be settled otherwise, such as by a stop: its call is not made, its wait ends, and its answer does not count.
func TestSettledQuestionIsWithdrawn(t *testing.T) {
	for name, late := range map[string]func(*gate, *run.Question) (run.Reply, error){
		"nobody is asked": nil,
		"no answer":       func(*gate, *run.Question) (run.Reply, error) { return run.Reply{}, nil },
		"an answer":       func(_ *gate, q *run.Question) (run.Reply, error) { return q.Decline(), nil },
		"a sign-in":       func(g *gate, q *run.Question) (run.Reply, error) { g.sign(true); return q.Accept(nil) },
		"an error":        func(*gate, *run.Question) (run.Reply, error) { return run.Reply{}, context.Canceled },
	} {
		synctestRun(t, name, func(t *testing.T) {
			local := adapter.Func("local", "x", func(context.Context, struct{}) (string, error) {
				time.Sleep(time.Second) // until the sign-in is asked for
				return "ok", nil
			}, nil)
			stop := agent.Hook{AfterTool: func(context.Context, *agent.State, *agent.Call, *run.Part) error { return agent.StopRun("enough") }}
			g, opts := newGate(t), agent.Options{Tools: []adapter.Source{local}, Hooks: []agent.Hook{stop}}
			if late != nil {
				opts.Person.Reply = func(ctx context.Context, q *run.Question) (run.Reply, error) {
					<-ctx.Done()
					return late(g, q)
				}
			}
			got := mustRun(t, g.process(t, eras[1], play(uses(toolCall("1", "echo", "{}"), toolCall("2", "local", "{}"))), opts), human("go"))
			check.Same(t, "results", lines(got.Messages)[2:], []string{
				`tool: 1/echo→"The call was not made: the run was stopped."`, `tool: 2/local→"ok"`, `ai: "enough"`,
			})
			check.Equal(t, "calls that were sent after the stop", g.ran, 0)
		})
	}
}
