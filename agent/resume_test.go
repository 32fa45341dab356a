package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/compact"
	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// process is an agent with a toolset of its own, as another process would have it.
func process(t *testing.T, store record.Store, model *script, opts agent.Options) (*agent.Agent, *server) {
	t.Helper()
	toolset, s := open(t, nil)
	opts.Durable.Store = store
	return withTools(t, model, toolset, &opts), s
}

var theRun = run.Key{ID: "r"}

// An approval is answered in another process, and what was approved is what runs: also what a hook
// made of the arguments.
func TestApprovalInAnotherProcess(t *testing.T) {
	allow := func(q *run.Question) run.Reply { return q.Allow() }
	hook := agent.Hook{BeforeTool: func(_ context.Context, _ *agent.State, c *agent.ToolCall) error {
		c.Arguments = json.RawMessage(`{"x":3}`)
		return nil
	}}
	for name, tt := range map[string]struct {
		answer func(*run.Question) run.Reply
		want   string
	}{
		"allow":        {allow, `tool: 1/echo→"{\"x\":1}"`},
		"after a hook": {allow, `tool: 1/echo→"{\"x\":3}"`},
		"edit": {func(q *run.Question) run.Reply { return q.AllowWith([]byte(`{"x":2}`)) },
			`tool: 1/echo→"[the user changed the arguments to {\"x\":2}]\n{\"x\":2}"`},
		"deny": {func(q *run.Question) run.Reply { return q.Deny("not on Fridays") },
			`tool: 1/echo→"Error: the call of echo was denied: not on Fridays. Nothing was done."`},
	} {
		t.Run(name, func(t *testing.T) {
			store := record.NewMemory()
			opts, asked := agent.Options{Person: agent.Person{Approve: agent.AskPerson}}, `{"x":1}`
			if name == "after a hook" {
				opts.Hooks, asked = []agent.Hook{hook}, `{"x":3}`
			}
			first, _ := process(t, store, play(uses(toolCall("1", "echo", `{"x":1}`))), opts)
			got := asks(t, first, 1, run.QuestionApproval)
			diff(t, "the person is asked about", string(got.Questions[0].Arguments), asked)
			second, _ := process(t, store, play(says("done")), opts)
			got = resumed(t, second, tt.answer(got.Questions[0]))
			diff(t, "result", lines(got.Messages)[2], tt.want)
		})
	}
}

// A call that was under way when its process ended is not sent again, and the model is
// told; a person may be asked instead.
func TestCallInDoubt(t *testing.T) {
	for name, tt := range map[string]struct {
		answer func(*run.Question) run.Reply
		want   string
	}{
		"tell the model": {nil, "It is unknown whether the call ran"},
		"it ran":         {func(q *run.Question) run.Reply { return q.Ran() }, "The user says that the call ran"},
		"it has run so":  {func(q *run.Question) run.Reply { return q.RanWith("7 lines") }, "7 lines"},
		"it has not run": {func(q *run.Question) run.Reply { return q.NotRun() }, "slept 1 s"},
	} {
		synctestRun(t, name, func(t *testing.T) {
			store := record.NewMemory()
			opts := agent.Options{Durable: agent.Durable{AskInDoubt: tt.answer != nil}}
			first, _ := process(t, store, play(uses(sleep("1", 1))), opts)
			sent := time.Now()
			killed(t, first, time.Millisecond, agent.WithRun(theRun.ID))
			second, s := process(t, store, play(says("done")), opts)
			got, err := second.Resume(t.Context(), theRun)
			if tt.answer != nil {
				if err != nil || len(got.Questions) != 1 || got.Questions[0].Kind != run.QuestionDoubt {
					t.Fatalf("got %+v, %v, want a question about the call", got, err)
				}
				if q := got.Questions[0]; q.Tries != 1 || !q.Sent.Equal(sent) {
					t.Errorf("the question says that the call was sent %d times, last at %v, want once, at %v", q.Tries, q.Sent, sent)
				}
				got, err = second.Resume(t.Context(), theRun, tt.answer(got.Questions[0]))
			}
			check(t, err)
			if text := lines(got.Messages)[2]; !strings.Contains(text, tt.want) {
				t.Errorf("the model is told %s, want %q", text, tt.want)
			}
			if again := s.most.Load() > 0; again != (name == "it has not run") {
				t.Errorf("the call was sent again: %v", again)
			}
		})
	}
}

// A conversation is one run with many inputs, in whatever process.
func TestConversation(t *testing.T) {
	for name, store := range map[string]record.Store{"memory": record.NewMemory(), "file": inFiles(t, filestore.SyncEveryEffect), "SQLite": inSQLite(t)} {
		for i := range 3 {
			a, _ := process(t, store, play(says(fmt.Sprint("answer ", i))), agent.Options{})
			got, err := a.Run(t.Context(), human(fmt.Sprint("question ", i)), agent.WithRun(theRun.ID))
			if err != nil || len(got.Messages) != 2*(i+1) {
				t.Fatalf("%s: got %+v, %v, want all messages", name, got, err)
			}
		}
	}
}

// What a caller appends to the messages of a result reaches neither the run, which has the model's calls behind them,
// nor another history that begins with them.
func TestMessagesAreOfTheCaller(t *testing.T) {
	pay := adapter.Func("pay", "Pays.", func(context.Context, struct{}) (string, error) { return "paid", nil }, nil)
	a := newAgent(t, play(uses(toolCall("1", "pay", `{}`))), &agent.Options{Tools: []adapter.Source{pay}, Person: agent.Person{Approve: agent.AskPerson}})
	got, err := a.Run(t.Context(), human("go"))
	if err != nil || got.Status != run.StatusWaiting || len(got.Messages) != 1 || len(agent.Inside(got.State).History) != 2 {
		t.Fatalf("got %+v, %v, want a run that waits", got, err)
	}
	one := append(got.Messages, run.Text(run.RoleUser, "one"))
	_ = append(got.Messages, run.Text(run.RoleUser, "two"))
	if last := agent.Inside(got.State).History[1]; last.Role != run.RoleAssistant || one[1].Parts[0].Text != "one" {
		t.Errorf("got %v in the run and %v in a history", last, one[1])
	}
}

// Without a store a run that waits is JSON, and continues in another process: with the arguments
// that were approved, once.
func TestResumeState(t *testing.T) {
	ran := ""
	process := func(model *script) *agent.Agent {
		pay := adapter.Func("pay", "Pays.", func(_ context.Context, in struct{ Bill int }) (string, error) {
			ran += fmt.Sprint(in.Bill, " ")
			return "paid", nil
		}, nil)
		return newAgent(t, model, &agent.Options{Tools: []adapter.Source{pay}, Person: agent.Person{Approve: agent.AskPerson}})
	}
	got, err := process(play(uses(toolCall("1", "pay", `{"Bill":"17"}`), toolCall("2", "pay", `{"Bill":18}`)))).Run(t.Context(), human("go"))
	if err != nil || got.Status != run.StatusWaiting || len(got.Questions) != 2 || ran != "" {
		t.Fatalf("got %+v, %v, want two questions and no call", got, err)
	}
	data, err := json.Marshal(got.State)
	check(t, err)
	before := time.Now().Truncate(time.Millisecond)
	resume := func(answers ...run.Reply) (*agent.Result, error) {
		state := new(agent.State)
		check(t, json.Unmarshal(data, state))
		r := &agent.Result{}
		for e, err := range process(play(says("done"))).ResumeStateEvents(t.Context(), state, answers...) {
			if err != nil {
				return r, err
			}
			if replied, ok := e.(*agent.Replied); ok && replied.Reply.At.Before(before) {
				t.Errorf("the answer has the time %v, want at least %v", replied.Reply.At, before)
			}
			r.Add(e)
		}
		data, err = json.Marshal(state)
		return r, err
	}
	one, two := got.Questions[0], got.Questions[1]
	for _, c := range []struct {
		answer run.Reply
		want   error
	}{
		{run.Reply{Question: "ask_forged", Action: run.ActionAllow}, run.ErrNotAsked}, {run.Reply{Question: one.ID, Action: run.ActionAccept}, run.ErrUnfit},
		{one.AllowWith(json.RawMessage(`{"Bill":"x"}`)), run.ErrUnfit},
	} {
		if _, err := resume(c.answer); !errors.Is(err, c.want) || ran != "" {
			t.Errorf("%+v: got %v and the calls %q, want %v", c.answer, err, ran, c.want)
		}
	}
	if _, err := resume(two.Allow(), one.Allow(), one.Deny("")); !errors.Is(err, record.ErrReplied) || !strings.Contains(err.Error(), fmt.Sprintf("answer question %q of run %q twice", one.ID, got.State.Key().ID)) || ran != "" {
		t.Errorf("two answers to a question: got %v and the calls %q, want an error with the question", err, ran)
	}
	if r, err := resume(one.Allow()); err != nil || r.Status != run.StatusWaiting || len(r.Questions) != 1 || r.Questions[0].ID != two.ID || ran != "17 " {
		t.Fatalf("got %+v, %v and the calls %q, want the other question", r, err, ran)
	}
	if _, err := resume(one.Allow()); !errors.Is(err, run.ErrNotAsked) || ran != "17 " {
		t.Errorf("the first answer again: got %v and the calls %q, want %v", err, ran, run.ErrNotAsked)
	}
	if r, err := resume(two.AllowWith(json.RawMessage(`{"Bill":19}`))); err != nil || r.Output != "done" || ran != "17 19 " {
		t.Errorf("got %+v, %v and the calls %q, want the answer", r, err, ran)
	}
	for _, err := range process(play(says("done"))).ResumeStateEvents(t.Context(), nil) {
		if err == nil {
			t.Error("got no error for no state")
		}
	}
}

// A run that waits lists its questions to any process, and takes no input. Answers that do
// not fit, are foreign, late or another than the first are refused, each with its reason.
func TestAnswersAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := record.NewMemory()
		s := emptyServer()
		s.AddTool(&sdk.Tool{Name: "pay", InputSchema: json.RawMessage(`{"type":"object","properties":{"bill":{"type":"integer"}},"required":["bill"]}`)},
			func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return text("paid"), nil })
		toolset := openAll(t, nil, adapter.Server{Name: "bank", Transport: s.connect(t)})
		model := play(uses(toolCall("1", "pay", `{"bill":17}`), toolCall("2", "pay", `{"bill":18}`)), says("done"))
		a := withTools(t, model, toolset, &agent.Options{Durable: agent.Durable{Store: store}, Person: agent.Person{Approve: agent.AskPerson, QuestionTTL: time.Hour}})
		got := asks(t, a, 2, run.QuestionApproval)
		again, err := a.Run(t.Context(), human("and?"), agent.WithRun(theRun.ID))
		if !errors.Is(err, agent.ErrWaiting) || err.Error() != `run agent: "r" waits for answers to its questions` {
			t.Errorf("an input to a run that waits: got %v, want %v", err, agent.ErrWaiting)
		}
		if _, result, err := agent.RunAs[weatherReport](t.Context(), a, human("and?"), agent.WithRun(theRun.ID)); !errors.Is(err, agent.ErrWaiting) || result.Status != run.StatusWaiting {
			t.Errorf("As with a run that waits: got %+v, %v", result, err)
		}
		if again.Status != run.StatusWaiting || len(again.Questions) != 2 {
			t.Errorf("an input to a run that waits: the result is %s with %d questions, want it waiting with 2", again.Status, len(again.Questions))
		}
		one, two := got.Questions[0], got.Questions[1]
		refused := func(name string, key run.Key, answer run.Reply, want error) {
			t.Helper()
			err := a.Reply(t.Context(), key, answer)
			if !errors.Is(err, want) || strings.Count(err.Error(), "answer question") > 1 {
				t.Errorf("%s: got %v, want %v", name, err, want)
			}
		}
		refused("arguments that do not fit", theRun, one.AllowWith(json.RawMessage(`{"bill":"all"}`)), run.ErrUnfit)
		refused("another tenant", run.Key{Tenant: "other", ID: theRun.ID}, one.Allow(), record.ErrNotFound)
		refused("a question that was never asked", theRun, run.Reply{Question: "ask_forged", Action: run.ActionAllow}, run.ErrNotAsked)
		for range 2 { // an equal answer changes nothing
			check(t, a.Reply(t.Context(), theRun, one.AllowWith(json.RawMessage(`{"bill":19}`))))
		}
		refused("a second answer", theRun, one.Deny("no"), record.ErrReplied)
		if open, err := a.Questions(t.Context(), theRun); err != nil || len(open) != 1 || open[0].ID != two.ID {
			t.Errorf("got %+v, %v, want the second question", open, err)
		}
		time.Sleep(2 * time.Hour)
		refused("a late answer", theRun, two.Allow(), run.ErrExpired)
		if _, err := a.Questions(t.Context(), run.Key{ID: "other"}); !errors.Is(err, record.ErrNotFound) {
			t.Errorf("the questions of another run: got %v, want %v", err, record.ErrNotFound)
		}
	})
}

// Another agent neither reads the questions of a run nor answers them.
func TestAnswerThroughAnotherAgent(t *testing.T) {
	store := record.NewMemory()
	opts := agent.Options{Name: "clerk", Person: agent.Person{Approve: agent.AskPerson}}
	clerk, _ := process(t, store, play(uses(toolCall("1", "echo", `{"x":1}`)), says("done")), opts)
	got := asks(t, clerk, 1, run.QuestionApproval)
	other, _ := process(t, store, play(says("never")), agent.Options{Name: "other"})
	yes, no := got.Questions[0].Allow(), got.Questions[0].Deny("no")
	_, asked := other.Questions(t.Context(), theRun)
	_, resumed := other.Resume(t.Context(), theRun, yes)
	for name, err := range map[string]error{"Asks": asked, "Resume": resumed, "Answer": other.Reply(t.Context(), theRun, yes)} {
		if err == nil || !strings.Contains(err.Error(), `it belongs to agent "clerk", and this is "other"`) {
			t.Errorf("%s: got %v, want the names of both agents", name, err)
		}
	}
	if err := clerk.Reply(t.Context(), theRun, no); err != nil {
		t.Errorf("the answer through the right agent: got %v, want it to be the first", err)
	}
}

// A run that is over without an answer gives its error each time, from any process.
func TestResumeWithoutAnAnswer(t *testing.T) {
	store := record.NewMemory()
	broken := func(context.Context, prompt) (*model.Response, error) { return nil, errors.New("no key") }
	a, _ := process(t, store, play(broken), agent.Options{Person: agent.Person{Approve: agent.AskPerson}})
	_, live := a.Run(t.Context(), human("go"), agent.WithRun("failed"))
	b, _ := process(t, store, play(uses(toolCall("1", "echo", `{"x":1}`))), agent.Options{Person: agent.Person{Approve: agent.AskPerson}})
	if got, err := b.Run(t.Context(), human("go"), agent.WithRun("cancelled")); err != nil || got.Status != run.StatusWaiting {
		t.Fatalf("got %+v, %v, want a run that waits", got, err)
	}
	check(t, errorOf(b.Cancel(t.Context(), run.Key{ID: "cancelled"})))
	failed, again := b.Resume(t.Context(), run.Key{ID: "failed"})
	cancelled, end := b.Resume(t.Context(), run.Key{ID: "cancelled"})
	for name, tt := range map[string]struct {
		got  error
		want error
		text string
	}{
		"as it fails":   {live, agent.ErrFailed, "no key"},
		"afterwards":    {again, agent.ErrFailed, "no key"},
		"once it ended": {end, agent.ErrCancelled, `run "cancelled" was cancelled`},
	} {
		if !errors.Is(tt.got, tt.want) || !strings.Contains(tt.got.Error(), tt.text) {
			t.Errorf("%s: got %v, want %v with %q", name, tt.got, tt.want, tt.text)
		}
	}
	if failed.Status != run.StatusFailed || cancelled.Status != run.StatusCancelled {
		t.Errorf("got the results %+v and %+v, want them with the errors", failed, cancelled)
	}
}

// A run that has its answer gives it again, at the place where it was given, and calls no model.
func TestResumeAfterTheAnswer(t *testing.T) {
	store := record.NewMemory()
	first, _ := process(t, store, play(says("42")), agent.Options{})
	var live *agent.Output
	for e := range each(t, first.Events(t.Context(), human("go"), agent.WithRun(theRun.ID))) {
		live, _ = e.(*agent.Output)
	}
	model := play(says("another"))
	second, _ := process(t, store, model, agent.Options{})
	for range 2 {
		var got []agent.Event
		for e := range each(t, second.ResumeEvents(t.Context(), theRun)) {
			got = append(got, e)
		}
		diff(t, "events", got, []agent.Event{live})
	}
	if got, err := second.Resume(t.Context(), theRun); err != nil || got.Output != "42" || len(model.prompts()) > 0 {
		t.Errorf("got %+v, %v after %d model calls, want the answer and none", got, err, len(model.prompts()))
	}
}

// listed notes the methods of a store that are called.
type listed struct {
	watched
	calls  []string
	before func()      // called once, before a run is taken
	broken error       // of appends
	given  []run.Reply // that were kept
}

func (s *listed) in(store record.Store) *listed {
	s.watched = *watch(store, func(c *storeCall) error {
		switch c.Method {
		case "load", "append", "reply", "acquire":
			s.calls = append(s.calls, c.Method)
		}
		if before := s.before; before != nil && c.Method == "acquire" {
			s.before = nil
			before()
		}
		if s.broken != nil && c.Method == "append" {
			return s.broken
		}
		s.given = append(s.given, c.Replies...)
		return c.Do()
	})
	return s
}

// Between an answer and the call that it allows, a run is loaded and taken once, and the answer is made durable in one
// commit with the intent to call. What works after a denial and before the model finds the answer durable, too.
func TestResumeWritesOnce(t *testing.T) {
	for action, want := range map[run.Action][]string{run.ActionAllow: {"the call", "Compact", "BeforeModel"}, run.ActionDeny: {"Compact", "BeforeModel"}} {
		store := new(listed).in(record.NewMemory())
		seen := map[string][]string{}
		note := func(who string) {
			if _, again := seen[who]; !again {
				seen[who] = slices.Clone(store.calls)
			}
		}
		a := worker(t, turnsOf{turns: 1}, func() { note("the call") }, agent.Options{
			Durable: agent.Durable{Store: store}, Person: agent.Person{Approve: agent.AskPerson},
			Compact: func(context.Context, []run.Message, compact.Budget) (*compact.Result, error) {
				note("Compact")
				return nil, nil
			},
			Hooks: []agent.Hook{{BeforeModel: func(context.Context, *agent.State, *agent.ModelCall) error { note("BeforeModel"); return nil }}},
		})
		suspend(t, a, 0, 1)
		question := question(t, store.Store, "0")
		store.calls = nil
		clear(seen)
		got, err := a.Resume(t.Context(), run.Key{ID: "0"}, run.Reply{Question: question, Action: action})
		if err != nil || got.Output != "done" {
			t.Fatalf("got %q, %v, want the answer", got.Output, err)
		}
		diff(t, "who works", slices.Sorted(maps.Keys(seen)), slices.Sorted(slices.Values(want)))
		diff(t, "calls of the store before "+want[0], seen[want[0]], []string{"load", "acquire", "append"})
	}
}

// A reply that comes when a run has begun to wait, and is not free yet, is taken by its holder.
func TestReplyBeforeRelease(t *testing.T) {
	var worked int
	var release func() // once, before a run is free for others
	store := watch(record.NewMemory(), func(c *storeCall) error {
		if do := release; do != nil && c.Method == "release" {
			release = nil
			do()
		}
		return c.Do()
	})
	a := worker(t, turnsOf{turns: 2}, func() { worked++ }, agent.Options{Durable: agent.Durable{Store: store}, Person: agent.Person{Approve: agent.AskPerson}})
	key := run.Key{ID: "0"}
	allow := func() {
		questions, err := a.Questions(t.Context(), key)
		if err != nil || len(questions) != 1 {
			t.Fatalf("got %d questions, %v, want one", len(questions), err)
		}
		if _, err := a.Resume(t.Context(), key, run.Reply{Question: questions[0].ID, Action: run.ActionAllow}); !errors.Is(err, record.ErrHeld) {
			t.Errorf("got %v, want %v", err, record.ErrHeld)
		}
	}
	release = func() {
		release = allow // at the next wait, too
		allow()
	}
	got, err := a.Run(t.Context(), agent.Text("go"), agent.WithRun(key.ID))
	if err != nil || got.Output != "done" || worked != 2 {
		t.Errorf("got %q, %v after %d calls, want the answer after 2", got.Output, err, worked)
	}
}

// waitingRun is a run that waits for an approval, in a store that is watched. worked counts the calls.
func waitingRun(t *testing.T) (store *listed, a *agent.Agent, ask string, worked *atomic.Int64) {
	t.Helper()
	return waitingRunIn(t, record.NewMemory())
}

func waitingRunIn(t *testing.T, kept record.Store) (store *listed, a *agent.Agent, ask string, worked *atomic.Int64) {
	t.Helper()
	store, worked = new(listed).in(kept), new(atomic.Int64)
	a = worker(t, turnsOf{turns: 1}, func() { worked.Add(1) }, agent.Options{Durable: agent.Durable{Store: store}, Person: agent.Person{Approve: agent.AskPerson}})
	suspend(t, a, 0, 1)
	log := load(t, store.Store, run.Key{ID: "0"})
	store.calls = nil
	return store, a, log.Head.QuestionIDs[0], worked
}

// An answer that is refused leaves the run to whoever holds it: a process whose lease has expired may
// still append.
func TestRefusedAnswerTakesNoLease(t *testing.T) {
	store, a, ask, _ := waitingRun(t)
	yes := run.Reply{Question: ask, Action: run.ActionAllow}
	for _, c := range []struct {
		name    string
		answers []run.Reply
		want    error
	}{
		{"forged", []run.Reply{yes, {Question: "ask_forged", Action: run.ActionAllow}}, run.ErrNotAsked},
		{"unfit", []run.Reply{{Question: ask, Action: run.ActionAccept}}, run.ErrUnfit},
		{"two", []run.Reply{yes, {Question: ask, Action: run.ActionDeny}}, record.ErrReplied},
	} {
		if _, err := a.Resume(t.Context(), run.Key{ID: "0"}, c.answers...); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
	if slices.Contains(store.calls, "acquire") {
		t.Errorf("got the calls %q, want the run left alone", store.calls)
	}
}

// An answer is kept with the first records of the run, or without them if it cannot go on. One that
// the store has already need not be durable, since who gave it may have ended before, and is given
// to it again.
func TestEqualAnswerIsMadeDurable(t *testing.T) {
	key := run.Key{ID: "0"}
	for name, broken := range map[string]error{"appended": nil, "the run cannot go on": errFull, "the run cannot go on, and the store has none": errFull} {
		t.Run(name, func(t *testing.T) {
			store, a, ask, worked := waitingRun(t)
			yes := run.Reply{Question: ask, Action: run.ActionAllow}
			if !strings.Contains(name, "has none") {
				check(t, store.Store.Reply(t.Context(), key, []run.Reply{yes}))
			}
			store.broken = broken
			if _, err := a.Resume(t.Context(), key, yes); !errors.Is(err, broken) {
				t.Errorf("got %v, want %v", err, broken)
			}
			if len(store.given) == 0 || store.given[0].Question != ask {
				t.Errorf("got the answers %v in %q, want the one that was given", store.given, store.calls)
			}
			store.broken = nil
			if got, err := a.Resume(t.Context(), key); broken != nil && (err != nil || got.Output != "done") || worked.Load() != 1 {
				t.Errorf("got %q, %v after %d calls, want one call", got.Output, err, worked.Load())
			}
		})
	}
}

// Another process may answer, or go on with the run, between the load of a run and its lease.
func TestResumeBesideOthers(t *testing.T) {
	t.Run("another answer", func(t *testing.T) {
		store, a, ask, worked := waitingRun(t)
		store.before = func() {
			if err := store.Store.Reply(t.Context(), run.Key{ID: "0"}, []run.Reply{{Question: ask, Action: run.ActionDeny}}); err != nil {
				t.Error(err)
			}
		}
		_, err := a.Resume(t.Context(), run.Key{ID: "0"}, run.Reply{Question: ask, Action: run.ActionAllow})
		if !errors.Is(err, record.ErrReplied) || worked.Load() != 0 {
			t.Errorf("got %v after %d calls, want %v and no call", err, worked.Load(), record.ErrReplied)
		}
		if got, err := a.Resume(t.Context(), run.Key{ID: "0"}); err != nil || got.Output != "done" || worked.Load() != 0 {
			t.Errorf("got %q, %v after %d calls, want the first answer to count", got.Output, err, worked.Load())
		}
	})
	t.Run("another run of the name", func(t *testing.T) {
		theRun := run.Key{ID: "0"}
		for name, kept := range map[string]record.Store{"memory": record.NewMemory(), "file": inFiles(t, filestore.SyncEveryEffect), "SQLite": inSQLite(t)} {
			store, a, ask, worked := waitingRunIn(t, kept)
			old := load(t, store, theRun)
			store.before = func() {
				if err := store.Delete(t.Context(), theRun); err != nil {
					t.Error(err)
				}
				suspend(t, a, 0, 1)
			}
			check(t, store.Store.Reply(t.Context(), theRun, []run.Reply{{Question: ask, Action: run.ActionAllow}}))
			if got, err := a.Resume(t.Context(), theRun); err != nil || got.Status != run.StatusWaiting || worked.Load() != 0 {
				t.Errorf("%s: got %+v, %v after %d calls, want the new run to wait", name, got, err, worked.Load())
			}
			log, err := store.Load(t.Context(), theRun)
			if err != nil || log.Head.Seq != old.Head.Seq || log.Head.QuestionIDs[0] == ask || len(log.Replies) > 0 {
				t.Fatalf("%s: got %+v, %v, want the new run at record %d with its own question", name, log, err, old.Head.Seq)
			}
			if _, err := a.Resume(t.Context(), theRun, run.Reply{Question: ask, Action: run.ActionAllow}); !errors.Is(err, run.ErrNotAsked) {
				t.Errorf("%s: got %v for the answer to the old run, want %v", name, err, run.ErrNotAsked)
			}
			err = record.Submit(t.Context(), store, theRun, run.Reply{Question: ask, Action: run.ActionAllow})
			if !errors.Is(err, run.ErrNotAsked) {
				t.Errorf("%s: got %v for the answer to the old run, want %v", name, err, run.ErrNotAsked)
			}
			if _, err := a.Resume(t.Context(), theRun, run.Reply{Question: log.Head.QuestionIDs[0], Action: run.ActionAllow}); err != nil || worked.Load() != 1 {
				t.Errorf("%s: got %v after %d calls, want the new run to go on", name, err, worked.Load())
			}
		}
	})
	t.Run("the end", func(t *testing.T) {
		store, a, ask, worked := waitingRun(t)
		yes := run.Reply{Question: ask, Action: run.ActionAllow}
		store.before = func() {
			if _, err := a.Resume(t.Context(), run.Key{ID: "0"}, yes); err != nil {
				t.Error(err)
			}
		}
		if got, err := a.Resume(t.Context(), run.Key{ID: "0"}, yes); err != nil || got.Output != "done" || worked.Load() != 1 {
			t.Errorf("got %q, %v after %d calls, want the answer of the run that continued, and one call", got.Output, err, worked.Load())
		}
	})
}
