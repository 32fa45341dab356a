package viewing_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/talk"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/viewing"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

var show = []string{"show", `{}`}

// adas is the view of Ada's only call, and where it is.
func adas(t *testing.T) (w *world, v *shown, id string, at place) {
	t.Helper()
	w = newWorld(t, agenttest.CallTools(show...), agenttest.Say("There."))
	id, calls := w.converse("Ada")
	return w, w.show("Ada", "w", id, calls[0]), id, calls[0]
}

const from = "[Written by the view of the server shop, which I was shown:]\n"

// "Host SHOULD provide the context to the model in future turns": the last one, once, before the next question, also
// after the view has ended, and also after a question that was refused.
func TestModelContext(t *testing.T) {
	w := newWorld(t, agenttest.CallTools(show...), agenttest.Say("There."), agenttest.Say("Yes."), agenttest.Say("Yes."), agenttest.Say("Yes."), agenttest.Say("Yes."))
	id, calls := w.converse("Ada")
	v := w.show("Ada", "w", id, calls[0])
	for _, text := range []string{"row 1 is selected", "row 2 is selected"} {
		check.Contains(t, "", v.knows(text), `"result":{}`)
	}
	check.Contains(t, "a context over 16 KiB", v.knows(strings.Repeat("x", 16<<10+1)), "-32602")
	refused := errors.New("refused")
	check.Equal(t, "", w.views.WithContexts("Ada", id, func(...string) error { return refused }), refused)
	said := []string{"Show me the shop."}
	want := func(question string, before ...string) {
		t.Helper()
		w.say("Ada", id, question)
		said = append(append(said, before...), question)
		check.Same(t, "the model", w.saidToModel(), said)
	}
	want("What is selected?", from+"row 2 is selected")
	want("And again?")
	check.Contains(t, "", v.ask("ui/update-model-context", `{"structuredContent":{"row":3}}`), `"result":{}`)
	go v.agrees()
	check.NoError(t, w.views.End(t.Context(), "Ada", v.opened.Session, false))
	want("What now?", from+`{"row":3}`)
	v = w.show("Ada", "w2", id, calls[0])
	v.knows("row 4 is selected")
	v.knows(" ") // nothing
	want("Is anything selected?")
}

// A user's views have a bounded number of texts for the model, the latest of them.
func TestModelContextIsBounded(t *testing.T) {
	var steps []agenttest.Step
	const conversations, views = 5, 9
	for range conversations {
		steps = append(steps, agenttest.CallTools(slices.Repeat(show, views)...), agenttest.Say("There."))
	}
	w := newWorld(t, steps...)
	var ids []string
	for range conversations {
		id, calls := w.converse("Ada")
		check.Require(t, len(calls) == views, "got %d calls", len(calls))
		for i, at := range calls {
			w.show("Ada", fmt.Sprint("window ", id, i), id, at).knows(fmt.Sprint(i))
		}
		ids = append(ids, id)
	}
	for i, id := range ids {
		var want []string
		for n := 1; n < views && i > 0; n++ { // 8 of a conversation, 32 in all
			want = append(want, from+fmt.Sprint(n))
		}
		_ = w.views.WithContexts("Ada", id, func(before ...string) error { check.Same(t, i, before, want); return nil })
	}
}

// Two users have a conversation of the same name, with the same call and window: nothing of one reaches the other.
func TestUsersAreApart(t *testing.T) {
	w := newWorld(t, agenttest.CallTools(show...), agenttest.Say("There."), agenttest.Say("Yes."))
	id, calls := w.converse("Ada")
	log := check.Value(w.store.Load(t.Context(), run.Key{Tenant: "Ada", ID: id}))(t)
	log.Head.Key.Tenant = "Grace"
	first := check.Value(ledger.Decode(log.Records[0]))(t)
	first.Change.(*ledger.Begun).Tenant = "Grace"
	log.Records[0] = check.Value(first.Encode())(t)
	check.Must(t, check.Err(w.store.Create(t.Context(), record.Holder{Name: "test"}, log.Head, log.Records)))
	check.Is(t, check.Err(w.open("Mallory", "w", id, calls[0])), talk.ErrGone, "a view of a conversation of others")
	ada, grace := w.show("Ada", "w", id, calls[0]), w.show("Grace", "w", id, calls[0]) // a message of the other fails the test

	ada.knows("Ada's secret")
	for name, err := range map[string]error{
		"say":    w.views.Say(t.Context(), "Grace", ada.opened.Session, 0, nil),
		"end":    w.views.End(t.Context(), "Grace", ada.opened.Session, false),
		"mode":   w.views.SetMode("Grace", ada.opened.Session, "fullscreen"),
		"answer": w.views.Reply("Grace", ada.opened.Session, "1", true),
	} {
		check.Is(t, err, talk.ErrGone, name, "at the view of another user")
	}
	w.views.Seen("Grace", "w", 1000) // drops nothing of Ada's

	paying, other := ada.request("tools/call", `{"name":"pay","arguments":{}}`), grace.request("tools/call", `{"name":"pay","arguments":{}}`)
	w.allow("Ada", id, "")
	check.Contains(t, "Ada's call", ada.await(paying), "receipt 1")
	check.Equal(t, "calls of the server on Ada's word", w.paid.Load(), 1)
	w.allow("Grace", id, "")
	check.Contains(t, "Grace's call", grace.await(other), "receipt 2")

	w.say("Grace", id, "What do you know?")
	said := strings.Join(w.saidToModel(), "\n")
	check.That(t, !strings.Contains(said, "secret"), "Grace's model was told %s", said)
	w.views.EndSession("Grace", sessionOf("w"))
	check.Contains(t, "after Grace has signed out", ada.ask("ping", `{}`), "result")
	_ = w.views.WithContexts("Ada", id, func(before ...string) error {
		check.Same(t, "Ada's model is told", before, []string{from + "Ada's secret"})
		return nil
	})
}

// A call that must not be repeated is a run, also if no person is asked about it: else a process
// that ends before the result would know nothing of it. A view that makes many leaves the latest.
func TestCallsThatMustNotBeRepeated(t *testing.T) {
	w, v, id, _ := adas(t)
	runs := func() (n int) {
		t.Helper()
		for _, err := range w.store.List(t.Context(), record.Query{Tenant: "Ada", Agents: []string{"web-view"}}) {
			check.Must(t, err)
			n++
		}
		return n
	}
	got := v.ask("tools/call", `{"name":"show","arguments":{}}`)
	check.That(t, strings.Contains(got, "shown") && runs() == 0, "a call that only reads: got %s and %d runs, want none", got, runs())
	paying := v.request("tools/call", `{"name":"pay","arguments":{}}`)
	w.allow("Ada", id, run.ScopeTool)
	got = v.await(paying)
	check.That(t, strings.Contains(got, "receipt 1") && runs() == 1, "got %s and %d runs, want one", got, runs())
	for i := range 55 {
		check.Contains(t, "", v.ask("tools/call", `{"name":"pay","arguments":{}}`), fmt.Sprintf("receipt %d", i+2))
	}
	check.Equal(t, "runs: the last ones", runs(), 51)
}

// A program that ends asks nobody about the calls of its views: their results would go nowhere. So does the next one.
func TestProgramEndsDuringAQuestion(t *testing.T) {
	w, v, id, _ := adas(t)
	v.request("tools/call", `{"name":"pay","arguments":{}}`)
	call, _ := w.asked("Ada", id)
	go v.agrees()
	w.views.Close()
	w.talk.Close()
	log := check.Value(w.store.Load(t.Context(), run.Key{Tenant: "Ada", ID: call}))(t)
	check.Equal(t, "the call", log.Head.Status, run.StatusCancelled)
}

// A page that is loaded again shows the view again, which repeats its calls: its user is not asked about the earlier ones.
func TestPageIsGone(t *testing.T) {
	w, v, id, _ := adas(t)
	v.request("tools/call", `{"name":"pay","arguments":{}}`)
	call, _ := w.asked("Ada", id)
	check.Must(t, w.views.End(t.Context(), "Ada", v.opened.Session, true))
	for e := v.stream.next(t); e.kind != "view-closed"; e = v.stream.next(t) {
		check.That(t, !strings.Contains(string(e.data), "teardown"), "got %s, which no page shows", e.data)
	}
	log := check.Value(w.store.Load(t.Context(), run.Key{Tenant: "Ada", ID: call}))(t)
	check.Equal(t, "the call", log.Head.Status, run.StatusCancelled)
}

// A page that has lost the answer says the messages again, and others with them: the view's session gets each once.
func TestSaidAgain(t *testing.T) {
	w, v, _, _ := adas(t)
	var batch []json.RawMessage
	for n := range 3 {
		batch = append(batch, json.RawMessage(fmt.Sprintf(`{"jsonrpc":"2.0","id":"ping %d","method":"ping"}`, n)))
		check.Must(t, w.views.Say(t.Context(), "Ada", v.opened.Session, v.said, batch))
	}
	v.said += len(batch)
	v.request("ping", "{}")
	for _, want := range []string{`"ping 0"`, `"ping 1"`, `"ping 2"`, fmt.Sprint(v.lastID)} {
		_, got, _ := v.message()
		check.Equal(t, "the answer to", got, want)
	}
}

// A user who names many windows leaves room for the views of others.
func TestViewsOfAUser(t *testing.T) {
	w := newWorld(t, agenttest.CallTools(show...), agenttest.Say("There."), agenttest.CallTools(show...), agenttest.Say("There."))
	id, calls := w.converse("Ada")
	other, others := w.converse("Grace")
	const most = 96
	for n := range most + 1 {
		err := check.Err(w.open("Ada", fmt.Sprint("window ", n), id, calls[0]))
		check.Require(t, (err == nil) == (n < most) && (n != most || errors.Is(err, viewing.ErrTooMany)),
			"view %d: got %v, want %d views", n, err, most)
	}
	check.NoError(t, check.Err(w.open("Grace", "w", other, others[0])), "another user")
}

// "Host MUST send this notification before tearing down the UI resource, for any reason."
func TestTeardown(t *testing.T) {
	w := newWorld(t, agenttest.CallTools(show...), agenttest.Say("There."))
	id, calls := w.converse("Ada")
	testTeardown(t, w, "conversation", id, calls[0], func() { w.views.EndConversation("Ada", id) })
	testTeardown(t, w, "session", id, calls[0], func() { w.views.EndSession("Ada", sessionOf("window session")) })
	testTeardown(t, w, "program", id, calls[0], w.views.Close)
	check.Fails(t, check.Err(w.open("Ada", "w", id, calls[0])), "a view after the end")
}

// TestSignOutOfOneDevice ends the views of that device; those of another one of the same user stay.
func TestSignOutOfOneDevice(t *testing.T) {
	w := newWorld(t, agenttest.CallTools(show...), agenttest.Say("There."))
	id, calls := w.converse("Ada")
	phone, desk := w.show("Ada", "phone", id, calls[0]), w.show("Ada", "desk", id, calls[0])
	over := make(chan struct{})
	go func() { defer close(over); w.views.EndSession("Ada", sessionOf("phone")) }()
	phone.agrees()
	<-over
	phone.isGone("phone")
	check.Contains(t, "the view at the desk", desk.ask("ping", `{}`), "result")
}

// TestSignOutKeepsOtherConversations has a view of another conversation want the model to know something. Its call has the id of
// one whose view ends with the session.
func TestSignOutKeepsOtherConversations(t *testing.T) {
	call := func(context.Context, agenttest.Turn) (*model.Response, error) {
		part := run.Part{Type: run.PartCall, ID: "call", Name: show[0], Arguments: show[1]}
		return &model.Response{Message: run.Message{Role: run.RoleAssistant, Parts: []run.Part{part}}}, nil
	}
	w := newWorld(t, call, agenttest.Say("There."), call, agenttest.Say("There."))
	id, calls := w.converse("Ada")
	other, others := w.converse("Ada")
	w.show("Ada", "desk", other, others[0]).knows("row 1 is selected")
	phone := w.show("Ada", "phone", id, calls[0])
	go phone.agrees()
	w.views.EndSession("Ada", sessionOf("phone"))
	_ = w.views.WithContexts("Ada", other, func(before ...string) error {
		check.Same(t, "the model is told", before, []string{from + "row 1 is selected"})
		return nil
	})
}

func (v *shown) agrees() {
	v.send(`{"jsonrpc":"2.0","id":` + v.hears("ui/resource-teardown") + `,"result":{}}`)
}

func (v *shown) isGone(name string) {
	v.t.Helper()
	for e := v.stream.next(v.t); e.kind != "view-closed"; e = v.stream.next(v.t) {
	}
	check.Is(v.t, v.views.Say(v.t.Context(), v.user, v.opened.Session, v.said, nil), talk.ErrGone, name)
}

func testTeardown(t *testing.T, w *world, name, id string, at place, end func()) {
	t.Helper()
	v := w.show("Ada", "window "+name, id, at)
	v.knows("something")
	over := make(chan struct{})
	go func() { defer close(over); end() }()
	ask := v.hears("ui/resource-teardown")
	select {
	case <-over:
		t.Errorf("%s: the end does not wait for the view", name)
	default:
	}
	v.send(`{"jsonrpc":"2.0","id":` + ask + `,"result":{}}`)
	<-over
	v.isGone(name)
	_ = w.views.WithContexts("Ada", id, func(before ...string) error {
		check.That(t, len(before) == 0 || name == "program", "%s: the model is told %q", name, before)
		return nil
	})
}

// A later stream of a window takes all that the window has not seen. A window that was forgotten
// begins its numbers again, and says so.
func TestStreams(t *testing.T) {
	w, v, id, at := adas(t)
	first := v.stream
	v.stream = w.watch("Ada", "w")
	check.Equal(t, "", v.stream.next(t).kind, "view-life")
	check.Equal(t, "the first message: all that the window has not seen", v.stream.next(t).n, 1)
	v.hears("ui/notifications/tool-result")
	for range 20 {
		check.Contains(t, "", v.ask("ping", `{}`), "result")
	}
	<-first.over
	w.views.Seen("Ada", "w", 10)
	v.stream.end()
	<-v.stream.over
	v.stream = w.watch("Ada", "w")
	check.Contains(t, "the same life", string(v.stream.next(t).data), v.opened.Life)
	check.Equal(t, "the first message: the one that was not seen", v.stream.next(t).n, 11)
	var agreeing sync.WaitGroup
	agreeing.Go(v.agrees)
	check.NoError(t, w.views.End(t.Context(), "Ada", v.opened.Session, false))
	agreeing.Wait()
	v.isGone("ended")
	v.stream.end()
	<-v.stream.over
	check.That(t, w.show("Ada", "w", id, at).opened.Life != v.opened.Life, "a window that was forgotten has the same life")
}
