package ledger_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// call returns a proposed tool call.
func call(id string) ledger.Call {
	return ledger.Call{ID: id, Key: "key_" + id, Name: "echo", At: ledger.CallProposed, Asked: `{}`}
}

func result(id string) run.Part {
	return run.Part{Type: run.PartResult, ID: id, Name: "echo", Text: "ok"}
}

// These changes lead to some states.
var (
	begun    = []ledger.Change{&ledger.Begun{V: ledger.Version, ID: "run_1", Messages: []run.Message{run.Text(run.RoleUser, "go")}}}
	called   = with(begun, &ledger.Called{})
	two      = with(called, &ledger.Responded{Calls: []ledger.Call{call("1"), call("2")}})
	asked    = with(two, &ledger.Opened{Question: run.Question{ID: "a", Kind: run.QuestionApproval, Call: "1"}})
	ready    = with(two, &ledger.Decided{Call: "1", Decision: ledger.Decision{Allow: true}})
	sent     = with(ready, &ledger.Intent{Call: "1"})
	paused   = with(sent, &ledger.Paused{Call: "1", Round: json.RawMessage(`{}`)})
	tasked   = with(sent, &ledger.Detached{Call: "1", Task: ledger.Task{ID: "t"}})
	reviewed = with(paused, &ledger.Opened{Question: run.Question{ID: "a", Kind: run.QuestionSampling, Call: "1", ServerKey: "k"}})
	done     = with(sent, &ledger.Outcome{Call: "1", Result: result("1")})
	child    = with(ready, nested(1, &ledger.Begun{V: ledger.Version, ID: "run_2"}))
	ended    = with(called, &ledger.Responded{}, &ledger.Ended{Status: run.StatusFinished})
)

func with(changes []ledger.Change, more ...ledger.Change) []ledger.Change {
	return append(changes[:len(changes):len(changes)], more...)
}

// nested returns a record of the sub-agent that works on call 1.
func nested(seq uint64, c ledger.Change) ledger.Change {
	return &ledger.Nested{Call: "1", Record: ledger.Entry{Seq: seq, At: start, Change: c}}
}

// TestContradictions refuses every record that contradicts the state.
func TestContradictions(t *testing.T) {
	tooDeep := ledger.Change(&ledger.Woken{})
	for range ledger.MaxDepth + 1 {
		tooDeep = nested(1, tooDeep)
	}
	for _, tt := range []struct {
		name   string
		after  []ledger.Change
		change ledger.Change
		want   string
	}{
		{"a second beginning", begun, begun[0], "1 records"},
		{"another beginning", nil, &ledger.Called{}, "0 records"},
		{"an unknown kind", begun, &ledger.Unknown{Kind: "dreamt"}, "later version"},

		{"an input to a run that runs", begun, &ledger.Said{}, "running"},
		{"a call of the model in a turn of calls", two, &ledger.Called{}, `phase "calls"`},
		{"a call of the model that waits", with(begun, &ledger.Suspended{}), &ledger.Called{}, "waiting"},
		{"less than no tokens", begun, &ledger.Called{Reserved: ledger.Amount{Tokens: -1}}, "is negative"},
		{"a reservation with a key that is taken", with(begun, &ledger.Reserved{Key: "k"}), &ledger.Reserved{Key: "k"}, "taken"},
		{"a reservation of less than nothing", begun, &ledger.Reserved{Amount: ledger.Amount{Cost: map[string]int64{"USD": -1}}}, "is negative"},
		{"a reservation after the end", with(begun, &ledger.Ended{Status: run.StatusFailed}), &ledger.Reserved{}, "failed"},
		{"the loss of a reply that nobody waits for", begun, &ledger.Called{Lost: true}, "not made"},
		{"a reply without a call", begun, &ledger.Responded{}, "not called"},
		{"a second reply", with(called, &ledger.Responded{}), &ledger.Responded{}, "not called"},
		{"negative usage", called, &ledger.Responded{Usage: withSampling(run.Usage{}, 0, -1)}, "is negative"},
		{"negative cost", called, &ledger.Responded{Usage: run.Usage{Cost: map[string]int64{"USD": -1}}}, "is negative"},
		{"a call of less than no bytes", called, &ledger.Responded{Size: -1}, "less than no bytes"},
		{"calls with one id", called, &ledger.Responded{Calls: []ledger.Call{call("1"), call("1")}}, `two calls have the id "1"`},
		{"a call without an id", called, &ledger.Responded{Calls: []ledger.Call{call("")}}, "call 1 has no id"},
		{"an id that is not text", called, &ledger.Responded{Calls: []ledger.Call{call("\xff")}}, "call 1 has no id"},
		{"a call that is done", called, &ledger.Responded{Calls: []ledger.Call{{ID: "1", At: ledger.CallDone}}}, "not proposed"},
		{"a call with a child", called, &ledger.Responded{Calls: []ledger.Call{{ID: "1", At: ledger.CallProposed, Child: &ledger.State{}}}}, "not proposed"},

		{"a decision on no call", two, &ledger.Decided{Call: "3"}, `no call "3"`},
		{"a decision on a call that was sent", sent, &ledger.Decided{Call: "1", Decision: ledger.Decision{Allow: true}}, `call "1" is "sent"`},
		{"a decision on a call that is done", done, &ledger.Decided{Call: "1", Decision: ledger.Decision{Allow: true}}, `call "1" is "done"`},
		{"sending what a person is asked about", asked, &ledger.Intent{Call: "1"}, `call "1" is "asked"`},
		{"sending what was denied", with(two, &ledger.Decided{Call: "1"}), &ledger.Intent{Call: "1"}, "denied"},
		{"sending what is in doubt", with(sent, &ledger.Opened{Question: run.Question{ID: "a", Kind: run.QuestionDoubt, Call: "1"}}), &ledger.Intent{Call: "1"}, "a person is asked"},
		{"sending what asks in its round", reviewed, &ledger.Intent{Call: "1"}, "a person is asked"},
		{"sending what is parked", with(sent, &ledger.Opened{Question: run.Question{ID: "a", Kind: run.QuestionForm, Call: "1", ServerKey: "k", Repeats: true}}), &ledger.Intent{Call: "1"}, "a person is asked"},
		{"sending what is done", done, &ledger.Intent{Call: "1"}, `call "1" is "done"`},
		{"sending what is a task", tasked, &ledger.Intent{Call: "1"}, `call "1" is "task"`},
		{"sending in a run that waits", with(ready, &ledger.Suspended{}), &ledger.Intent{Call: "1"}, "waiting"},
		{"a round of a call that was not sent", ready, &ledger.Paused{Call: "1"}, `call "1" is "ready"`},
		{"a round without content", sent, &ledger.Paused{Call: "1"}, "no round"},
		{"a task of a call that was not sent", ready, &ledger.Detached{Call: "1"}, `call "1" is "ready"`},
		{"a second outcome", done, &ledger.Outcome{Call: "1", Result: result("1")}, "done already"},
		{"the result of another call", sent, &ledger.Outcome{Call: "1", Result: result("2")}, `of call "2"`},
		{"a part that is not a result", sent, &ledger.Outcome{Call: "1", Result: run.Part{ID: "1"}}, "as its result"},
		{"the end of a turn with a call under way", done, &ledger.TurnEnded{}, `call "2" is proposed and not done`},
		{"the end of no turn", called, &ledger.TurnEnded{}, `phase "model"`},

		{"a question without an id", two, &ledger.Opened{Question: run.Question{Kind: run.QuestionForm}}, "no id"},
		{"a question without a kind", two, &ledger.Opened{Question: run.Question{ID: "a"}}, "no kind"},
		{"a question with the id of another", asked, &ledger.Opened{Question: run.Question{ID: "a", Kind: run.QuestionForm}}, "open already"},
		{"a question with the id of a sub-agent's", with(child, nested(2, &ledger.Opened{Question: run.Question{ID: "a", Kind: run.QuestionForm}})),
			&ledger.Opened{Question: run.Question{ID: "a", Kind: run.QuestionForm}}, "open already"},
		{"a sub-agent's question with the id of another", with(child, &ledger.Opened{Question: run.Question{ID: "a", Kind: run.QuestionForm}}),
			nested(2, &ledger.Opened{Question: run.Question{ID: "a", Kind: run.QuestionForm}}), "open already"},
		{"a sign-in for a call that was not sent", ready, &ledger.Opened{Question: run.Question{ID: "a", Kind: run.QuestionSignIn, Call: "1"}}, `call "1" is "ready"`},
		{"sending what waits for a sign-in", with(sent, &ledger.Opened{Question: run.Question{ID: "a", Kind: run.QuestionSignIn, Call: "1"}}), &ledger.Intent{Call: "1"}, "a person is asked"},
		{"a parked question of a call that was not sent", ready, &ledger.Opened{Question: run.Question{ID: "a", Kind: run.QuestionForm, Call: "1", Repeats: true}}, `call "1" is "ready"`},
		{"a completion that nobody has allowed", paused, &ledger.Sampled{Call: "1", Key: "k"}, `sampling request "k" of call "1" is not allowed`},
		{"a completion that is denied", with(reviewed, &ledger.Replied{Reply: run.Reply{Question: "a", Action: run.ActionDeny}}), &ledger.Sampled{Call: "1", Key: "k"}, `sampling request "k" of call "1" is not allowed`},
		{"a completion of no round", sent, &ledger.Sampled{Call: "1", Key: "k"}, `call "1" is "sent"`},
		{"a question about no call", two, &ledger.Opened{Question: run.Question{ID: "a", Kind: run.QuestionForm, Call: "3"}}, `no call "3"`},
		{"a question of no round", sent, &ledger.Opened{Question: run.Question{ID: "a", Kind: run.QuestionForm, Call: "1", ServerKey: "k"}}, `call "1" is "sent"`},
		{"a question of the round of no call", paused, &ledger.Opened{Question: run.Question{ID: "a", Kind: run.QuestionForm, ServerKey: "k"}}, `no call ""`},
		{"an approval of no call", two, &ledger.Opened{Question: run.Question{ID: "a", Kind: run.QuestionApproval}}, `no call ""`},
		{"an approval of a call that was sent", sent, &ledger.Opened{Question: run.Question{ID: "a", Kind: run.QuestionApproval, Call: "1"}}, `call "1" is "sent"`},
		{"a second approval", asked, &ledger.Opened{Question: run.Question{ID: "b", Kind: run.QuestionApproval, Call: "1"}}, `call "1" is "asked"`},
		{"a doubt about a call that was not sent", ready, &ledger.Opened{Question: run.Question{ID: "a", Kind: run.QuestionDoubt, Call: "1"}}, `call "1" is "ready"`},
		{"a question about a call that is done", done, &ledger.Opened{Question: run.Question{ID: "a", Kind: run.QuestionForm, Call: "1"}}, `call "1" is "done"`},
		{"an answer to no question", two, &ledger.Replied{Reply: run.Reply{Question: "a"}}, `no question "a"`},
		{"a second answer", with(asked, &ledger.Replied{Reply: run.Reply{Question: "a", Action: run.ActionAllow}}), &ledger.Replied{Reply: run.Reply{Question: "a"}}, `no question "a"`},

		{"more messages replaced than there are", begun, &ledger.Compacted{Replaced: 2}, "2 messages"},
		{"less than no messages replaced", begun, &ledger.Compacted{Replaced: -1}, "-1 messages"},
		{"calls without their results", two, &ledger.Compacted{Replaced: 2}, "no results yet"},
		{"a negative charge", begun, &ledger.Charged{Spent: run.Usage{Active: -1}}, "is negative"},
		{"a negative charge of a sub-agent", child, nested(2, &ledger.Charged{Spent: run.Usage{Input: -1}}), "is negative"},

		{"a sub-agent for no call", two, &ledger.Nested{Call: "3", Record: ledger.Entry{Seq: 1, Change: begun[0]}}, `no call "3"`},
		{"a sub-agent for a call that is done", done, nested(1, begun[0]), `call "1" is "done"`},
		{"a sub-agent for a call that is denied", with(two, &ledger.Decided{Call: "1"}), nested(1, begun[0]), "denied"},
		{"a sub-agent in a run that waits", with(ready, &ledger.Suspended{}), nested(1, begun[0]), "waiting"},
		{"a sub-agent that has not begun", ready, nested(1, &ledger.Woken{}), "0 records"},
		{"a sub-agent that begins again", child, nested(2, begun[0]), "1 records"},
		{"a gap in the records of a sub-agent", child, nested(3, &ledger.Woken{}), "at record 1"},
		{"sub-agents below each other", child, tooDeep, "nested more than 32 deep"},
		{"sending what a sub-agent works on", child, &ledger.Intent{Call: "1"}, `call "1" is "child"`},

		{"waking a run that runs", begun, &ledger.Woken{}, "running"},
		{"a status that is not an end", begun, &ledger.Ended{Status: run.StatusWaiting}, `"waiting" is not`},
		{"a second end", ended, &ledger.Ended{Status: run.StatusFailed}, "run is done"},
		{"a call of the model after the end", ended, &ledger.Called{}, "run is done"},
		{"a question after the end", ended, &ledger.Opened{Question: run.Question{ID: "a", Kind: run.QuestionForm}}, "run is done"},
		{"a wait after the end", ended, &ledger.Suspended{}, "run is done"},
	} {
		check.Text(t, next(fold(t, tt.after), tt.change), tt.want, tt.name)
	}
	check.Fails(t, check.Err(ledger.Fold(nil)), "no records")
	check.Text(t, ledger.Apply(fold(t, begun), ledger.Entry{Seq: 3, Change: &ledger.Woken{}}), "at record 1", "a gap in the records")
}

// next applies a change to a state.
func next(s *ledger.State, c ledger.Change) error {
	return ledger.Apply(s, ledger.Entry{Seq: s.Seq + 1, At: start, Change: c})
}

func fold(t testing.TB, changes []ledger.Change) *ledger.State {
	t.Helper()
	s := new(ledger.State)
	for _, r := range records(changes...) {
		check.Must(t, ledger.Apply(s, r))
	}
	return s
}

// TestUnfitStates refuses states that no records produce.
func TestUnfitStates(t *testing.T) {
	for text, want := range map[string]string{
		`"status":"dreaming"`:                                 `the status "dreaming"`,
		`"status":"running","calls":[null]`:                   "a call without an id",
		`"status":"running","calls":[{"id":""}]`:              "a call without an id",
		`"status":"running","calls":[{"id":"1"},{"id":"1"}]`:  "a call without an id of its own",
		`"status":"running","calls":[{"id":"1","at":"done"}]`: "done without a result",
		`"status":"running","asks":[null]`:                    "a question without an id",
		`"status":"running","asks":[{"id":"1"},{"id":"1"}]`:   "a question without an id of its own",
		`"status":"running","phase":"calls"`:                  "calls, and no message that asks for them",
		`"status":"running","turn":-1`:                        "a count below 0",
		`"status":"running","spent":{"cost":{"USD":-1}}`:      "a count below 0",
		`"status":"running","last":{"size":-1}`:               "a count below 0",
		`"status":"running","asks":[{"id":"1"}],"calls":[{"id":"1","child":{"status":"running","asks":[{"id":"1"}]}}]`: "a question without an id of its own",
	} {
		check.Text(t, json.Unmarshal([]byte(`{"v":1,"id":"1",`+text+`}`), new(ledger.State)), want, text)
	}
}

// TestSpentNeverOverflows adds absurd usage of a provider.
func TestSpentNeverOverflows(t *testing.T) {
	huge := run.Usage{Turns: math.MaxInt, Total: math.MaxInt64, Cost: map[string]int64{"USD": math.MaxInt64}, Active: math.MaxInt64}
	s := fold(t, with(called, &ledger.Charged{Spent: huge}, &ledger.Charged{Spent: huge}, &ledger.Charged{Spent: run.Usage{Turns: 1, Active: 1}}))
	got := s.Spent
	check.That(t, got.Turns == math.MaxInt && got.Total == math.MaxInt64 && got.Cost["USD"] == math.MaxInt64 && got.Active == math.MaxInt64, "got %+v, want the largest numbers", got)
}

// TestSpentOfSubagents counts the usage of a sub-agent once for itself and once for the run.
func TestSpentOfSubagents(t *testing.T) {
	s := fold(t, with(child,
		nested(2, &ledger.Called{}),
		nested(3, &ledger.Responded{Calls: []ledger.Call{call("1")}, Usage: run.Usage{Turns: 1, Total: 5, Cost: map[string]int64{"USD": 7}}}),
		nested(4, nested(1, &ledger.Begun{V: ledger.Version, ID: "run_3"})),
		nested(5, nested(2, &ledger.Charged{Spent: run.Usage{Total: 11, Cost: map[string]int64{"USD": 1, "EUR": 2}}})),
		nested(6, &ledger.Outcome{Call: "1", Result: result("1")}),
		nested(7, &ledger.TurnEnded{}),
	))
	for _, got := range []run.Usage{s.Spent, s.Calls[0].Child.Spent} {
		check.That(t, got.Turns == 1 && got.Calls == 1 && got.Total == 16 && got.Cost["USD"] == 8 && got.Cost["EUR"] == 2, "got %+v", got)
	}
}

// TestSpentWithoutGarbage adds without allocations if there are no costs.
func TestSpentWithoutGarbage(t *testing.T) {
	s := run.Usage{Cost: map[string]int64{"USD": 1}}
	check.Equal(t, "allocations", testing.AllocsPerRun(100, func() { s.Add(run.Usage{Turns: 1, Total: 5}) }), 0)
}

// TestAnswerToADoubt does not take an earlier reply for the one to a doubt.
func TestAnswerToADoubt(t *testing.T) {
	doubt := &ledger.Opened{Question: run.Question{ID: "b", Kind: run.QuestionDoubt, Call: "1"}}
	again := &ledger.Opened{Question: run.Question{ID: "c", Kind: run.QuestionDoubt, Call: "1"}}
	changes := with(asked,
		&ledger.Replied{Reply: run.Reply{Question: "a", Action: run.ActionAllow}},
		&ledger.Decided{Call: "1", Decision: ledger.Decision{Allow: true}},
		&ledger.Intent{Call: "1"}, doubt)
	answered := with(changes, &ledger.Replied{Reply: run.Reply{Question: "b", Action: run.ActionNotRun}})
	for _, tt := range []struct {
		changes []ledger.Change
		want    run.Action
	}{{changes, ""}, {answered, run.ActionNotRun}, {with(answered, &ledger.Intent{Call: "1"}, again), ""}} {
		check.Equal(t, len(tt.changes), actionOf(fold(t, tt.changes), "1"), tt.want)
	}
}

// TestTaskOfAnsweredCall drops the round of a call that has become a task: what the task asks is another one.
func TestTaskOfAnsweredCall(t *testing.T) {
	reply := &ledger.Replied{Reply: run.Reply{Question: "a", Action: run.ActionAllow}}
	sampled := &ledger.Sampled{Call: "1", Key: "k", Value: json.RawMessage(`{}`)}
	s := fold(t, with(reviewed, reply, sampled, &ledger.Intent{Call: "1"}, &ledger.Detached{Call: "1", Task: ledger.Task{ID: "t"}}))
	c := s.Call("1")
	check.That(t, c.Round == nil && c.Replies == nil && c.Reviews == nil && c.Task != nil,
		"got round %s, replies %s, reviews %v and task %v, want only the task", c.Round, c.Replies, c.Reviews, c.Task)
}

// actionOf returns the action of the reply that a call has, "" for none.
func actionOf(s *ledger.State, call string) run.Action {
	if reply := s.Call(call).Reply; reply != nil {
		return reply.Action
	}
	return ""
}

// TestListsInOtherHands checks that lists that a caller has taken from the state do not change.
func TestListsInOtherHands(t *testing.T) {
	question := func(id string) ledger.Change {
		return &ledger.Opened{Question: run.Question{ID: id, Kind: run.QuestionForm, Call: "1", ServerKey: id}}
	}
	reply := func(id string) ledger.Change {
		return &ledger.Replied{Reply: run.Reply{Question: id, Action: run.ActionDecline}, Value: json.RawMessage(`{}`)}
	}
	s := fold(t, with(paused, question("a"), question("b"), question("c"), reply("a")))
	questions, replies, history := s.Questions, s.Call("1").Replies, s.History
	for _, c := range []ledger.Change{reply("b"), question("d"), question("e"), reply("c")} {
		check.Must(t, next(s, c))
	}
	check.That(t, len(questions) == 2 && questions[0].ID == "b" && questions[1].ID == "c" && len(replies) == 1 && len(history) == 2,
		"got %d questions, %d answers and %d messages, want 2, 1 and 2 as before", len(questions), len(replies), len(history))
}

// TestApplyCopiesNoHistory applies records to a run with many messages. The allocations do not grow with their number.
func TestApplyCopiesNoHistory(t *testing.T) {
	s := fold(t, []ledger.Change{&ledger.Begun{V: ledger.Version, ID: "run_1", Messages: make([]run.Message, 20_000)}})
	question := &ledger.Opened{Question: run.Question{ID: "a", Kind: run.QuestionApproval, Call: "1"}}
	turn := []ledger.Change{
		&ledger.Called{}, &ledger.Responded{Calls: []ledger.Call{call("1")}}, question, &ledger.Suspended{},
		&ledger.Replied{Reply: run.Reply{Question: "a", Action: run.ActionAllow}}, &ledger.Woken{}, &ledger.Decided{Call: "1", Decision: ledger.Decision{Allow: true}},
		&ledger.Intent{Call: "1"}, &ledger.Outcome{Call: "1", Result: result("1")}, &ledger.TurnEnded{}, &ledger.Charged{},
	}
	apply := func() {
		for _, c := range turn {
			check.Must(t, next(s, c))
		}
	}
	for range 10 {
		apply() // makes room for more messages, once
	}
	got := check.Allocated(func() {
		for range 100 {
			apply()
		}
	})
	check.That(t, got/100 <= 8<<10, "got %d bytes a turn, want at most 8 KiB", got/100)
}

// TestSignInOfOthers settles all calls that wait for the same sign-in once it is accepted,
// except those with a reply of their own.
func TestSignInOfOthers(t *testing.T) {
	questions := func(id, call string) ledger.Change {
		return &ledger.Opened{Question: run.Question{ID: id, Kind: run.QuestionSignIn, Call: call, Server: "drive"}}
	}
	reply := func(question string, action run.Action) ledger.Change {
		return &ledger.Replied{Reply: run.Reply{Question: question, Action: action}}
	}
	waiting := with(sent, &ledger.Decided{Call: "2", Decision: ledger.Decision{Allow: true}}, &ledger.Intent{Call: "2"}, questions("a", "1"), questions("b", "2"))
	for _, tt := range []struct {
		name string
		then []ledger.Change
		want []run.Action // of the calls
		open int
	}{
		{"accepted", []ledger.Change{reply("a", run.ActionAccept)}, []run.Action{run.ActionAccept, run.ActionAccept}, 0},
		{"declined", []ledger.Change{reply("a", run.ActionDecline)}, []run.Action{run.ActionDecline, ""}, 1},
		{"cancelled", []ledger.Change{reply("a", run.ActionCancel)}, []run.Action{run.ActionCancel, ""}, 1},
		{"asked twice", []ledger.Change{questions("c", "1"), reply("a", run.ActionDecline), reply("b", run.ActionAccept)}, []run.Action{run.ActionDecline, run.ActionAccept}, 0},
	} {
		s := fold(t, with(waiting, tt.then...))
		check.Same(t, tt.name, []run.Action{actionOf(s, "1"), actionOf(s, "2")}, tt.want)
		check.Equal(t, tt.name+": open questions", len(s.Questions), tt.open)
	}
}

// TestEarlyEnd gives calls a result when their run ends: it says which may have had an effect.
func TestEarlyEnd(t *testing.T) {
	for want, changes := range map[string][]ledger.Change{
		"before the call was made": ready, "may or may not have run": sent, "may have done a part of it": child,
	} {
		s := fold(t, with(changes, &ledger.Ended{Status: run.StatusFailed}))
		text := s.History[2].Parts[0].Text
		check.That(t, strings.Contains(text, want), "got %q, want %q", text, want)
	}
}

// TestTaken counts reservations until they are settled, or for good if their outcome is unknown.
func TestTaken(t *testing.T) {
	usd := func(micro int64) map[string]int64 { return map[string]int64{"USD": micro} }
	calling := with(begun, &ledger.Called{Reserved: ledger.Amount{Tokens: 100, Cost: usd(10)}})
	sampling := with(begun, &ledger.Reserved{Key: "a", Amount: ledger.Amount{Tokens: 7}}, &ledger.Reserved{Key: "b", Amount: ledger.Amount{Tokens: 8}})
	used := run.Usage{Total: 30, Cost: usd(3)}
	child := with(called, &ledger.Responded{Calls: []ledger.Call{call("1")}},
		nested(1, &ledger.Begun{V: ledger.Version, ID: "c"}), nested(2, &ledger.Called{Reserved: ledger.Amount{Tokens: 50, Cost: usd(5)}}))
	ended := &ledger.Ended{Status: run.StatusFailed}
	for name, tt := range map[string]struct {
		changes []ledger.Change
		want    ledger.Amount
		lost    int
	}{
		"nothing":               {begun, ledger.Amount{}, 0},
		"a call":                {calling, ledger.Amount{Tokens: 100, Cost: usd(10)}, 0},
		"a reply":               {with(calling, &ledger.Responded{Usage: used}), ledger.Amount{Tokens: 30, Cost: usd(3)}, 0},
		"a lost reply":          {with(calling, &ledger.Called{Lost: true, Reserved: ledger.Amount{Tokens: 5}}), ledger.Amount{Tokens: 105, Cost: usd(10)}, 1},
		"a failed call":         {with(calling, ended), ledger.Amount{Tokens: 100, Cost: usd(10)}, 1},
		"a call without limits": {with(called, ended), ledger.Amount{}, 0},
		"the next input":        {with(calling, ended, &ledger.Said{}), ledger.Amount{Cost: usd(0)}, 1},
		"completions":           {sampling, ledger.Amount{Tokens: 15}, 0},
		"one is over":           {with(sampling, &ledger.Charged{Spent: used, Settles: new("a")}), ledger.Amount{Tokens: 38, Cost: usd(3)}, 0},
		"one is unknown":        {with(sampling, &ledger.Charged{Spent: used, Settles: new("c")}), ledger.Amount{Tokens: 15}, 0},
		"the run ends":          {with(sampling, ended, &ledger.Charged{Spent: used, Settles: new("a")}), ledger.Amount{Tokens: 15}, 2},
		"a sub-agent's call":    {child, ledger.Amount{Tokens: 50, Cost: usd(5)}, 0},
		"a sub-agent's reply":   {with(child, nested(3, &ledger.Responded{Usage: used})), ledger.Amount{Tokens: 30, Cost: usd(3)}, 0},
		"a sub-agent's failure": {with(child, nested(3, ended)), ledger.Amount{Tokens: 50, Cost: usd(5)}, 1},
		"a sub-agent is gone":   {with(child, &ledger.Outcome{Call: "1", Result: result("1")}), ledger.Amount{Tokens: 50, Cost: usd(5)}, 1},
		"all are gone":          {with(child, ended), ledger.Amount{Tokens: 50, Cost: usd(5)}, 1},
	} {
		s := fold(t, tt.changes)
		diff := cmp.Diff(tt.want, s.Taken())
		check.That(t, diff == "" && s.Spent.Lost == tt.lost, "%s: got +, want -:\n%s%d lost, want %d", name, diff, s.Spent.Lost, tt.lost)
	}
}

func tools(names ...string) (out []ledger.OfferedTool) {
	for _, name := range names {
		out = append(out, ledger.OfferedTool{Server: "files", Tool: name, Name: "files__" + name})
	}
	return out
}

// TestOffered checks that tools are only appended, each once, and survive a compaction, an end and a new input.
func TestOffered(t *testing.T) {
	s := fold(t, with(begun,
		&ledger.Offered{Discovery: ledger.DiscoveryNative, Directory: "files", Tools: tools("b")},
		&ledger.Called{},
		&ledger.Responded{Calls: []ledger.Call{call("1")}},
		&ledger.Offered{Tools: append(tools("a"), ledger.OfferedTool{Server: "files", Tool: "b", Def: "later", Name: "b"})},
		&ledger.Outcome{Call: "1", Result: result("1")},
		&ledger.TurnEnded{},
		&ledger.Compacted{Replaced: 3, Messages: []run.Message{run.Text(run.RoleSystem, "All was done.")}},
		&ledger.Ended{Status: run.StatusFailed},
		&ledger.Said{Messages: []run.Message{run.Text(run.RoleUser, "again")}},
		&ledger.Offered{Tools: tools("c")},
	))
	diff := cmp.Diff(tools("b", "a", "c"), s.Offered)
	check.That(t, diff == "" && s.Discovery == ledger.DiscoveryNative && s.Directory == "files", "got %q, %q (-want +got):\n%s", s.Discovery, s.Directory, diff)
}

func TestOfferedMisfits(t *testing.T) {
	var many []ledger.OfferedTool
	for i := range ledger.MaxOffered + 1 {
		many = append(many, tools(fmt.Sprint(i))...)
	}
	on := with(begun, &ledger.Offered{Discovery: ledger.DiscoveryCall, Tools: tools("a")})
	for want, c := range map[string]*ledger.Offered{
		"already":                     {Discovery: ledger.DiscoveryNative},
		"two tools":                   {Tools: []ledger.OfferedTool{{Tool: "b", Name: "files__a"}}},
		"no name":                     {Tools: []ledger.OfferedTool{{Tool: "b"}}},
		"is not text":                 {Tools: []ledger.OfferedTool{{Tool: "b", Name: "\xff"}}},
		"more than 100 tools":         {Tools: many},
		"has no name, or a name that": {Tools: []ledger.OfferedTool{{Name: "b"}}},
	} {
		check.Text(t, next(fold(t, on), c), want)
	}
	s := fold(t, on)
	s.Offered = append(s.Offered, s.Offered...)
	check.Text(t, new(ledger.State).UnmarshalJSON(check.Value(s.MarshalJSON())(t)), "offered tool")
}
