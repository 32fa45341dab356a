package ledger_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/replydata"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// form asks for a city, and for a number that has a default.
func form() *mcp.ElicitParams {
	return &mcp.ElicitParams{Mode: mcp.ElicitForm, Message: "Where?", RequestedSchema: json.RawMessage(`{"type":"object",` +
		`"properties":{"city":{"type":"string"},"n":{"type":"integer","default":3}},"required":["city"]}`)}
}

// questions returns a state with a question of each kind. The form is one of a sub-agent of a sub-agent.
func questions(t testing.TB) *ledger.State {
	site := &mcp.ElicitParams{Mode: mcp.ElicitURL, URL: "https://example.com/pay"}
	two := []ledger.Call{call("1"), call("2")}
	return fold(t, with(called,
		&ledger.Responded{Calls: append(two, call("3"))},
		&ledger.Opened{Question: run.Question{ID: "approval", Kind: run.QuestionApproval, Call: "3", Expires: start.Add(time.Hour),
			Definition: &mcp.Tool{Name: "count", InputSchema: raw(`{"type":"object","properties":{"n":{"type":"integer"}},"additionalProperties":false}`)}}},
		&ledger.Intent{Call: "2"},
		&ledger.Opened{Question: run.Question{ID: "doubt", Kind: run.QuestionDoubt, Call: "2"}},
		&ledger.Opened{Question: run.Question{ID: "sign_in", Kind: run.QuestionSignIn, Server: "files"}},
		&ledger.Opened{Question: run.Question{ID: "url", Kind: run.QuestionURL, Elicit: site}},
		&ledger.Opened{Question: run.Question{ID: "later", Kind: "of a later version"}},
		nested(1, &ledger.Begun{V: ledger.Version, ID: "run_2"}),
		nested(2, &ledger.Called{}),
		nested(3, &ledger.Responded{Calls: two}),
		nested(4, &ledger.Opened{Question: run.Question{ID: "sampling", Kind: run.QuestionSampling}}),
		nested(5, nested(1, &ledger.Begun{V: ledger.Version, ID: "run_3"})),
		nested(6, nested(2, &ledger.Opened{Question: run.Question{ID: "form", Kind: run.QuestionForm, Elicit: form(), Path: []string{"run_2", "run_3"}}})),
	))
}

func question(t testing.TB, s *ledger.State, id string) *run.Question {
	t.Helper()
	open := ledger.Open(s)
	i := slices.IndexFunc(open, func(q *run.Question) bool { return q.ID == id })
	check.Require(t, i >= 0, "no question %q is open", id)
	return open[i]
}

// TestOpen finds the questions of sub-agents, in the order of the head.
func TestOpen(t *testing.T) {
	s := questions(t)
	var got []string
	for _, q := range ledger.Open(s) {
		got = append(got, q.ID)
	}
	want := []string{"approval", "doubt", "sign_in", "url", "later", "sampling", "form"}
	check.That(t, cmp.Equal(got, want) && cmp.Equal(got, ledger.HeadOf(s).QuestionIDs),
		"got %v, and %v in the head, want %v", got, ledger.HeadOf(s).QuestionIDs, want)
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// allowWith returns a reply that allows a call or a completion with other arguments.
func allowWith(q *run.Question, arguments json.RawMessage) run.Reply {
	r := q.Allow()
	r.Arguments = arguments
	return r
}

// TestAnswers makes each kind of reply and checks that it is accepted.
func TestAnswers(t *testing.T) {
	s := questions(t)
	q := func(id string) *run.Question { return question(t, s, id) }
	accept := func(id string, fields map[string]any) run.Reply { return check.Value(q(id).Accept(fields))(t) }
	for _, tt := range []struct {
		got  run.Reply
		want string
	}{
		{q("approval").Allow(), `{"ask":"approval","action":"allow"}`},
		{allowWith(q("approval"), json.RawMessage(`{}`)), `{"ask":"approval","action":"allow","arguments":{}}`},
		{q("approval").Deny("too much"), `{"ask":"approval","action":"deny","reason":"too much"}`},
		{allowWith(q("sampling"), raw(`{"messages":[{"role":"user","content":{"type":"text","text":"x"}}],"maxTokens":5}`)),
			`{"ask":"sampling","action":"allow","arguments":{"messages":[{"role":"user","content":{"type":"text","text":"x"}}],"maxTokens":5}}`},
		{q("sampling").Allow(), `{"ask":"sampling","action":"allow"}`},
		{q("form").Decline(), `{"ask":"form","action":"decline"}`},
		{run.Reply{Question: "form", Action: run.ActionCancel}, `{"ask":"form","action":"cancel"}`},
		{accept("form", map[string]any{"city": "Köln"}), `{"ask":"form","action":"accept","content":{"city":"Köln","n":3}}`},
		{accept("url", nil), `{"ask":"url","action":"accept"}`},
		{accept("sign_in", nil), `{"ask":"sign_in","action":"accept"}`},
		{run.Reply{Question: "doubt", Action: run.ActionRan}, `{"ask":"doubt","action":"ran"}`},
		{run.Reply{Question: "doubt", Action: run.ActionNotRun}, `{"ask":"doubt","action":"not_run"}`},
		{run.Reply{Question: "doubt", Action: run.ActionKnown, Reason: "42"}, `{"ask":"doubt","action":"known","reason":"42"}`},
	} {
		check.Equal(t, "", string(check.Value(tt.got.MarshalJSON())(t)), tt.want)
		check.NoError(t, ledger.CheckReply(s, tt.got, start), tt.want)
	}
}

// TestAcceptRefuses checks that Accept refuses wrong fields.
func TestAcceptRefuses(t *testing.T) {
	s := questions(t)
	for _, tt := range []struct {
		question string
		fields   map[string]any
		want     string
	}{
		{"form", nil, `field "city"`},
		{"form", map[string]any{"city": 5}, `field "city"`},
		{"form", map[string]any{"city": "x", "state": "y"}, `field "state" is not in the form`},
		{"url", map[string]any{"a": 1}, "content is for a form"},
		{"sign_in", map[string]any{"a": make(chan int)}, "unsupported type"},
		{"approval", nil, `kind "approval" takes ["allow" "deny"] and not "accept"`},
	} {
		a, err := question(t, s, tt.question).Accept(tt.fields)
		check.That(t, errors.Is(err, run.ErrUnfit) && strings.Contains(err.Error(), tt.want) && a.Question == "",
			"%s %v: got %+v, %v, want %s", tt.question, tt.fields, a, err, tt.want)
	}
}

// TestCheckAnswer refuses each wrong reply, with the reason.
func TestCheckAnswer(t *testing.T) {
	s, late := questions(t), start.Add(time.Hour)
	long := strings.Repeat("x", 1<<20+1)
	for _, tt := range []struct {
		reply run.Reply
		now   time.Time
		is    error
		want  string
	}{
		{run.Reply{Question: "other", Action: run.ActionAllow}, start, run.ErrNotAsked, `question "other" of run "run_1"`},
		{run.Reply{Action: run.ActionAllow}, start, run.ErrNotAsked, `question ""`},
		{run.Reply{Question: "approval", Action: run.ActionAllow}, late, run.ErrExpired, "until 2026-11-01T13:00:00Z"},
		{run.Reply{Question: "approval", Action: run.ActionAllow}, late.Add(-1), nil, ""},
		{run.Reply{Question: "approval", Action: run.ActionAccept}, start, run.ErrUnfit, `not "accept"`},
		{run.Reply{Question: "approval"}, start, run.ErrUnfit, `not ""`},
		{run.Reply{Question: "form", Action: run.ActionAllow}, start, run.ErrUnfit, `not "allow"`},
		{run.Reply{Question: "sampling", Action: run.ActionAccept}, start, run.ErrUnfit, `not "accept"`},
		{run.Reply{Question: "doubt", Action: run.ActionAllow}, start, run.ErrUnfit, `not "allow"`},
		{run.Reply{Question: "later", Action: run.ActionAllow}, start, run.ErrUnfit, `kind "of a later version" takes []`},

		{run.Reply{Question: "approval", Action: run.ActionAllow, Arguments: raw(`[1]`)}, start, run.ErrUnfit, "not a JSON object"},
		{run.Reply{Question: "approval", Action: run.ActionAllow, Arguments: raw(`{"a":`)}, start, run.ErrUnfit, "not a JSON object"},
		{run.Reply{Question: "approval", Action: run.ActionAllow, Arguments: raw(` `)}, start, run.ErrUnfit, "not a JSON object"},
		{run.Reply{Question: "approval", Action: run.ActionDeny, Arguments: raw(`{}`)}, start, run.ErrUnfit, "a completion that is allowed"},
		{run.Reply{Question: "approval", Action: run.ActionAllow, Arguments: raw(`{"n":"many"}`)}, start, run.ErrUnfit, "not as the tool wants them"},
		{run.Reply{Question: "approval", Action: run.ActionAllow, Arguments: raw(`{"m":5}`)}, start, run.ErrUnfit, "not as the tool wants them"},
		{run.Reply{Question: "sampling", Action: run.ActionDeny, Arguments: raw(`{}`)}, start, run.ErrUnfit, "a completion that is allowed"},
		{run.Reply{Question: "sampling", Action: run.ActionAllow, Arguments: raw(`{}`)}, start, run.ErrUnfit, "no messages"},
		{run.Reply{Question: "sampling", Action: run.ActionAllow, Arguments: raw(`{"messages":5}`)}, start, run.ErrUnfit, "not a sampling request"},
		{run.Reply{Question: "sampling", Action: run.ActionAllow, Arguments: raw(`{"messages":[{"role":"system","content":{"type":"text","text":"x"}}]}`)}, start, run.ErrUnfit, "neither user nor assistant"},
		{run.Reply{Question: "approval", Action: run.ActionAllow, Scope: "world"}, start, run.ErrUnfit, `scope "world"`},
		{run.Reply{Question: "doubt", Action: run.ActionRan, Scope: "tool"}, start, run.ErrUnfit, `scope "tool"`},
		{run.Reply{Question: "approval", Action: run.ActionAllow, Scope: "tool"}, start, nil, ""},
		{run.Reply{Question: "approval", Action: run.ActionDeny, Reason: long}, start, run.ErrUnfit, "more than 1048576 bytes"},
		{run.Reply{Question: "approval", Action: run.ActionDeny, Unknown: jsontext.Value(`{"mood":"` + long + `"}`)}, start, run.ErrUnfit, "more than 1048576 bytes"},

		{run.Reply{Question: "form", Action: run.ActionAccept}, start, run.ErrUnfit, `field "city"`},
		{run.Reply{Question: "form", Action: run.ActionAccept, Content: raw(`{"city":1}`)}, start, run.ErrUnfit, `field "city"`},
		{run.Reply{Question: "form", Action: run.ActionAccept, Content: raw(`null`)}, start, run.ErrUnfit, "not a JSON object"},
		{run.Reply{Question: "form", Action: run.ActionAccept, Content: raw(`{"city":"x","n":9007199254740993}`)}, start, nil, ""},
		{run.Reply{Question: "form", Action: run.ActionDecline, Content: raw(`{"city":"x"}`)}, start, run.ErrUnfit, "a form that is accepted"},
		{run.Reply{Question: "url", Action: run.ActionAccept, Content: raw(`{}`)}, start, run.ErrUnfit, "a form that is accepted"},
	} {
		err := ledger.CheckReply(s, tt.reply, tt.now)
		check.That(t, errors.Is(err, tt.is) && (tt.is == nil || strings.Contains(err.Error(), tt.want)),
			"%.200v: got %v, want %v with %s", tt.reply, err, tt.is, tt.want)
	}
	q := question(t, s, "form")
	check.Is(t, run.CheckReply(q, run.Reply{Question: "url", Action: run.ActionDecline}, start), run.ErrNotAsked)
	q.Elicit = nil
	check.Is(t, run.CheckReply(q, run.Reply{Question: "form", Action: run.ActionAccept}, start), run.ErrUnfit)
}

// TestElicited keeps all digits of an integer.
func TestElicited(t *testing.T) {
	q := &run.Question{ID: "1", Kind: run.QuestionForm, Elicit: form()}
	r, err := replydata.ElicitResult(q.Elicit, string(run.ActionAccept), json.RawMessage(`{"city":"x","n":9007199254740993}`))
	want := map[string]any{"city": "x", "n": int64(9007199254740993)}
	check.That(t, err == nil && cmp.Equal(r.Content, want), "got %v, %v, want %v", r, err, want)
}
