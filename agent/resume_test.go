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
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
)

// allowWith returns a reply that allows a call or a completion with other arguments.
func allowWith(q *run.Question, arguments json.RawMessage) run.Reply {
	r := q.Allow()
	r.Arguments = arguments
	return r
}

// process is an agent with a toolset of its own, as another process would have it.
func process(t *testing.T, store record.Store, model *script, opts agent.Options) (*agent.Agent, *server) {
	t.Helper()
	toolset, s := open(t, nil)
	opts.Durable.Store = store
	return withTools(t, model, toolset, &opts), s
}

var theRun = run.Key{ID: "r"}

// An approval is answered in another process, and what was approved is what runs: also what a hook made of the arguments.
func TestApprovalInAnotherProcess(t *testing.T) {
	hook := agent.Hook{BeforeTool: func(_ context.Context, _ *agent.State, c *agent.Call) error {
		c.Arguments = `{"x":3}`
		return nil
	}}
	for name, tt := range map[string]struct {
		answer func(*run.Question) run.Reply
		want   string
	}{
		"allow":        {(*run.Question).Allow, `tool: 1/echo→"{\"x\":1}"`},
		"after a hook": {(*run.Question).Allow, `tool: 1/echo→"{\"x\":3}"`},
		"edit": {func(q *run.Question) run.Reply { return allowWith(q, []byte(`{"x":2}`)) },
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
			check.Same(t, "the person is asked about", string(got.Questions[0].Arguments), asked)
			second, _ := process(t, store, play(says("done")), opts)
			got = resumed(t, second, tt.answer(got.Questions[0]))
			check.Same(t, "result", lines(got.Messages)[2], tt.want)
		})
	}
}

// A call that was under way when its process ended is not sent again, and the model is told; a person may be asked instead.
func TestCallInDoubt(t *testing.T) {
	for name, tt := range map[string]struct {
		answer func(*run.Question) run.Reply
		want   string
	}{
		"tell the model": {nil, "It is unknown whether the call ran"},
		"it ran":         {func(q *run.Question) run.Reply { return run.Reply{Question: q.ID, Action: run.ActionRan} }, "The user says that the call ran"},
		"it has run so": {func(q *run.Question) run.Reply {
			return run.Reply{Question: q.ID, Action: run.ActionKnown, Reason: "7 lines"}
		}, "7 lines"},
		"it has run, without a result": {func(q *run.Question) run.Reply { return run.Reply{Question: q.ID, Action: run.ActionKnown} }, "The user says that the call ran"},
		"it has not run":               {func(q *run.Question) run.Reply { return run.Reply{Question: q.ID, Action: run.ActionNotRun} }, "slept 1 s"},
	} {
		synctestRun(t, name, func(t *testing.T) {
			store := record.NewMemory()
			opts := agent.Options{Durable: agent.Durable{AskInDoubt: tt.answer != nil}}
			first, _ := process(t, store, play(uses(sleep("1", 1))), opts)
			sent := time.Now()
			killed(t, first, time.Millisecond, agent.WithRun(theRun.ID))
			second, s := process(t, store, play(says("done")), opts)
			got := resumed(t, second)
			if tt.answer != nil {
				q := questions(t, got, 1, run.QuestionDoubt)[0]
				check.Same(t, "how often and when the call was sent", []any{q.Tries, q.Sent.Equal(sent)}, []any{1, true})
				got = resumed(t, second, tt.answer(q))
			}
			check.Contains(t, "what the model is told", lines(got.Messages)[2], tt.want)
			check.Equal(t, "the call was sent again", s.most.Load() > 0, name == "it has not run")
		})
	}
}

// A call that was sent is in doubt also if it may be made again, and its server cannot be reached any more.
func TestServerIsGoneAfterACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		toolset, _ := open(t, &adapter.Options{Policy: adapter.Policy{Repeat: isHarmless}})
		got := mustRun(t, withTools(t, play(uses(toolCall("1", "die", "{}")), says("done")), toolset, nil), human("go"))
		check.Contains(t, "what the model is told", lines(got.Messages)[2], "It is unknown whether the call ran")
	})
}

// A conversation is one run with many inputs, in whatever process.
func TestConversation(t *testing.T) {
	for name, store := range map[string]record.Store{"memory": record.NewMemory(), "file": inFiles(t, nil), "SQLite": inSQLite(t)} {
		for i := range 3 {
			a, _ := process(t, store, play(says(fmt.Sprint("answer ", i))), agent.Options{})
			check.Equal(t, name+": messages", len(mustRun(t, a, human(fmt.Sprint("question ", i)), agent.WithRun(theRun.ID)).Messages), 2*(i+1))
		}
	}
}

// What a caller appends to the messages of a result reaches neither the run, which has the model's calls behind them,
// nor another history that begins with them.
func TestMessagesAreOfTheCaller(t *testing.T) {
	a := newAgent(t, play(uses(toolCall("1", "pay", `{}`))),
		&agent.Options{Tools: []adapter.Source{paying(new(int))}, Person: agent.Person{Approve: agent.AskPerson}})
	got := mustRun(t, a, human("go"))
	check.Same(t, "messages of the caller, and of the run", []int{len(got.Messages), len(agent.Inside(got.State).History)}, []int{1, 2})
	one := append(got.Messages, run.Text(run.RoleUser, "one"))
	_ = append(got.Messages, run.Text(run.RoleUser, "two"))
	last := agent.Inside(got.State).History[1]
	check.That(t, last.Role == run.RoleAssistant && one[1].Parts[0].Text == "one", "got %v in the run and %v in a history", last, one[1])
}

// Without a store a run that waits is JSON, and continues in another process: with the arguments that were approved, once.
func TestResumeState(t *testing.T) {
	ran := ""
	process := func(model *script) *agent.Agent {
		pay := adapter.Func("pay", "Pays.", func(_ context.Context, in struct{ Bill int }) (string, error) {
			ran += fmt.Sprint(in.Bill, " ")
			return "paid", nil
		}, nil)
		return newAgent(t, model, &agent.Options{Tools: []adapter.Source{pay}, Person: agent.Person{Approve: agent.AskPerson}})
	}
	got := mustRun(t, process(play(uses(toolCall("1", "pay", `{"Bill":"17"}`), toolCall("2", "pay", `{"Bill":18}`)))), human("go"))
	questions(t, got, 2, run.QuestionApproval)
	check.Equal(t, "calls", ran, "")
	data, err := json.Marshal(got.State)
	check.Must(t, err)
	before := time.Now().Truncate(time.Millisecond)
	var whole agent.Result // of all processes
	resume := func(answers ...run.Reply) (*agent.Result, error) {
		state := new(agent.State)
		check.Must(t, json.Unmarshal(data, state))
		r := &agent.Result{}
		for e, err := range process(play(says("done"))).ResumeStateEvents(t.Context(), state, answers...) {
			if err != nil {
				return r, err
			}
			if replied, ok := e.(*agent.Replied); ok && replied.Reply.At.Before(before) {
				t.Errorf("the answer has the time %v, want at least %v", replied.Reply.At, before)
			}
			r.Add(e)
			whole.Add(e)
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
		{allowWith(one, json.RawMessage(`{"Bill":"x"}`)), run.ErrUnfit},
	} {
		check.Is(t, check.Err(resume(c.answer)), c.want, c.answer)
	}
	_, err = resume(two.Allow(), one.Allow(), one.Deny(""))
	check.Is(t, err, record.ErrReplied)
	check.Text(t, err, fmt.Sprintf("answer question %q of run %q twice", one.ID, got.State.Key().ID))
	check.Equal(t, "calls after what is refused", ran, "")
	if r, err := resume(one.Allow()); err != nil || r.Status != run.StatusWaiting || len(r.Questions) != 1 || r.Questions[0].ID != two.ID || ran != "17 " {
		t.Fatalf("got %+v, %v and the calls %q, want the other question", r, err, ran)
	}
	check.Is(t, check.Err(resume(one.Allow())), run.ErrNotAsked, "the first answer again")
	r, err := resume(allowWith(two, json.RawMessage(`{"Bill":19}`)))
	check.Same(t, "answer and calls", []any{r.Output, err, ran}, []any{"done", nil, "17 19 "})
	check.Same(t, "result of all events", []any{whole.Output, whole.Status, len(whole.Questions)}, []any{"done", run.StatusFinished, 0})
	for _, err = range process(play(says("done"))).ResumeStateEvents(t.Context(), nil) {
	}
	check.Fails(t, err, "no state")
}

// A run that waits lists its questions to any process, and takes no input. Answers that do
// not fit, are foreign, late or another than the first are refused, each with its reason.
func TestAnswersAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, s := record.NewMemory(), emptyServer()
		s.AddTool(&sdk.Tool{Name: "pay",
			InputSchema: json.RawMessage(`{"type":"object","properties":{"bill":{"type":"integer"}},"required":["bill"]}`)}, gives(text("paid")))
		toolset := openAll(t, nil, adapter.Server{Name: "bank", Transport: s.connect(t)})
		model := play(uses(toolCall("1", "pay", `{"bill":17}`), toolCall("2", "pay", `{"bill":18}`)), says("done"))
		a := withTools(t, model, toolset, &agent.Options{Durable: agent.Durable{Store: store}, Person: agent.Person{Approve: agent.AskPerson, QuestionTTL: time.Hour}})
		got := asks(t, a, 2, run.QuestionApproval)
		again, err := a.Run(t.Context(), human("and?"), agent.WithRun(theRun.ID))
		check.Is(t, err, agent.ErrWaiting)
		check.Same(t, "an input to a run that waits", []any{again.Status, len(again.Questions)}, []any{run.StatusWaiting, 2})
		_, again, err = agent.RunAs[weatherReport](t.Context(), a, human("and?"), agent.WithRun(theRun.ID))
		check.Is(t, err, agent.ErrWaiting)
		check.Equal(t, "As with a run that waits", again.Status, run.StatusWaiting)
		one, two := got.Questions[0], got.Questions[1]
		refused := func(name string, key run.Key, answer run.Reply, want error) {
			t.Helper()
			err := a.Reply(t.Context(), key, answer)
			check.Is(t, err, want, name)
			check.Equal(t, err.Error()+": says once what failed", strings.Count(err.Error(), "answer question") <= 1, true)
		}
		refused("arguments that do not fit", theRun, allowWith(one, json.RawMessage(`{"bill":"all"}`)), run.ErrUnfit)
		refused("another tenant", run.Key{Tenant: "other", ID: theRun.ID}, one.Allow(), record.ErrNotFound)
		refused("a question that was never asked", theRun, run.Reply{Question: "ask_forged", Action: run.ActionAllow}, run.ErrNotAsked)
		for range 2 { // an equal answer changes nothing
			check.Must(t, a.Reply(t.Context(), theRun, allowWith(one, json.RawMessage(`{"bill":19}`))))
		}
		refused("a second answer", theRun, one.Deny("no"), record.ErrReplied)
		check.Equal(t, "the open question", openQuestions(t, a, 1)[0].ID, two.ID)
		time.Sleep(2 * time.Hour)
		refused("a late answer", theRun, two.Allow(), run.ErrExpired)
		check.Is(t, check.Err(a.Questions(t.Context(), run.Key{ID: "other"})), record.ErrNotFound)
	})
}

// A run that is over without an answer gives its error each time, from any process.
func TestResumeWithoutAnAnswer(t *testing.T) {
	store := record.NewMemory()
	a, _ := process(t, store, play(breaks(errors.New("no key"))), agent.Options{Person: agent.Person{Approve: agent.AskPerson}})
	_, live := a.Run(t.Context(), human("go"), agent.WithRun("failed"))
	b, _ := process(t, store, play(uses(toolCall("1", "echo", `{"x":1}`))), agent.Options{Person: agent.Person{Approve: agent.AskPerson}})
	mustRun(t, b, human("go"), agent.WithRun("cancelled"))
	check.Must(t, check.Err(b.Cancel(t.Context(), run.Key{ID: "cancelled"})))
	failed, again := b.Resume(t.Context(), run.Key{ID: "failed"})
	cancelled, end := b.Resume(t.Context(), run.Key{ID: "cancelled"})
	for name, tt := range map[string]struct {
		got, want error
		text      string
	}{
		"as it fails":   {live, agent.ErrFailed, "no key"},
		"afterwards":    {again, agent.ErrFailed, "no key"},
		"once it ended": {end, agent.ErrCancelled, `run "cancelled" was cancelled`},
	} {
		check.Is(t, tt.got, tt.want, name)
		check.Text(t, tt.got, tt.text, name)
	}
	check.Same(t, "status with the errors", []run.Status{failed.Status, cancelled.Status}, []run.Status{run.StatusFailed, run.StatusCancelled})
}

// A run that has its answer gives it again, at the place where it was given, and calls no model.
func TestResumeAfterTheAnswer(t *testing.T) {
	store := record.NewMemory()
	first, _ := process(t, store, play(says("42")), agent.Options{})
	live, _ := played(t, first.Events(t.Context(), human("go"), agent.WithRun(theRun.ID)))
	model := play(says("another"))
	second, _ := process(t, store, model, agent.Options{})
	for range 2 {
		got, _ := played(t, second.ResumeEvents(t.Context(), theRun))
		check.Same(t, "events", got, live[len(live)-1:])
	}
	check.Same(t, "answer, and calls of the model", []any{resumed(t, second).Output, len(model.prompts())}, []any{"42", 0})
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
		default: // such as a renewal, which has a goroutine of its own
			return c.Do()
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
		store, seen := new(listed).in(record.NewMemory()), map[string][]string{}
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
			Hooks: []agent.Hook{{BeforeModel: func(context.Context, *agent.State, *model.Request) error { note("BeforeModel"); return nil }}},
		})
		suspend(t, a, 0, 1)
		question := question(t, store.Store, "0")
		store.calls = nil
		clear(seen)
		got, err := a.Resume(t.Context(), run.Key{ID: "0"}, run.Reply{Question: question, Action: action})
		check.Same(t, "answer", []any{got.Output, err}, []any{"done", nil})
		check.Same(t, "who works", slices.Sorted(maps.Keys(seen)), slices.Sorted(slices.Values(want)))
		check.Same(t, "calls of the store before "+want[0], seen[want[0]], []string{"load", "acquire", "append"})
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
	allow := func() {
		check.Is(t, check.Err(a.Resume(t.Context(), theRun, openQuestions(t, a, 1)[0].Allow())), record.ErrHeld)
	}
	release = func() {
		release = allow // at the next wait, too
		allow()
	}
	answers(t, a, "done", agent.WithRun(theRun.ID))
	check.Equal(t, "calls", worked, 2)
}

// waitingRun is a run that waits for an approval, in a store that is watched. worked counts the calls.
func waitingRun(t *testing.T, kept record.Store) (store *listed, a *agent.Agent, ask string, worked *atomic.Int64) {
	t.Helper()
	store, worked = new(listed).in(kept), new(atomic.Int64)
	a = worker(t, turnsOf{turns: 1}, func() { worked.Add(1) }, agent.Options{Durable: agent.Durable{Store: store}, Person: agent.Person{Approve: agent.AskPerson}})
	suspend(t, a, 0, 1)
	store.calls = nil
	return store, a, load(t, kept, run.Key{ID: "0"}).Head.QuestionIDs[0], worked
}

// An answer that is refused leaves the run to whoever holds it: a process whose lease has expired may still append.
func TestRefusedAnswerTakesNoLease(t *testing.T) {
	store, a, ask, _ := waitingRun(t, record.NewMemory())
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
		check.Is(t, check.Err(a.Resume(t.Context(), run.Key{ID: "0"}, c.answers...)), c.want, c.name)
	}
	check.Equal(t, "the run was taken", slices.Contains(store.calls, "acquire"), false)
}

// An answer is kept with the first records of the run, or without them if it cannot go on. One that the store has
// already need not be durable, since who gave it may have ended before, and is given to it again.
func TestEqualAnswerIsMadeDurable(t *testing.T) {
	key := run.Key{ID: "0"}
	for name, broken := range map[string]error{"appended": nil, "the run cannot go on": errFull, "the run cannot go on, and the store has none": errFull} {
		t.Run(name, func(t *testing.T) {
			store, a, ask, worked := waitingRun(t, record.NewMemory())
			yes := run.Reply{Question: ask, Action: run.ActionAllow}
			if !strings.Contains(name, "has none") {
				check.Must(t, store.Store.Reply(t.Context(), key, []run.Reply{yes}))
			}
			store.broken = broken
			check.Is(t, check.Err(a.Resume(t.Context(), key, yes)), broken)
			check.That(t, len(store.given) != 0 && store.given[0].Question == ask, "got the answers %v in %q, want the one that was given", store.given, store.calls)
			store.broken = nil
			if got, err := a.Resume(t.Context(), key); broken != nil && (err != nil || got.Output != "done") || worked.Load() != 1 {
				t.Errorf("got %q, %v after %d calls, want one call", got.Output, err, worked.Load())
			}
		})
	}
}

// A reply without a time is stored with the present one, also beside a reply to a closed question.
func TestTimeOfReplies(t *testing.T) {
	store := new(listed).in(record.NewMemory())
	model := play(uses(toolCall("1", "echo", `{"x":1}`), toolCall("2", "echo", `{"x":2}`)), says("done"))
	a, _ := process(t, store, model, agent.Options{Person: agent.Person{Approve: agent.AskPerson}})
	got := asks(t, a, 2, run.QuestionApproval)
	one, two := got.Questions[0].Allow(), got.Questions[1].Allow()
	resumed(t, a, one)
	store.before = func() {
		replies := load(t, store.Store, theRun).Replies
		check.That(t, len(replies) == 1 && !replies[0].At.IsZero(), "got %+v in the store, want a reply with a time", replies)
	}
	check.Equal(t, "output", resumed(t, a, one, two).Output, "done")
}

// Another process may answer, or go on with the run, between the load of a run and its lease.
func TestResumeBesideOthers(t *testing.T) {
	key := run.Key{ID: "0"}
	yes := func(ask string) run.Reply { return run.Reply{Question: ask, Action: run.ActionAllow} }
	t.Run("another answer", func(t *testing.T) {
		store, a, ask, worked := waitingRun(t, record.NewMemory())
		store.before = func() {
			check.NoError(t, store.Store.Reply(t.Context(), key, []run.Reply{{Question: ask, Action: run.ActionDeny}}))
		}
		check.Is(t, check.Err(a.Resume(t.Context(), key, yes(ask))), record.ErrReplied)
		got, err := a.Resume(t.Context(), key)
		check.Same(t, "answer and calls: the first answer counts", []any{got.Output, err, worked.Load()}, []any{"done", nil, int64(0)})
	})
	t.Run("another run of the name", func(t *testing.T) {
		for name, kept := range map[string]record.Store{"memory": record.NewMemory(), "file": inFiles(t, nil), "SQLite": inSQLite(t)} {
			store, a, ask, worked := waitingRun(t, kept)
			old := load(t, store, key)
			store.before = func() {
				check.NoError(t, store.Delete(t.Context(), key))
				suspend(t, a, 0, 1)
			}
			check.Must(t, store.Store.Reply(t.Context(), key, []run.Reply{yes(ask)}))
			got, err := a.Resume(t.Context(), key)
			check.Same(t, name+": the new run waits", []any{got.Status, err, worked.Load()}, []any{run.StatusWaiting, nil, int64(0)})
			log := load(t, store, key)
			check.Require(t, log.Head.Seq == old.Head.Seq && log.Head.QuestionIDs[0] != ask && len(log.Replies) == 0,
				"%s: got %+v, want the new run at record %d with its own question", name, log, old.Head.Seq)
			check.Is(t, check.Err(a.Resume(t.Context(), key, yes(ask))), run.ErrNotAsked, name, "the answer to the old run")
			check.Is(t, record.Submit(t.Context(), store, key, yes(ask)), run.ErrNotAsked, name, "the answer to the old run")
			check.Must(t, check.Err(a.Resume(t.Context(), key, yes(log.Head.QuestionIDs[0]))))
			check.Equal(t, name+": calls, once the new run goes on", worked.Load(), 1)
		}
	})
	t.Run("the end", func(t *testing.T) {
		store, a, ask, worked := waitingRun(t, record.NewMemory())
		store.before = func() { check.NoError(t, check.Err(a.Resume(t.Context(), key, yes(ask)))) }
		got, err := a.Resume(t.Context(), key, yes(ask))
		check.Same(t, "answer of the run that continued, and one call", []any{got.Output, err, worked.Load()}, []any{"done", nil, int64(1)})
	})
}
