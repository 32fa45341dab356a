package site_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/site"
	"github.com/mcpchain/mcpchain/internal/check"
)

// TestOneStreamForAllWindows has one connection serve windows with different conversations, one of
// them without any and one with somebody else's.
func TestOneStreamForAllWindows(t *testing.T) {
	w := serve(t, site.Limits{Windows: 4}, record.NewMemory(), agenttest.PlayRepeating(agenttest.Say("hello")))
	ids := []string{w.begin(t, "Ada", "one"), w.begin(t, "Ada", "two"), w.begin(t, "Grace", "hers")}
	all := w.watch(t, "Ada", ids[0]+"&conversation="+ids[1]+"&conversation="+ids[2]+"&conversation=", "")
	got, lists := map[string]string{}, 0
	for lists < 4 || !strings.HasSuffix(got["0"], "ended") || !strings.HasSuffix(got["1"], "ended") {
		e := all.next(t)
		if e.Type == "list" {
			lists++
			continue
		}
		if e.ID != "" || e.Type == "refused" {
			got[e.Window] += " " + e.Type
		}
	}
	for window, kinds := range map[string]string{"0": " said reply ended", "1": " said reply ended", "2": " refused"} {
		check.Equal(t, "window "+window, got[window], kinds)
	}
	check.Equal(t, "a fifth window", w.status(t, "Ada", "GET", "/api/events?conversation=", ""), 429)
	all.close()
	browser := "&reader=all"
	first := w.watch(t, "Grace", "&conversation=&conversation="+browser, "")
	first.until(t, "list")
	second := w.watch(t, "Grace", strings.Repeat("&conversation=", 4)+browser, "")
	first.ends(t) // the next stream of the browser takes its place
	got, lists = map[string]string{}, 0
	for len(got) == 0 || lists < 4 { // the fifth of its windows is refused, and the others are served
		switch e := second.next(t); e.Type {
		case "list":
			lists++
		case "refused":
			got[e.Window] = e.member(t, "status")
		}
	}
	check.That(t, len(got) == 1 && got["4"] == "429", "refused windows: got %v, want the fifth", got)
}

// TestTaken shows a window that its answer is kept while another call runs.
func TestTaken(t *testing.T) {
	begun, over := make(chan struct{}), make(chan struct{})
	long := adapter.Func("long", "Takes long.", func(ctx context.Context, _ struct{}) (string, error) {
		close(begun)
		select {
		case <-over:
		case <-ctx.Done():
		}
		return "over", nil
	}, nil)
	t.Cleanup(func() { close(over) })
	model := agenttest.Play(agenttest.CallTools("long", `{}`, "pay", `{"number":1}`))
	w := serve(t, site.Limits{}, record.NewMemory(), model, long, paying())
	id := w.begin(t, "Ada", "Do both.")
	window, asks := w.watch(t, "Ada", id, ""), map[string]string{}
	for len(asks) < 2 {
		asked := window.last(t, "asked")
		asks[asked.member(t, "tool")] = asked.member(t, "id")
	}
	w.answer(t, "Ada", id, map[string]any{"ask": asks["long"], "action": "allow"})
	select {
	case <-begun:
	case <-time.After(time.Minute):
		t.Fatal("the long call does not begin")
	}
	w.answer(t, "Ada", id, map[string]any{"ask": asks["pay"], "action": "allow"})
	for later := w.watch(t, "Ada", id, ""); ; {
		if e := later.next(t); e.Type == "now" && strings.Contains(e.member(t, "taken"), asks["pay"]) {
			return
		}
	}
}

// TestAtWork bounds the conversations of a user at work, however many begin at the same moment.
func TestAtWork(t *testing.T) {
	w := serve(t, site.Limits{}, record.NewMemory(), agenttest.PlayRepeating(hang))
	statuses := make(chan int, 24)
	var wg sync.WaitGroup
	for range cap(statuses) {
		wg.Go(func() { statuses <- w.status(t, "Ada", "POST", "/api/conversations", `{"text":"hello"}`) })
	}
	wg.Wait()
	close(statuses)
	got := map[int]int{}
	for status := range statuses {
		got[status]++
	}
	check.That(t, got[202] == 8 && got[429] == cap(statuses)-8, "got %v, want 8 that begin", got)
	w.begin(t, "Grace", "hello")
}

// TestSignOut ends the streams of the session, and of no other one: not those of a person who cannot sign out here.
func TestSignOut(t *testing.T) {
	w := serve(t, site.Limits{}, record.NewMemory(), agenttest.PlayRepeating(agenttest.Say("hello")))
	ada, grace, linus := w.watch(t, "Ada", "", ""), w.watch(t, "Grace", "", ""), w.watch(t, "Linus", "", "")
	for _, window := range []*window{ada, grace, linus} {
		window.until(t, "list")
	}
	for user, here := range map[string]bool{"Ada": true, "Linus": false} { // so the page offers it only where it has an effect
		_, _, me := w.do(t, user, "GET", "/api/me", "")
		check.Equal(t, "me", me, fmt.Sprintf("{\"signOut\":%v,\"user\":%q}\n", here, user))
	}
	check.Equal(t, "Ada", w.status(t, "Ada", "POST", "/api/sign-out", `{}`), http.StatusNoContent)
	check.Equal(t, "Linus", w.status(t, "Linus", "POST", "/api/sign-out", `{}`), http.StatusConflict)
	ada.ends(t)
	w.begin(t, "Grace", "hello")
	grace.until(t, "list")
	w.begin(t, "Linus", "hello")
	linus.until(t, "list")
}

// TestOtherUserSignedIn refuses what a window asks that shows another user.
func TestOtherUserSignedIn(t *testing.T) {
	w := serve(t, site.Limits{}, record.NewMemory(), agenttest.PlayRepeating(agenttest.Say("hello")))
	shows := func(name string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Page-User", name) }
	}
	for name, want := range map[string]int{"Ada": 401, "Gr%C3%A4ce": 202, "": 202, "%": 401} {
		check.Equal(t, "the page shows "+name, w.status(t, "Gräce", "POST", "/api/conversations", `{"text":"hello"}`, shows(name)), want)
	}
	check.Equal(t, "stream", w.status(t, "Gräce", "GET", "/api/events", "", shows("Ada")), 401)
}

// TestReadsAreRated bounds what only reads, apart from what changes something.
func TestReadsAreRated(t *testing.T) {
	w := serve(t, site.Limits{ReadsPerMinute: 1, ReadBurst: 2}, record.NewMemory(), agenttest.PlayRepeating(agenttest.Say("hello")))
	for i, want := range []int{404, 404, 429} {
		check.Equal(t, fmt.Sprint("read ", i+1), w.status(t, "Ada", "GET", "/api/conversations/none/media/1/0/1/0", ""), want)
	}
	w.begin(t, "Ada", "hello")
}

type payment struct {
	Number int `json:"number"`
}

// paying is a tool that says who has paid.
func paying() adapter.Source {
	return adapter.Func("pay", "Pays a bill.", func(ctx context.Context, in payment) (string, error) {
		return "paid by " + hosting.User(ctx), nil
	}, nil)
}

// TestStreamResumes has a window continue at each event where its stream may have stopped.
func TestStreamResumes(t *testing.T) {
	model := agenttest.Play(
		agenttest.CallTools("pay", `{"number":1}`, "pay", `{"number":2}`),
		agenttest.Say("**Done.**"), agenttest.Say("Bye."))
	w := serve(t, site.Limits{Windows: 100}, record.NewMemory(), model, paying())
	id := w.begin(t, "Ada", "Pay both bills.")
	first := w.watch(t, "Ada", id, "")
	var asks []string
	for len(asks) < 2 { // side by side
		asks = append(asks, first.last(t, "asked").member(t, "id"))
	}
	w.answer(t, "Ada", id, map[string]any{"ask": asks[1], "action": "allow"})
	w.answer(t, "Ada", id, map[string]any{"ask": asks[0], "action": "deny", "reason": "not this one"})
	first.until(t, "ended")
	w.post(t, "Ada", "/api/conversations/"+id+"/messages", map[string]string{"text": "Thanks."})
	first.until(t, "ended")

	all := w.watch(t, "Ada", id, "").until(t, "ended")
	all = append(all, w.watch(t, "Ada", id, all[len(all)-1].ID).until(t, "ended")...)
	got := kinds(all)
	for _, want := range []string{"said reply", "asked", "answered", "result", "reply ended said reply ended"} {
		check.Contains(t, "", got, want)
	}
	check.Contains(t, "the answer", all[len(all)-2].member(t, "text"), "Bye.")
	var paid []string
	for _, e := range all {
		if e.Type == "result" {
			paid = append(paid, e.member(t, "text"))
		}
	}
	text := strings.Join(paid, "; ")
	check.That(t, strings.Contains(text, "paid by Ada") && strings.Contains(text, "not this one") && len(paid) == 2, "got the results %q", text)
	for i, e := range all[:len(all)-1] {
		rest := w.watch(t, "Ada", id, e.ID)
		for _, want := range all[i+1:] {
			got := rest.until(t, want.Type)
			check.Require(t, len(got) == 1 && got[0].ID == want.ID, "after %s: got %v, want the event %s alone", e.ID, got, want.ID)
		}
		rest.close()
	}
}
