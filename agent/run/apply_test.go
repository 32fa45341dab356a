package run_test

import (
	"encoding/json"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/agent/run"
)

// call is a proposed tool call.
func call(id string) run.Call {
	return run.Call{ID: id, Key: "key_" + id, Name: "echo", At: run.CallProposed, Asked: `{}`}
}

func result(id string) run.Part {
	return run.Part{Type: run.PartResult, ID: id, Name: "echo", Text: "ok"}
}

// changes are the ways to some states.
var (
	begun    = []run.Change{&run.Begun{V: run.Version, ID: "run_1", Messages: []run.Message{run.Text(run.RoleUser, "go")}}}
	called   = with(begun, &run.Called{})
	two      = with(called, &run.Replied{Calls: []run.Call{call("1"), call("2")}})
	asked    = with(two, &run.Opened{Ask: run.Ask{ID: "a", Kind: run.AskApproval, Call: "1"}})
	ready    = with(two, &run.Decided{Call: "1", Decision: run.Decision{Allow: true}})
	sent     = with(ready, &run.Intent{Call: "1"})
	paused   = with(sent, &run.Paused{Call: "1", Round: json.RawMessage(`{}`)})
	tasked   = with(sent, &run.Detached{Call: "1", Task: run.Task{ID: "t"}})
	reviewed = with(paused, &run.Opened{Ask: run.Ask{ID: "a", Kind: run.AskSampling, Call: "1", Key: "k"}})
	done     = with(sent, &run.Outcome{Call: "1", Result: result("1")})
	child    = with(ready, nested(1, &run.Begun{V: run.Version, ID: "run_2"}))
	ended    = with(called, &run.Replied{}, &run.Ended{Status: run.StatusFinished})
)

func with(changes []run.Change, more ...run.Change) []run.Change {
	return append(changes[:len(changes):len(changes)], more...)
}

// nested is a record of the sub-agent that works on call 1.
func nested(seq uint64, c run.Change) run.Change {
	return &run.Nested{Call: "1", Record: run.Record{Seq: seq, At: start, Change: c}}
}

// TestContradictions refuses every record that does not fit the state.
func TestContradictions(t *testing.T) {
	var none *run.Called
	tooDeep := run.Change(&run.Woken{})
	for range run.MaxDepth + 1 {
		tooDeep = nested(1, tooDeep)
	}
	for _, tt := range []struct {
		name   string
		after  []run.Change
		change run.Change
		want   string
	}{
		{"no change", begun, nil, "no change"},
		{"a nil change", begun, none, "no change"},
		{"a nil change of a sub-agent", child, nested(2, none), "no change"},
		{"a second beginning", begun, begun[0], "1 records"},
		{"another beginning", nil, &run.Called{}, "0 records"},
		{"an unknown kind", begun, &run.Unknown{Kind: "dreamt"}, "later version"},

		{"an input to a run that runs", begun, &run.Said{}, "running"},
		{"a call of the model in a turn of calls", two, &run.Called{}, `phase "calls"`},
		{"a call of the model that waits", with(begun, &run.Suspended{}), &run.Called{}, "waiting"},
		{"less than no tokens", begun, &run.Called{Reserved: run.Amount{Tokens: -1}}, "less than nothing"},
		{"a reservation with a key that is taken", with(begun, &run.Reserved{Key: "k"}), &run.Reserved{Key: "k"}, "taken"},
		{"a reservation of less than nothing", begun, &run.Reserved{Amount: run.Amount{Cost: map[string]int64{"USD": -1}}}, "less than nothing"},
		{"a reservation after the end", with(begun, &run.Ended{Status: run.StatusFailed}), &run.Reserved{}, "failed"},
		{"the loss of a reply that nobody waits for", begun, &run.Called{Lost: true}, "not made"},
		{"a reply without a call", begun, &run.Replied{}, "not called"},
		{"a second reply", with(called, &run.Replied{}), &run.Replied{}, "not called"},
		{"negative usage", called, &run.Replied{Usage: run.Spent{Sampling: run.Sampling{Tokens: -1}}}, "less than nothing"},
		{"negative cost", called, &run.Replied{Usage: run.Spent{Cost: map[string]int64{"USD": -1}}}, "less than nothing"},
		{"a call of less than no bytes", called, &run.Replied{Size: -1}, "less than no bytes"},
		{"calls with one id", called, &run.Replied{Calls: []run.Call{call("1"), call("1")}}, `two calls have the id "1"`},
		{"a call without an id", called, &run.Replied{Calls: []run.Call{call("")}}, "call 1 has no id"},
		{"an id that is no text", called, &run.Replied{Calls: []run.Call{call("\xff")}}, "call 1 has no id"},
		{"a call that is done", called, &run.Replied{Calls: []run.Call{{ID: "1", At: run.CallDone}}}, "not proposed"},
		{"a call with a child", called, &run.Replied{Calls: []run.Call{{ID: "1", At: run.CallProposed, Child: &run.State{}}}}, "not proposed"},

		{"a decision on no call", two, &run.Decided{Call: "3"}, `no call "3"`},
		{"a decision on a call that was sent", sent, &run.Decided{Call: "1", Decision: run.Decision{Allow: true}}, `call "1" is "sent"`},
		{"a decision on a call that is done", done, &run.Decided{Call: "1", Decision: run.Decision{Allow: true}}, `call "1" is "done"`},
		{"sending what a person is asked about", asked, &run.Intent{Call: "1"}, `call "1" is "asked"`},
		{"sending what was denied", with(two, &run.Decided{Call: "1"}), &run.Intent{Call: "1"}, "denied"},
		{"sending what is in doubt", with(sent, &run.Opened{Ask: run.Ask{ID: "a", Kind: run.AskDoubt, Call: "1"}}), &run.Intent{Call: "1"}, "a person is asked"},
		{"sending what is done", done, &run.Intent{Call: "1"}, `call "1" is "done"`},
		{"sending what is a task", tasked, &run.Intent{Call: "1"}, `call "1" is "task"`},
		{"sending in a run that waits", with(ready, &run.Suspended{}), &run.Intent{Call: "1"}, "waiting"},
		{"a round of a call that was not sent", ready, &run.Paused{Call: "1"}, `call "1" is "ready"`},
		{"a task of a call that was not sent", ready, &run.Detached{Call: "1"}, `call "1" is "ready"`},
		{"a second outcome", done, &run.Outcome{Call: "1", Result: result("1")}, "done already"},
		{"the result of another call", sent, &run.Outcome{Call: "1", Result: result("2")}, `of call "2"`},
		{"a result that is none", sent, &run.Outcome{Call: "1", Result: run.Part{ID: "1"}}, "as its result"},
		{"the end of a turn with a call under way", done, &run.TurnEnded{}, `call "2" is proposed and not done`},
		{"the end of no turn", called, &run.TurnEnded{}, `phase "model"`},

		{"a question without an id", two, &run.Opened{Ask: run.Ask{Kind: run.AskForm}}, "no id"},
		{"a question without a kind", two, &run.Opened{Ask: run.Ask{ID: "a"}}, "no kind"},
		{"a question with the id of another", asked, &run.Opened{Ask: run.Ask{ID: "a", Kind: run.AskForm}}, "open already"},
		{"a question with the id of a sub-agent's", with(child, nested(2, &run.Opened{Ask: run.Ask{ID: "a", Kind: run.AskForm}})),
			&run.Opened{Ask: run.Ask{ID: "a", Kind: run.AskForm}}, "open already"},
		{"a sub-agent's question with the id of another", with(child, &run.Opened{Ask: run.Ask{ID: "a", Kind: run.AskForm}}),
			nested(2, &run.Opened{Ask: run.Ask{ID: "a", Kind: run.AskForm}}), "open already"},
		{"a sign-in for a call that was not sent", ready, &run.Opened{Ask: run.Ask{ID: "a", Kind: run.AskSignIn, Call: "1"}}, `call "1" is "ready"`},
		{"sending what waits for a sign-in", with(sent, &run.Opened{Ask: run.Ask{ID: "a", Kind: run.AskSignIn, Call: "1"}}), &run.Intent{Call: "1"}, "a person is asked"},
		{"a parked question of a call that was not sent", ready, &run.Opened{Ask: run.Ask{ID: "a", Kind: run.AskForm, Call: "1", Parked: true}}, `call "1" is "ready"`},
		{"a completion that nobody has allowed", paused, &run.Sampled{Call: "1", Key: "k"}, `no sampling request "k"`},
		{"a completion that is denied", with(reviewed, &run.Answered{Answer: run.Answer{Ask: "a", Action: run.ActionDeny}}), &run.Sampled{Call: "1", Key: "k"}, `no sampling request "k"`},
		{"a completion of no round", sent, &run.Sampled{Call: "1", Key: "k"}, `call "1" is "sent"`},
		{"a question about no call", two, &run.Opened{Ask: run.Ask{ID: "a", Kind: run.AskForm, Call: "3"}}, `no call "3"`},
		{"a question of no round", sent, &run.Opened{Ask: run.Ask{ID: "a", Kind: run.AskForm, Call: "1", Key: "k"}}, `call "1" is "sent"`},
		{"a question of the round of no call", paused, &run.Opened{Ask: run.Ask{ID: "a", Kind: run.AskForm, Key: "k"}}, `no call ""`},
		{"an approval of no call", two, &run.Opened{Ask: run.Ask{ID: "a", Kind: run.AskApproval}}, `no call ""`},
		{"an approval of a call that was sent", sent, &run.Opened{Ask: run.Ask{ID: "a", Kind: run.AskApproval, Call: "1"}}, `call "1" is "sent"`},
		{"a second approval", asked, &run.Opened{Ask: run.Ask{ID: "b", Kind: run.AskApproval, Call: "1"}}, `call "1" is "asked"`},
		{"a doubt about a call that was not sent", ready, &run.Opened{Ask: run.Ask{ID: "a", Kind: run.AskDoubt, Call: "1"}}, `call "1" is "ready"`},
		{"a question about a call that is done", done, &run.Opened{Ask: run.Ask{ID: "a", Kind: run.AskForm, Call: "1"}}, `call "1" is "done"`},
		{"an answer to no question", two, &run.Answered{Answer: run.Answer{Ask: "a"}}, `no question "a"`},
		{"a second answer", with(asked, &run.Answered{Answer: run.Answer{Ask: "a", Action: run.ActionAllow}}), &run.Answered{Answer: run.Answer{Ask: "a"}}, `no question "a"`},

		{"more messages replaced than there are", begun, &run.Compacted{Replaced: 2}, "2 messages"},
		{"less than no messages replaced", begun, &run.Compacted{Replaced: -1}, "-1 messages"},
		{"calls without their results", two, &run.Compacted{Replaced: 2}, "no results yet"},
		{"a negative charge", begun, &run.Charged{Spent: run.Spent{Active: -1}}, "less than nothing"},
		{"a negative charge of a sub-agent", child, nested(2, &run.Charged{Spent: run.Spent{Input: -1}}), "less than nothing"},

		{"a sub-agent for no call", two, &run.Nested{Call: "3", Record: run.Record{Seq: 1, Change: begun[0]}}, `no call "3"`},
		{"a sub-agent for a call that is done", done, nested(1, begun[0]), `call "1" is "done"`},
		{"a sub-agent that has not begun", ready, nested(1, &run.Woken{}), "0 records"},
		{"a sub-agent that begins again", child, nested(2, begun[0]), "1 records"},
		{"a gap in the records of a sub-agent", child, nested(3, &run.Woken{}), "at record 1"},
		{"sub-agents below each other", child, tooDeep, "nested more than 32 deep"},
		{"sending what a sub-agent works on", child, &run.Intent{Call: "1"}, `call "1" is "child"`},

		{"waking a run that runs", begun, &run.Woken{}, "running"},
		{"an end that is none", begun, &run.Ended{Status: run.StatusWaiting}, `"waiting" is not`},
		{"a second end", ended, &run.Ended{Status: run.StatusFailed}, "the run is done"},
		{"a call of the model after the end", ended, &run.Called{}, "the run is done"},
		{"a question after the end", ended, &run.Opened{Ask: run.Ask{ID: "a", Kind: run.AskForm}}, "the run is done"},
		{"a wait after the end", ended, &run.Suspended{}, "the run is done"},
	} {
		s := fold(t, tt.after)
		err := run.Apply(s, run.Record{Seq: s.Seq + 1, At: start, Change: tt.change})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.want)
		}
	}
	if _, err := run.Fold(nil); err == nil {
		t.Error("got no error for no records")
	}
	if err := run.Apply(fold(t, begun), run.Record{Seq: 3, Change: &run.Woken{}}); err == nil || !strings.Contains(err.Error(), "at record 1") {
		t.Errorf("got %v for a gap in the records", err)
	}
}

func fold(t testing.TB, changes []run.Change) *run.State {
	t.Helper()
	s := new(run.State)
	for _, r := range records(changes...) {
		if err := run.Apply(s, r); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// TestUnfitStates refuses states that no records make.
func TestUnfitStates(t *testing.T) {
	for text, want := range map[string]string{
		`"status":"dreaming"`:                                 `the status "dreaming"`,
		`"status":"running","calls":[null]`:                   "a call without an id",
		`"status":"running","calls":[{"id":""}]`:              "a call without an id",
		`"status":"running","calls":[{"id":"1"},{"id":"1"}]`:  "a call without an id of its own",
		`"status":"running","calls":[{"id":"1","at":"done"}]`: "done without a result",
		`"status":"running","asks":[null]`:                    "a question without an id",
		`"status":"running","asks":[{"id":"1"},{"id":"1"}]`:   "a question without an id of its own",
		`"status":"running","turn":-1`:                        "a count below 0",
		`"status":"running","spent":{"cost":{"USD":-1}}`:      "a count below 0",
		`"status":"running","last":{"size":-1}`:               "a count below 0",
		`"status":"running","asks":[{"id":"1"}],"calls":[{"id":"1","child":{"status":"running","asks":[{"id":"1"}]}}]`: "a question without an id of its own",
	} {
		err := json.Unmarshal([]byte(`{"v":1,"id":"1",`+text+`}`), new(run.State))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// TestSpentNeverOverflows adds what a wrong provider says.
func TestSpentNeverOverflows(t *testing.T) {
	huge := run.Spent{Turns: math.MaxInt, Total: math.MaxInt64, Cost: map[string]int64{"USD": math.MaxInt64}, Active: math.MaxInt64}
	s := fold(t, with(called, &run.Charged{Spent: huge}, &run.Charged{Spent: huge}, &run.Charged{Spent: run.Spent{Turns: 1, Active: 1}}))
	if got := s.Spent; got.Turns != math.MaxInt || got.Total != math.MaxInt64 || got.Cost["USD"] != math.MaxInt64 || got.Active != math.MaxInt64 {
		t.Errorf("got %+v, want the largest numbers", got)
	}
}

// TestSpentOfSubagents counts what a sub-agent uses once for itself and once for the
// run, and no more.
func TestSpentOfSubagents(t *testing.T) {
	s := fold(t, with(child,
		nested(2, &run.Called{}),
		nested(3, &run.Replied{Calls: []run.Call{call("1")}, Usage: run.Spent{Turns: 1, Total: 5, Cost: map[string]int64{"USD": 7}}}),
		nested(4, nested(1, &run.Begun{V: run.Version, ID: "run_3"})),
		nested(5, nested(2, &run.Charged{Spent: run.Spent{Total: 11, Cost: map[string]int64{"USD": 1, "EUR": 2}}})),
		nested(6, &run.Outcome{Call: "1", Result: result("1")}),
		nested(7, &run.TurnEnded{}),
	))
	for _, got := range []run.Spent{s.Spent, s.Calls[0].Child.Spent} {
		if got.Turns != 1 || got.Calls != 1 || got.Total != 16 || got.Cost["USD"] != 8 || got.Cost["EUR"] != 2 {
			t.Errorf("got %+v", got)
		}
	}
}

// TestSpentWithoutGarbage adds without memory if there are no costs.
func TestSpentWithoutGarbage(t *testing.T) {
	s := run.Spent{Cost: map[string]int64{"USD": 1}}
	if n := testing.AllocsPerRun(100, func() { s.Add(run.Spent{Turns: 1, Total: 5}) }); n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}

// TestAnswerToADoubt does not take an earlier answer for the one to a doubt.
func TestAnswerToADoubt(t *testing.T) {
	doubt := &run.Opened{Ask: run.Ask{ID: "b", Kind: run.AskDoubt, Call: "1"}}
	again := &run.Opened{Ask: run.Ask{ID: "c", Kind: run.AskDoubt, Call: "1"}}
	changes := with(asked,
		&run.Answered{Answer: run.Answer{Ask: "a", Action: run.ActionAllow}},
		&run.Decided{Call: "1", Decision: run.Decision{Allow: true}},
		&run.Intent{Call: "1"}, doubt)
	answered := with(changes, &run.Answered{Answer: run.Answer{Ask: "b", Action: run.ActionNotRun}})
	for _, tt := range []struct {
		changes []run.Change
		want    run.Action
	}{
		{changes, ""}, {answered, run.ActionNotRun}, {with(answered, &run.Intent{Call: "1"}, again), ""},
	} {
		var got run.Action
		if c := fold(t, tt.changes).Call("1"); c.Answer != nil {
			got = c.Answer.Action
		}
		if got != tt.want {
			t.Errorf("after %d records: got the answer %q, want %q", len(tt.changes), got, tt.want)
		}
	}
}

// TestListsInOtherHands leaves lists that a caller has taken from the state as they are.
func TestListsInOtherHands(t *testing.T) {
	ask := func(id string) run.Change {
		return &run.Opened{Ask: run.Ask{ID: id, Kind: run.AskForm, Call: "1", Key: id}}
	}
	answer := func(id string) run.Change {
		return &run.Answered{Answer: run.Answer{Ask: id, Action: run.ActionDecline}, Value: json.RawMessage(`{}`)}
	}
	s := fold(t, with(paused, ask("a"), ask("b"), ask("c"), answer("a")))
	asks, answers, history := s.Asks, s.Call("1").Answers, s.History
	for _, c := range []run.Change{answer("b"), ask("d"), ask("e"), answer("c")} {
		if err := run.Apply(s, run.Record{Seq: s.Seq + 1, Change: c}); err != nil {
			t.Fatal(err)
		}
	}
	if len(asks) != 2 || asks[0].ID != "b" || asks[1].ID != "c" || len(answers) != 1 || len(history) != 2 {
		t.Errorf("got %d questions, %d answers and %d messages, want 2, 1 and 2 as before", len(asks), len(answers), len(history))
	}
}

// TestApplyCopiesNoHistory applies records to a run with many messages. What they
// allocate does not grow with it.
func TestApplyCopiesNoHistory(t *testing.T) {
	history := make([]run.Message, 20_000)
	s := fold(t, []run.Change{&run.Begun{V: run.Version, ID: "run_1", Messages: history}})
	ask := &run.Opened{Ask: run.Ask{ID: "a", Kind: run.AskApproval, Call: "1"}}
	turn := []run.Change{
		&run.Called{}, &run.Replied{Calls: []run.Call{call("1")}}, ask, &run.Suspended{},
		&run.Answered{Answer: run.Answer{Ask: "a", Action: run.ActionAllow}}, &run.Woken{}, &run.Decided{Call: "1", Decision: run.Decision{Allow: true}},
		&run.Intent{Call: "1"}, &run.Outcome{Call: "1", Result: result("1")}, &run.TurnEnded{}, &run.Charged{},
	}
	apply := func() {
		for _, c := range turn {
			if err := run.Apply(s, run.Record{Seq: s.Seq + 1, Change: c}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 10 {
		apply() // makes room for more messages, once
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 100 {
		apply()
	}
	runtime.ReadMemStats(&after)
	if got := (after.TotalAlloc - before.TotalAlloc) / 100; got > 8<<10 {
		t.Errorf("got %d bytes a turn, want at most 8 KiB", got)
	}
}

// TestSignInOfOthers settles the calls that wait for the same sign-in once it is accepted, but
// not a call with an answer of its own.
func TestSignInOfOthers(t *testing.T) {
	asks := func(id, call string) run.Change {
		return &run.Opened{Ask: run.Ask{ID: id, Kind: run.AskSignIn, Call: call, Server: "drive"}}
	}
	answer := func(ask string, action run.Action) run.Change {
		return &run.Answered{Answer: run.Answer{Ask: ask, Action: action}}
	}
	waiting := with(sent, &run.Decided{Call: "2", Decision: run.Decision{Allow: true}}, &run.Intent{Call: "2"}, asks("a", "1"), asks("b", "2"))
	for _, tt := range []struct {
		name string
		then []run.Change
		want []run.Action // of the calls
		open int
	}{
		{"accepted", []run.Change{answer("a", run.ActionAccept)}, []run.Action{run.ActionAccept, run.ActionAccept}, 0},
		{"declined", []run.Change{answer("a", run.ActionDecline)}, []run.Action{run.ActionDecline, ""}, 1},
		{"cancelled", []run.Change{answer("a", run.ActionCancel)}, []run.Action{run.ActionCancel, ""}, 1},
		{"asked twice", []run.Change{asks("c", "1"), answer("a", run.ActionDecline), answer("b", run.ActionAccept)}, []run.Action{run.ActionDecline, run.ActionAccept}, 0},
	} {
		s := fold(t, with(waiting, tt.then...))
		for i, want := range tt.want {
			var got run.Action
			if a := s.Calls[i].Answer; a != nil {
				got = a.Action
			}
			if got != want || len(s.Asks) != tt.open {
				t.Errorf("%s: call %d has the answer %q and %d questions are open, want %q and %d", tt.name, i+1, got, len(s.Asks), want, tt.open)
			}
		}
	}
}
