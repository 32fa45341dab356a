package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func answering(name string) mcp.ElicitationFunc {
	return func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: map[string]any{"name": name}}, nil
	}
}

func atHand(name string) func(context.Context, *run.Question) (run.Reply, error) {
	return func(_ context.Context, q *run.Question) (run.Reply, error) {
		return q.Accept(map[string]any{"name": name})
	}
}

// nameForm is a form for a name, which need not be given.
func nameForm(message string) *sdk.ElicitParams {
	return &sdk.ElicitParams{Message: message, RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)}
}

func eachEra(t *testing.T, client mcpclient.Options, test func(t *testing.T, toolset *adapter.Toolset)) {
	for _, revision := range eras {
		t.Run(revision, func(t *testing.T) {
			client.Protocol.Revision = revision
			toolset, _ := open(t, &adapter.Options{ClientOptions: &client})
			test(t, toolset)
		})
	}
}

var isQuestion = typed("answered", "suspended", "elicited", "sampled", "tool_end")

func TestElicitation(t *testing.T) {
	for name, test := range map[string]struct {
		next   mcp.ElicitationHandler
		answer func(context.Context, *run.Question) (run.Reply, error)
		want   string
	}{
		"person at hand":              {nil, atHand("Ann"), "Ann"},
		"handler":                     {answering("next"), nil, "next"},
		"handler that answers itself": {answering("next"), atHand("Ann"), "next"},
	} {
		t.Run(name, func(t *testing.T) {
			eachEra(t, mcpclient.Options{Elicitation: test.next}, func(t *testing.T, toolset *adapter.Toolset) {
				a := withTools(t, play(uses(toolCall("1", "ask", "{}")), says("done")), toolset, &agent.Options{Person: agent.Person{Reply: test.answer}})
				check.Same(t, "events", happenings(t, a, isQuestion), []string{
					"box asks in ask: who are you?, and was answered: accept map[name:" + test.want + "]", "turn 1: tool ask (1) ends: accept " + test.want,
				})
				got := toolset.Catalog(profile.Plain).Call(t.Context(), lcCall("1", "ask", "{}")).Text
				check.That(t, test.next == nil || got == "accept next", "outside of a run the tool says %q, want that next was asked", got)
			})
		})
	}
}

// Without a person at hand a modern server's question waits; a legacy server cannot wait.
func TestElicitationWithoutAPerson(t *testing.T) {
	for revision, want := range map[string][]string{
		eras[0]: {"box asks in ask: who are you?, and was answered: server error -32603: " + unasked, "turn 1: tool ask (1) ends: " + strings.Replace(failed(unasked), "calling", `multi-round-trip: fulfilling input request "name": calling`, 1)},
		eras[1]: {"waits for 1 answers"},
	} {
		toolset, _ := open(t, inEra(revision))
		check.Same(t, revision, happenings(t, withTools(t, play(uses(toolCall("1", "ask", "{}")), says("done")), toolset, nil), isQuestion), want)
	}
}

// A legacy server's error that asks for a visit is a question of the call: the person at hand visits, and it is made once more.
func TestElicitationByError(t *testing.T) {
	s, calls := newServer(), 0
	s.addTool("sign", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if calls++; calls == 1 {
			return nil, sdk.URLElicitationRequiredError([]*sdk.ElicitParams{{Mode: "url", Message: "sign", URL: "https://example.com/sign", ElicitationID: "1"}})
		}
		return text("signed"), nil
	})
	toolset := s.box(t, &adapter.Options{ClientOptions: &mcpclient.Options{Protocol: mcpclient.Protocol{Revision: eras[0]},
		Timeouts: mcpclient.Timeouts{URLElicitation: -1}}})
	visits := func(_ context.Context, q *run.Question) (run.Reply, error) { return q.Accept(nil) }
	a := withTools(t, play(uses(toolCall("1", "sign", "{}")), says("done")), toolset, &agent.Options{Person: agent.Person{Reply: visits}})
	check.Same(t, "events", happenings(t, a, isQuestion),
		[]string{"box asks in sign: sign, and was answered: accept map[]", "turn 1: tool sign (1) ends: signed"})
}

// With two calls under way over one pipe, a legacy server does not say which one asks. The server and the run are known.
func TestElicitationInParallelCalls(t *testing.T) {
	for revision, want := range map[string]string{
		eras[0]: "box asks in an unknown call: who are you?, and was answered: accept map[name:Ann]",
		eras[1]: "box asks in askLater: who are you?, and was answered: accept map[name:Ann]",
	} {
		synctestRun(t, revision, func(t *testing.T) {
			s := newServer()
			s.addTool("askLater", func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				time.Sleep(time.Second) // until both calls are here
				return ask(ctx, r)
			})
			toolset := s.box(t, inEra(revision))
			model := play(uses(toolCall("1", "askLater", "{}"), toolCall("2", "askLater", "{}")), says("done"))
			a := withTools(t, model, toolset, &agent.Options{Person: agent.Person{Reply: atHand("Ann")}, ParallelWrites: true})
			check.Same(t, "questions", happenings(t, a, typed("elicited", "answered")), []string{want, want})
		})
	}
}

func TestSampling(t *testing.T) {
	poet := mcp.SamplingFunc(func(_ context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		return &mcp.CreateMessageResult{Model: "poet-1", Content: []mcp.Content{&mcp.TextContent{Text: "roses"}}}, nil
	})
	eachEra(t, mcpclient.Options{Sampling: poet}, func(t *testing.T, toolset *adapter.Toolset) {
		a := withTools(t, play(uses(toolCall("1", "sample", "{}")), says("done")), toolset, nil)
		check.Same(t, "events", happenings(t, a, isQuestion),
			[]string{"box got a completion of poet-1 in sample", "turn 1: tool sample (1) ends: roses"})
		check.Equal(t, "what the tool says outside of a run", toolset.Catalog(profile.Plain).Call(t.Context(), lcCall("1", "sample", "{}")).Text,
			"roses")
	})
}

// A person is asked when the caller has handled what came before: the model's text, and the start of the call.
func TestQuestionsFollowEvents(t *testing.T) {
	for _, revision := range eras {
		synctestRun(t, revision, func(t *testing.T) {
			var got []string
			poet := mcp.SamplingFunc(func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
				got = append(got, "request of the server")
				return nil, errors.New("no poems here")
			})
			asked := mcp.ElicitationFunc(func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				got = append(got, "question of the server")
				return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
			})
			toolset, _ := open(t, &adapter.Options{ClientOptions: &mcpclient.Options{Sampling: poet, Elicitation: asked, Protocol: mcpclient.Protocol{Revision: revision}}})
			approve := func(context.Context, *approval.Request) (approval.Decision, error) {
				got = append(got, "approval")
				return approval.Decision{Allow: true}, nil
			}
			model := play(uses(toolCall("1", "sample", "{}")), uses(toolCall("2", "ask", "{}")), says("done"))
			a := withTools(t, model, toolset, &agent.Options{Person: agent.Person{Approve: approve}})
			for e := range each(t, a.Events(t.Context(), human("go"))) {
				time.Sleep(time.Second)
				if typed("model_end", "tool_start")(e) {
					got = append(got, agent.KindOf(e))
				}
			}
			check.Same(t, "what happened", got, []string{"model_end", "approval", "tool_start", "request of the server",
				"model_end", "approval", "tool_start", "question of the server", "model_end"})
		})
	}
}

// While it answers one server, a handler calls a tool of another one, which asks in turn: that question belongs to the run alone.
func TestQuestionDuringAnAnswer(t *testing.T) {
	var toolset *adapter.Toolset
	poet := mcp.SamplingFunc(func(ctx context.Context, _ *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		poem := toolset.Catalog(profile.Plain).Call(ctx, lcCall("x", "two__ask", "{}")).Text
		return &mcp.CreateMessageResult{Model: "poet-1", Content: []mcp.Content{&mcp.TextContent{Text: poem}}}, nil
	})
	toolset = openAll(t, &adapter.Options{AlwaysPrefix: true, ClientOptions: &mcpclient.Options{Sampling: poet}},
		adapter.Server{Name: "one", Transport: newServer().connect(t)}, adapter.Server{Name: "two", Transport: newServer().connect(t)})
	a := withTools(t, play(uses(toolCall("1", "one__sample", "{}")), says("done")), toolset, &agent.Options{Person: agent.Person{Reply: atHand("Ann")}})
	check.Same(t, "events", happenings(t, a, isQuestion), []string{
		"two asks in an unknown call: who are you?, and was answered: accept map[name:Ann]", "one got a completion of poet-1 in sample",
		"turn 1: tool one__sample (1) ends: accept Ann",
	})
}

// An error of Options.Person.Reply, or an answer that does not fit its form, ends the run. The server is told of a cancellation.
func TestErrorOfAnswerEndsTheRun(t *testing.T) {
	for name, test := range map[string]struct {
		answer func(*run.Question) (run.Reply, error)
		want   string
	}{
		"error":            {func(*run.Question) (run.Reply, error) { return run.Reply{}, errors.New("database is down") }, "database is down"},
		"misspelled field": {func(q *run.Question) (run.Reply, error) { return q.Accept(map[string]any{"nam": "Ann"}) }, `field "nam`},
		"unfit": {func(q *run.Question) (run.Reply, error) {
			return run.Reply{Question: q.ID, Action: run.ActionAccept, Content: json.RawMessage(`{"name":12.5}`)}, nil
		}, `field "name"`},
		"panic": {func(*run.Question) (run.Reply, error) { panic("oh no") }, "answer callback panicked: oh no"},
	} {
		for _, era := range eras {
			for _, store := range []record.Store{nil, record.NewMemory()} {
				synctestRun(t, fmt.Sprintf("%s, %s, store %t", name, era, store != nil),
					func(t *testing.T) { failsToAnswer(t, era, store, test.answer, test.want) })
			}
		}
	}
}

func failsToAnswer(t *testing.T, era string, store record.Store, answer func(*run.Question) (run.Reply, error), want string) {
	s, told := newServer(), make(chan string, 1)
	if era == eras[0] {
		s.addTool("ask", func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			result, err := r.Session.Elicit(context.WithoutCancel(ctx), nameForm("who are you?"))
			if err != nil {
				told <- err.Error()
				return nil, err
			}
			told <- result.Action
			return text(result.Action), nil
		})
	}
	toolset := s.box(t, inEra(era))
	asked := 0
	a := withTools(t, play(uses(toolCall("1", "ask", "{}"))), toolset, &agent.Options{Durable: agent.Durable{Store: store}, Person: agent.Person{Reply: func(_ context.Context, q *run.Question) (run.Reply, error) {
		asked++
		return answer(q)
	}}})
	got, err := a.Run(t.Context(), human("ask me"))
	check.Is(t, err, agent.ErrFailed)
	check.Text(t, err, "turn 1: answer the question about ask: ")
	check.Text(t, err, want)
	check.Same(t, "status, turns and questions", []any{got.Status, got.Usage.Turns, asked}, []any{run.StatusFailed, 1, 1})
	if era == eras[0] {
		check.Same(t, "the server is told", <-told, "cancel")
	}
}

// The host is warned if a server asks by a request of its own in the modern era, and its tool fails.
func TestWarningOfAServerThatCannotAsk(t *testing.T) {
	for _, test := range []struct {
		era, tool string
		want      []string
	}{{eras[0], "elicit", nil}, {eras[1], "elicit", []string{"adapter.Server.Revision"}}, {eras[1], "ask", nil}} {
		t.Run(fmt.Sprintf("%s by %s", test.era, test.tool), func(t *testing.T) {
			s := newServer()
			s.addTool("elicit", func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				result, err := r.Session.Elicit(ctx, nameForm("who?"))
				if err != nil {
					failed := new(sdk.CallToolResult)
					failed.SetError(err)
					return failed, nil
				}
				return text(result.Action), nil
			})
			toolset := s.box(t, inEra(test.era))
			a := withTools(t, play(uses(toolCall("1", test.tool, "{}")), says("done")), toolset, &agent.Options{Person: agent.Person{Reply: atHand("Ann")}})
			got := warningsOf(mustRun(t, a, human("go")))
			check.Require(t, len(got) == len(test.want), "got the warnings %q, want them to name %q", got, test.want)
			for i, want := range test.want {
				prefix := fmt.Sprintf(`the tool %s of server "box" failed: `, test.tool)
				check.Equal(t, "beginning of the warning", got[i][:min(len(got[i]), len(prefix))], prefix)
				check.Contains(t, "warning", got[i], want)
			}
		})
	}
}

func TestPanicInSamplingHandlerIsAnError(t *testing.T) {
	poet := mcp.SamplingFunc(func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) { panic("oh no") })
	eachEra(t, mcpclient.Options{Sampling: poet}, func(t *testing.T, toolset *adapter.Toolset) {
		got := happenings(t, withTools(t, play(uses(toolCall("1", "sample", "{}")), says("done")), toolset, nil), isQuestion)
		check.Require(t, len(got) == 2, "got the events %q, want 2", got)
		check.Contains(t, "the first event", got[0], "sampling handler panicked: oh no")
		check.Equal(t, got[1]+": has a stack", strings.Contains(got[1], "goroutine"), false)
	})
}

func TestLeavingTheRangeEndsTheQuestion(t *testing.T) {
	alone, beside := uses(toolCall("1", "ask", "{}")), uses(sleep("0", 5), toolCall("1", "ask", "{}"))
	for name, tt := range map[string]struct {
		revision string
		calls    step
		at       string // the event at which the range is left
	}{
		"legacy":         {eras[0], beside, "tool_end"}, // of the other call; the era leaves open which one asks
		"modern, alone":  {eras[1], alone, "asked"},
		"modern, beside": {eras[1], beside, "asked"},
	} {
		synctestRun(t, name, func(t *testing.T) {
			toolset, _ := open(t, inEra(tt.revision))
			returned := false
			slow := func(ctx context.Context, _ *run.Question) (run.Reply, error) {
				<-ctx.Done()
				time.Sleep(time.Second)
				returned = true
				return run.Reply{}, ctx.Err()
			}
			a := withTools(t, play(tt.calls), toolset, &agent.Options{Person: agent.Person{Reply: slow}, ParallelWrites: true})
			leaves(t, a, typed(tt.at))
			check.Equal(t, "the callback returned before the range was over", returned, true)
		})
	}
}

// hasty is a server of the legacy era with a tool that ends when its question is asked.
func hasty(t *testing.T, asking <-chan struct{}) *adapter.Toolset {
	t.Helper()
	s := newServer()
	s.addTool("hasty", func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		time.Sleep(time.Second) // until both calls are here
		go r.Session.Elicit(context.WithoutCancel(ctx), &sdk.ElicitParams{Message: "who?", RequestedSchema: map[string]any{"type": "object"}})
		<-asking
		return text("never mind"), nil
	})
	opts := inEra(eras[0])
	opts.Policy.IdleTimeout = 2 * time.Minute // a held question does not count
	return s.box(t, opts)
}

// A server may answer its calls before it has an answer itself. With two calls under way, the question belongs to neither.
func TestQuestionThatOutlivesItsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asking := make(chan struct{})
		toolset := hasty(t, asking)
		patient := func(ctx context.Context, q *run.Question) (run.Reply, error) {
			close(asking)
			<-ctx.Done()
			return run.Reply{Action: run.ActionCancel}, nil
		}
		model := play(uses(toolCall("1", "hasty", "{}"), sleep("2", 5)), says("done"))
		a := withTools(t, model, toolset, &agent.Options{Person: agent.Person{Reply: patient}, ParallelWrites: true})
		got := happenings(t, a, func(e agent.Event) bool { _, answer := e.(*agent.Output); return answer || isQuestion(e) })
		check.Same(t, "events", got, []string{
			"turn 1: tool hasty (1) ends: never mind", "turn 1: tool sleep (2) ends: slept 5 s",
			"box asks in an unknown call: who?, and was answered: cancel map[]", "answer: done (answer)",
		})
	})
}

// An error of Options.Person.Reply ends the run once, whatever else the round of the call waits for.
func TestErrorOfAnswerInARound(t *testing.T) {
	form := &sdk.ElicitParams{Message: "?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)}
	//lint:ignore SA1019 servers may sample for as long as the feature works.
	poem := &sdk.CreateMessageParams{MaxTokens: 10, Messages: []*sdk.SamplingMessage{{Role: "user", Content: &sdk.TextContent{Text: "a poem"}}}}
	writes := mcp.SamplingFunc(func(ctx context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		if _, ok := inquiry.Approved(ctx, p); !ok {
			return nil, mcp.ErrAnswerLater
		}
		time.Sleep(time.Minute)
		return &mcp.CreateMessageResult{Role: "assistant", Model: "m", Content: []mcp.Content{&mcp.TextContent{Text: "roses"}}}, nil
	})
	slow := agent.Hook{AfterTool: func(context.Context, *agent.State, *agent.Call, *run.Part) error {
		time.Sleep(time.Second)
		return nil
	}}
	person := func(_ context.Context, q *run.Question) (run.Reply, error) {
		if q.Kind == run.QuestionSampling {
			return q.Allow(), nil
		}
		time.Sleep(time.Second)
		return run.Reply{}, errors.New("the UI is gone")
	}
	for name, round := range map[string]sdk.InputRequestMap{"two forms": {"a": form, "b": form}, "a form and a completion": {"a": form, "b": poem}} {
		synctestRun(t, name, func(t *testing.T) {
			s := newServer()
			s.addTool("two", gives(&sdk.CallToolResult{InputRequests: round}))
			client := &mcpclient.Options{Sampling: writes, Protocol: mcpclient.Protocol{Revision: eras[1]}}
			toolset := s.box(t, &adapter.Options{ClientOptions: client})
			a := withTools(t, play(uses(toolCall("1", "two", "{}"))), toolset, &agent.Options{Hooks: []agent.Hook{slow}, Person: agent.Person{Reply: person}})
			err := check.Err(a.Run(t.Context(), human("go")))
			check.Is(t, err, agent.ErrFailed)
			check.Text(t, err, "the UI is gone")
		})
	}
}

func lcCall(id, name, arguments string) llms.ToolCall {
	return llms.ToolCall{ID: id, Type: "function", FunctionCall: &llms.FunctionCall{Name: name, Arguments: arguments}}
}

// unasked is what a server gets that no person was asked for, and failed what the tool makes of it.
const unasked = "the user was not asked: the conversation is unknown, or nobody can be asked now"

func failed(text string) string {
	return "Error: the server answered with an error: calling \"elicitation/create\": " + text + " (code -32603)"
}

func warningsOf(r *agent.Result) (texts []string) {
	for _, w := range r.Warnings {
		texts = append(texts, w.Text)
	}
	return texts
}

// The host is warned if a question reaches no person because nothing is there to answer it.
func TestWarningOfAQuestionThatIsNotAsked(t *testing.T) {
	notAsked := `server "box" asked the user in a call of quiz, and was told that the user was not asked: Options.Person.Reply is nil, and the run is not kept; ` +
		"set Options.Person.Reply, or Options.Durable.Store for an answer from elsewhere"
	for name, tt := range map[string]struct {
		opts  agent.Options
		store record.Store
		want  []string
	}{
		"neither":                   {agent.Options{}, nil, []string{notAsked}},
		"a host that answers later": {agent.Options{Person: agent.Person{Reply: notNow}}, nil, nil},
		"a host that never holds":   {agent.Options{Person: agent.Person{Hold: -1}}, record.NewMemory(), nil},
	} {
		t.Run(name, func(t *testing.T) {
			a, _ := legacyProcess(t, tt.store, play(quiz(1), says("done")), tt.opts)
			got := mustRun(t, a, human("go"))
			check.Same(t, "result of the call", lines(got.Messages)[2], fmt.Sprintf("tool: 1/quiz→%q", failed(unasked)))
			check.Same(t, "warnings", warningsOf(got), tt.want)
		})
	}
}

// The host is warned if a run waits, and only the caller's result can go on.
func TestWarningOfAWaitThatIsNotKept(t *testing.T) {
	for name, tt := range map[string]struct {
		opts agent.Options
		want []string
	}{
		"neither":                   {agent.Options{}, []string{"the run waits for answers, and nothing keeps it: Options.Person.Reply and Options.Durable.Store are nil; set one of them, or continue Result.State by Agent.ResumeStateEvents"}},
		"a store":                   {agent.Options{Durable: agent.Durable{Store: record.NewMemory()}}, nil},
		"a host that answers later": {agent.Options{Person: agent.Person{Reply: notNow}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			tt.opts.Tools, tt.opts.Person.Approve = []adapter.Source{paying(new(int))}, agent.AskPerson
			got := mustRun(t, newAgent(t, play(uses(toolCall("1", "pay", "{}"))), &tt.opts), human("go"))
			check.Equal(t, "status", got.Status, run.StatusWaiting)
			check.Same(t, "warnings", warningsOf(got), tt.want)
		})
	}
}

// The first reply to a question counts: one that the store has accepted while Person.Reply was asked is not replaced.
func TestFirstReplyCounts(t *testing.T) {
	inEveryStore(t, func(t *testing.T, store record.Store) {
		calls := 0
		other := newAgent(t, play(says("no")), &agent.Options{Durable: agent.Durable{Store: store}})
		a := newAgent(t, play(uses(toolCall("1", "pay", "{}")), says("done")), &agent.Options{
			Tools: []adapter.Source{paying(&calls)}, Durable: agent.Durable{Store: store},
			Person: agent.Person{Approve: agent.AskPerson, Reply: func(ctx context.Context, q *run.Question) (run.Reply, error) {
				check.Must(t, other.Reply(ctx, theRun, q.Deny("too expensive")))
				return q.Allow(), nil
			}},
		})
		got := mustRun(t, a, human("go"), agent.WithRun(theRun.ID))
		check.Equal(t, "calls", calls, 0)
		check.Contains(t, "result", results(got.Messages)[0], "too expensive")
	})
}

// A reply of another process that comes when Person.Reply has returned counts if the store gets it first, and not afterwards.
func TestFirstReplyCountsToTheEnd(t *testing.T) {
	for name, isFirst := range map[string]bool{"before the reply is stored": true, "after it": false} {
		calls, accepted, inner := 0, false, record.NewMemory()
		store := watch(inner, func(c *storeCall) error {
			if c.Method != "reply" {
				return c.Do()
			}
			denies := func() {
				no := run.Reply{Question: c.Replies[0].Question, Action: run.ActionDeny, Reason: "too expensive"}
				accepted = inner.Reply(c.Ctx, theRun, []run.Reply{no}) == nil
			}
			if isFirst {
				denies()
				return c.Do()
			}
			defer denies()
			return c.Do()
		})
		a := newAgent(t, play(uses(toolCall("1", "pay", "{}")), says("done")), &agent.Options{
			Tools: []adapter.Source{paying(&calls)}, Durable: agent.Durable{Store: store},
			Person: agent.Person{Approve: agent.AskPerson,
				Reply: func(_ context.Context, q *run.Question) (run.Reply, error) { return q.Allow(), nil }},
		})
		got := mustRun(t, a, human("go"), agent.WithRun(theRun.ID))
		check.Same(t, name+": the denial is accepted, and calls", []any{accepted, calls}, []any{isFirst, map[bool]int{true: 0, false: 1}[isFirst]})
		check.Equal(t, name+": the model is told of the denial", strings.Contains(results(got.Messages)[0], "too expensive"), isFirst)
	}
}
