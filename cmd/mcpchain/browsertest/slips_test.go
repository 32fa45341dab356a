package browsertest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/mcpchain/mcpchain/internal/check"
)

func (w *person) pressTwice(selector, text string) {
	w.t.Helper()
	w.await("[...document.querySelectorAll(%s)].some(n => n.checkVisibility() && n.innerText.trim() === %s)", selector, text)
	eval[bool](w, `(() => {
		const n = [...document.querySelectorAll(%s)].find(n => n.checkVisibility() && n.innerText.trim() === %s);
		for (const detail of [1, 2]) n.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, detail }));
		return true;
	})()`, selector, text)
}

// TestDoubleClick has a double click be one press, of buttons that ask once more, too.
func TestDoubleClick(t *testing.T) {
	ada := enter(t, talking(t, []string{"one"}, []string{"two"}, []string{"three"})...)
	ada.ask("first", ".reply:not(.draft)", "one")
	ada.click(".said button", "Edit")
	ada.pressTwice(".edit button", "Send again")
	ada.see(".reply:not(.draft)", "two")
	ada.await("document.querySelectorAll('#list li').length === 2")
	ada.pressTwice("#list li button", "×")
	ada.see("#list button", "Delete?")
	check.Equal(t, "conversations", eval[int](ada, "document.querySelectorAll('#list li').length"), 2)
}

// TestDoubleClickAllowsNoServer asks once more before all tools of a server may run.
func TestDoubleClickAllowsNoServer(t *testing.T) {
	ada := enter(t)
	ada.ask("Book a table for 4 at Luigi.", ".card.approval button", "Allow")
	ada.fill("Allow", "all tools of this server")
	ada.pressTwice(".card.approval button", "Allow")
	ada.see(".card .wrong", "Press Allow again")
	check.Equal(t, "answers", eval[int](ada, "document.querySelectorAll('.note').length"), 0)
	ada.click(".card.approval button", "Allow", ".card.form h3", "asks you")
}

// hold presses a key, and holds it for a moment.
func (w *person) hold(event input.DispatchKeyEventParams) {
	w.t.Helper()
	for _, again := range []bool{false, true, true, true} {
		event.AutoRepeat = &again
		check.Must(w.t, check.Err(chromedp.Call(w.ctx, input.DispatchKeyEvent, event)))
	}
}

// TestHeldKeyAllowsNoServer holds Enter on a button that asks once more. Tab, held, moves the focus.
func TestHeldKeyAllowsNoServer(t *testing.T) {
	ada := enter(t)
	ada.ask("Book a table for 4 at Luigi.", ".card.approval button", "Allow")
	ada.fill("Allow", "all tools of this server")
	eval[bool](ada, "([...document.querySelectorAll('.card button')].find(n => n.innerText === 'Allow').focus(), true)")
	ada.hold(input.DispatchKeyEventParams{Type: "keyDown", Key: "Enter", Code: "Enter", Text: "\r", WindowsVirtualKeyCode: 13})
	ada.see(".card .wrong", "Press Allow again")
	check.Equal(t, "answers", eval[int](ada, "document.querySelectorAll('.note').length"), 0)
	ada.press(kb.Enter)
	ada.see(".card.form h3", "asks you")
	eval[bool](ada, "(document.querySelector('#new').focus(), window.focused = 0, addEventListener('focusin', () => { window.focused++; }), true)")
	ada.hold(input.DispatchKeyEventParams{Type: "rawKeyDown", Key: "Tab", Code: "Tab", WindowsVirtualKeyCode: 9})
	ada.await("window.focused === 4")
}

// TestNextPerson shows the next person nothing of the one before.
func TestNextPerson(t *testing.T) {
	ada := enter(t)
	ada.expectErrors("401")
	ada.ask("My secret is 17 plus 25.", ".reply:not(.draft)", "42")
	eval[bool](ada, "(document.querySelector('#question').value = 'a draft of Ada', true)")
	ada.click("#sign-out", "Sign out", "h1", "Who are you?")
	check.Equal(t, "title", eval[string](ada, "document.title"), "mcpchain")
	check.Equal(t, "announcements", eval[string](ada, "document.querySelector('#status').textContent"), "")
	ada.click("#names button", "Grace", "#user", "Grace")
	check.Equal(t, "question", eval[string](ada, "document.querySelector('#question').value"), "")
}

// TestDrafts keeps what is written with its conversation, and over a reload.
func TestDrafts(t *testing.T) {
	ada := enter(t)
	written := func(want string) {
		t.Helper()
		ada.await("document.querySelector('#question').value === %s", want)
	}
	ada.ask("What is 1 plus 1?", ".reply:not(.draft)", "2")
	ada.do(chromedp.SendKeys(chromedp.CSS("#question"), "and squared"))
	ada.click("#new", "New")
	written("")
	ada.do(chromedp.SendKeys(chromedp.CSS("#question"), "something else"))
	ada.click("#list a", "What is 1 plus 1?")
	written("and squared")
	ada.reload()
	written("and squared")
	ada.click("#new", "New")
	ada.ask("What is 2 plus 2?", ".reply:not(.draft)", "4")
	written("")
}

// TestThoughts has the model reason before its answer. The person reads that as it comes, and it folds when the answer begins.
func TestThoughts(t *testing.T) {
	next := make(chan struct{})
	ada := enter(t, replying(t, func(w http.ResponseWriter, _ string, delta func(string)) bool {
		for _, piece := range []string{`{"reasoning_content":"First I add."}`, `{"reasoning_content":" Then I check."}`, `{"content":"It is 2."}`} {
			delta(piece)
			check.NoError(t, http.NewResponseController(w).Flush())
			received(t, next)
		}
		return true
	})...)
	ada.ask("What is 1 plus 1?", ".draft .reasoning .plain", "First I add.")
	next <- struct{}{}
	ada.see(".draft .reasoning .plain", "First I add. Then I check.")
	ada.accessible("thoughts")
	next <- struct{}{}
	ada.see(".draft .prose", "It is 2.")
	ada.gone(".reasoning .plain")
	ada.shoot("thoughts folded")
	ada.click(".draft .reasoning summary", "Reasoning")
	next <- struct{}{}
	ada.see(".reply:not(.draft) .reasoning .plain", "First I add. Then I check.") // it stays unfolded
	ada.reload()
	ada.see(".reply .prose", "It is 2.")
	ada.gone(".reasoning .plain")
}

// TestBrokenAnswer has the model break off its answer. What came stays, also after a reload, and the turn is tried again.
func TestBrokenAnswer(t *testing.T) {
	asked := make(chan string, 3)
	ada := enter(t, replying(t, func(w http.ResponseWriter, body string, delta func(string)) bool {
		asked <- body
		delta(`{"content":"The first half."}`)
		check.NoError(t, http.NewResponseController(w).Flush())
		if len(asked) == 1 {
			panic(http.ErrAbortHandler)
		}
		delta(`{"content":" The second half."}`)
		return true
	})...)
	ada.ask("Tell me.", ".failed", "The model cannot be reached, or is out of order.")
	ada.see(".reply .note", "The answer broke off here.")
	ada.accessible("a broken answer")
	ada.reload()
	ada.see(".reply .prose", "The first half.")
	ada.click(".failed button", "Try again", ".reply .prose", "The first half. The second half.")
	ada.see(".note", "The turn is tried again.")
	ada.gone(".failed button")
	ada.shoot("tried again")
	check.Equal(t, "requests", len(asked), 2)
	check.That(t, !strings.Contains(<-asked+<-asked, "half"), "the model reads the half that came")
}

// TestLongQuestion refuses a question that is too long, as a whole.
func TestLongQuestion(t *testing.T) {
	ada := enter(t)
	ada.expectErrors("413", "422")
	for text, want := range map[string]string{
		strings.Repeat("x", 70_000): "a question has text, of at most 65536 bytes",
		strings.Repeat("y", 2<<20):  "the body has more than 1048576 bytes",
	} {
		eval[bool](ada, "(() => { const q = document.querySelector('#question'); q.focus(); q.select(); return document.execCommand('insertText', false, %s); })()", text)
		ada.click("#send", "Send", "#trouble", want)
		check.Equal(t, "length of the question", eval[int](ada, "document.querySelector('#question').value.length"), len(text))
	}
}

// TestFollows shows the end of what was said while views change their sizes, and the view that asks beside its card, until the
// person scrolls up; and names of tools and a question that wraps as a whole, on a phone, too.
func TestFollows(t *testing.T) {
	ada := enter(t)
	ada.narrow()
	for i, day := range []string{"Friday", "Monday"} {
		ada.ask(fmt.Sprintf(`call visitors {"day":%q}`, day))
		ada.sees("Visitors on " + day)
		ada.await("document.querySelectorAll('.reply:not(.draft)').length === %s", i+1)
	}
	check.That(t, eval[float64](ada, "document.querySelector('.call .name').getBoundingClientRect().height") < 30, "the name of the tool is broken")
	ada.await("(n => n.scrollTop > 0 && n.scrollHeight - n.scrollTop - n.clientHeight < 2)(document.querySelector('#log'))")
	ada.checkIn("Lise Meitner")
	ada.see(".card.approval", "Lise Meitner")
	ada.await(`(log => [...document.querySelectorAll(".view")].map(n => n.getBoundingClientRect()).some(view =>
		Math.min(view.bottom, log.bottom) - Math.max(view.top, log.top) >= Math.min(view.height, log.height) - 2))(document.querySelector("#log").getBoundingClientRect())`)
	ada.shoot("a card below its view on a phone")
	eval[bool](ada, "new Promise((done) => { document.querySelector('#log').onscroll = () => done(true); document.querySelector('#log').scrollTop = 0; })")
	ada.click(".card button", "Refuse")
	ada.gone(".card")
	check.Equal(t, "pixels above what the person reads", eval[int](ada, "document.querySelector('#log').scrollTop"), 0)
	ada.do(chromedp.SendKeys(chromedp.CSS("#question"), strings.Repeat("many words ", 20)))
	check.That(t, eval[bool](ada, "(n => n.scrollHeight <= n.clientHeight)(document.querySelector('#question'))"), "the question is cut")
}

// TestAskTooEarly says why a question is not sent while others wait for the person.
func TestAskTooEarly(t *testing.T) {
	ada := enter(t)
	ada.ask("Book a table for 4 at Luigi.", ".card.approval button", "Allow")
	eval[bool](ada, "(document.querySelector('#question').focus(), true)")
	ada.press("And 1 plus 1?\r")
	ada.see("#trouble", "First answer what waits for you, or press Stop.")
	check.Equal(t, "question", eval[string](ada, "document.querySelector('#question').value.trim()"), "And 1 plus 1?")
	ada.do(chromedp.EmulateViewport(740, 340))
	check.That(t, !eval[bool](ada, "document.documentElement.scrollHeight > innerHeight"), "the page scrolls as a whole beside a card")
	ada.wide()
	ada.click("#stop", "Stop", ".note", "Stopped.")
	ada.click("#new", "New")
	ada.await("document.querySelectorAll('#log > *').length === 0")
	eval[bool](ada, `(() => { // the second question is written before the first one has arrived
		for (const text of ["What is 1 plus 1?", "And 2 plus 2?"]) {
			document.querySelector("#question").value = text;
			document.querySelector("#composer").requestSubmit();
		}
		return true;
	})()`)
	ada.see(".reply:not(.draft)", "1 + 1 = 2")
	check.Equal(t, "conversations", eval[int](ada, "document.querySelectorAll('#list li').length"), 2)
	check.Equal(t, "question", eval[string](ada, "document.querySelector('#question').value"), "And 2 plus 2?")
}

// TestRightToLeft has each paragraph begin at the side where its language does, and code at the left.
func TestRightToLeft(t *testing.T) {
	ada := enter(t, talking(t, []string{"שלום\n\nHello\n\n```\na(1);\n```\n\n- אחד\n"}, []string{"Hello\n\nשלום"})...)
	const first = `(n => { const r = document.createRange(); r.selectNodeContents(n); const a = r.getClientRects()[0], b = n.getBoundingClientRect(); return a.left - b.left > b.right - a.right ? "right" : "left"; })`
	side := func(reply int, selector string) string {
		return eval[string](ada, first+"(document.querySelectorAll('.reply')[%s].querySelector(%s))", reply, selector)
	}
	ada.ask("hebrew", ".reply:not(.draft)", "אחד")
	ada.ask("english")
	ada.await("document.querySelectorAll('.reply:not(.draft)').length === 2")
	ada.shoot("right to left")
	for _, tt := range []struct {
		reply          int
		selector, want string
	}{
		{0, "p", "right"}, {0, "p:nth-of-type(2)", "left"}, {0, "pre", "left"}, {0, "li", "right"}, {1, "p", "left"}, {1, "p:nth-of-type(2)", "right"},
	} {
		check.Equal(t, tt.selector, side(tt.reply, tt.selector), tt.want)
	}
	check.Equal(t, "direction of the code", eval[string](ada, "getComputedStyle(document.querySelector('.reply pre')).direction"), "ltr")
	check.Equal(t, "direction of what is written", eval[string](ada, "getComputedStyle(document.querySelector('#question')).unicodeBidi"), "plaintext")
}

// TestDeletedElsewhere tells the windows of a conversation that it is deleted in another one.
func TestDeletedElsewhere(t *testing.T) {
	ada := enter(t, talking(t, []string{"one"})...)
	ada.ask("first", ".reply:not(.draft)", "one")
	check.That(t, !eval[bool](ada, "document.documentElement.scrollHeight > innerHeight"), "the page scrolls as a whole")
	check.Equal(t, "status", eval[int](ada.another(), "fetch('/api/conversations/' + %s, { method: 'DELETE' }).then(r => r.status)", eval[string](ada, "location.hash.slice(1)")), 202)
	ada.see("#offline", "There is no such conversation.")
}

// TestStopDuringACall shows no call as running after a stop.
func TestStopDuringACall(t *testing.T) {
	ada := enter(t)
	ada.ask("Book a table for 4 at Luigi.")
	ada.click(".card.approval button", "Allow", ".card.form h3", "asks you")
	ada.click("#stop", "Stop", ".note", "Stopped.")
	check.Equal(t, "state of the call", eval[string](ada, "document.querySelector('.call .state').textContent"), "not finished")
	ada.reload()
	ada.see(".call .state", "not finished")
}
