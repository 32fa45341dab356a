package browsertest_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

// day is true in the view of the demo's desk.
const day = "document.querySelector('#day')"

// sees waits until the document of the view has a text.
func (w *person) sees(text string) {
	w.t.Helper()
	w.inView(day + "?.ownerDocument.body.innerText.includes(" + strconv.Quote(text) + ")")
}

// checkIn has the view of the desk call a tool of its server.
func (w *person) checkIn(name string) {
	w.t.Helper()
	w.inView(day, "(document.querySelector('#name').value = "+strconv.Quote(name)+", document.querySelector('#form button').click(), true)")
}

// TestView shows a view inline, has it call a tool of its server once its user agrees, shows it in full screen below
// the cards, and tears it down.
func TestView(t *testing.T) {
	ada := enter(t)
	ada.ask(`call visitors {"day":"Friday"}`, ".view-bar", "View of desk")
	ada.sees("Visitors on Friday")
	ada.sees("Emmy Noether")
	ada.inView(day + " && Math.abs(innerHeight - Math.ceil(document.documentElement.getBoundingClientRect().height)) <= 1") // the size that it tells
	ada.shoot("view")

	ada.checkIn("Lise Meitner")
	ada.see(".card.approval", "asked by a view of desk")
	ada.see(".card pre", "Lise Meitner")
	ada.await(`((view, log) => view.top >= log.top - 1 && view.bottom <= log.bottom + 1)(
		document.querySelector(".view").getBoundingClientRect(), document.querySelector("#log").getBoundingClientRect())`) // all of it is in sight
	ada.accessible("view and its approval")
	ada.click(".card summary", "More", ".card .pair", "Reason, if you refuse")
	ada.shoot("more of the approval")
	ada.click(".card button", "Allow")
	ada.sees("Lise Meitner is checked in.")
	ada.see(".view .calls", "check_in")
	ada.gone(".card")

	ada.inView(day, "document.querySelector('#full').click()")
	ada.await("document.querySelector('.view.full') !== null")
	ada.sees("shown fullscreen")
	ada.checkIn("Maria Mayer")
	ada.see(".card.approval", "Maria Mayer")
	ada.await(`(() => { // no view covers a card
		const view = document.querySelector(".view.full").getBoundingClientRect(), card = document.querySelector("#asks").getBoundingClientRect(), bar = document.querySelector(".bar").getBoundingClientRect();
		return view.bottom <= card.top + 1 && view.top >= bar.bottom - 1 && view.height > 50;
	})()`)
	ada.shoot("view in full screen")
	ada.click(".card button", "Refuse")
	ada.sees("denied by the user")
	ada.click(".view-bar button", "Back")
	ada.await("document.querySelector('.view.full') === null")

	ada.click(".view-bar button", "Close")
	ada.await("document.querySelector('.view iframe') === null")
	ada.click(".view-bar button", "Show")
	ada.sees("Visitors on Friday")
}

// TestViewComesBack restarts the program, and loads the page again, while a call of the view waits for its user.
func TestViewComesBack(t *testing.T) {
	ada := enter(t)
	ada.ask(`call visitors {"day":"Friday"}`)
	ada.sees("Visitors on Friday")
	ada.checkIn("Lise Meitner")
	ada.see(".card.approval", "Lise Meitner")
	ada.expectErrors("net::ERR", "404") // the server is away; then it does not know the view
	ada.program.end(t, syscall.SIGKILL)
	ada.program.again(t)
	ada.reload()
	ada.sees("Visitors on Friday")
	ada.see(".card.approval", "asked by a view of desk")
	ada.click(".card button", "Allow")
	ada.see(".view .calls", "check_in", "done")
	ada.gone(".card")
	check.Equal(t, "calls of the view", eval[int](ada, "document.querySelectorAll('.view .calls .tool').length"), 1)
}

// TestReloadDuringACall loads the page again while a call of the view waits for its user. The view is shown again, and may
// repeat the call, so nobody is asked about the earlier one.
func TestReloadDuringACall(t *testing.T) {
	ada := enter(t)
	ada.ask(`call visitors {"day":"Friday"}`)
	ada.sees("Visitors on Friday")
	ada.checkIn("Lise Meitner")
	ada.see(".card.approval", "Lise Meitner")
	ada.reload()
	ada.sees("Visitors on Friday")
	ada.checkIn("Maria Mayer")
	ada.see(".card.approval", "Maria Mayer")
	check.Equal(t, "cards", eval[int](ada, "document.querySelectorAll('.card').length"), 1)
}

// TestViewAsks has a view open a page and write to the model: its user sees what, and from whom.
func TestViewAsks(t *testing.T) {
	ada := enter(t)
	ada.ask(`call visitors {"day":"Friday"}`)
	ada.sees("Visitors on Friday")
	eval[bool](ada, "(window.opened = [], window.open = (...a) => { window.opened.push(a.join(' ')); }, true)")
	ada.inView(day, "document.querySelector('#help').click()")
	ada.see(".card.view-ask", "https://desk.example.com/rules")
	ada.click(".card.view-ask button", "Refuse")
	ada.sees("denied by the user")
	ada.inView(day, "document.querySelector('#help').click()")
	ada.see(".card.view-ask", "https://desk.example.com/rules")
	check.Equal(t, "pages that were opened without a word of the user", eval[int](ada, "opened.length"), 0)
	ada.pressTwice(".card.view-ask button", "Open the page") // the second press is not of the next card
	ada.sees("Page: opened")
	got, want := eval[string](ada, "opened.join()"), "https://desk.example.com/rules _blank noopener,noreferrer"
	check.That(t, got == want, "opened %q, want %q", got, want)
	ada.inView(day, "document.querySelector('#tell').click()")
	ada.see(".card.view-ask", "How many visitors are there?")
	ada.shoot("view writes")
	ada.click(".card.view-ask button", "Send it", ".said .bubble", "Written by the view of the server desk")
	ada.sees("Message: sent")
}

// TestViewAfterItsStream shows a view again after its window had no views while the stream began again.
func TestViewAfterItsStream(t *testing.T) {
	ada := enter(t)
	ada.ask(`call visitors {"day":"Friday"}`)
	ada.sees("Visitors on Friday")
	ada.click(".view-bar button", "Close")
	ada.await("document.querySelector('.view iframe') === null")
	other := ada.another() // windows share a stream: it begins again
	other.see("#user", "Ada")
	other.ask("What is 17 plus 25?", ".call summary", "add")
	ada.see("#list", "What is 17 plus 25?")
	ada.click(".view-bar button", "Show")
	ada.sees("Visitors on Friday")
}

// TestViewReadsMuch has a view read more than the queue of its window holds, and say more than a request may have. The server
// misses what the page acknowledges until the queue is full.
func TestViewReadsMuch(t *testing.T) {
	const reader = `<!doctype html><title>Reader</title><output id="reader"></output><script>
		const say = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
		const read = (id) => say({ id, method: "resources/read", params: { uri: "ui://much" } });
		addEventListener("message", ({ data: m }) => {
			if (m.id === 0) { say({ method: "ui/notifications/initialized" }); read(1); }
			if (m.error) document.querySelector("#reader").textContent = m.error.message;
			if (!m.result?.contents) return;
			document.querySelector("#reader").textContent = m.id;
			if (m.id < 5) read(m.id + 1);
			else say({ id: 6, method: "ui/update-model-context", params: { content: { type: "text", text: "あ".repeat(400_000) } } });
		});
		say({ id: 0, method: "ui/initialize", params: { protocolVersion: "2026-01-26", appInfo: { name: "reader", version: "1" }, appCapabilities: {} } });
	</script>`
	s := newServer("much").view("read", reader)
	s.AddResource(&sdk.Resource{URI: "ui://much", Name: "much"}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: "ui://much", Text: strings.Repeat("x", 3<<20)}}}, nil
	})
	ada := enter(t, serving(t, "much", s)...)
	eval[bool](ada, `(() => {
		const send = window.fetch;
		window.deaf = true;
		window.fetch = (path, ...rest) => {
			if (!window.deaf || path !== "/api/views/seen") return send(path, ...rest);
			window.lost++;
			return Promise.reject(new TypeError("lost"));
		};
		return true;
	})()`)
	ada.allow("call read {}")
	ada.inView("document.querySelector('#reader')?.textContent === '3'")
	eval[bool](ada, "(window.lost = 0, true)")
	ada.await("window.lost > 0") // the last one that the full queue leads to
	eval[bool](ada, "(window.deaf = false, true)")
	ada.inView("document.querySelector('#reader')?.textContent === 'the message is too large'")
}

// till is the view of the bank.
const till = `<!doctype html><title>Till</title><button id="pay">Pay</button><button id="seat">Choose seat 7</button><output id="till"></output><script>
	const waiting = new Map();
	let last = 0;
	const say = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
	const ask = (method, params) => new Promise((resolve) => { waiting.set(++last, resolve); say({ id: last, method, params }); });
	const out = (text) => { document.querySelector("#till").textContent = text; };
	addEventListener("message", ({ data: m }) => {
		if (m.method && m.id !== undefined) say({ id: m.id, result: {} });
		else if (m.method === "ui/notifications/tool-result") out("ready");
		else waiting.get(m.id)?.(m);
	});
	document.querySelector("#pay").onclick = async () => { out("paying"); const m = await ask("tools/call", { name: "pay", arguments: { to: "Lise" } }); out(m.error?.message ?? m.result.content[0].text); };
	document.querySelector("#seat").onclick = async () => { await ask("ui/update-model-context", { content: [{ type: "text", text: "seat 7 is chosen" }] }); out("chosen"); };
	ask("ui/initialize", { protocolVersion: "2026-01-26", appInfo: { name: "till", version: "1" }, appCapabilities: {} }).then(() => say({ method: "ui/notifications/initialized" }));
</script>`

// bank is a server with a view that pays. The call is told to begun, and ends with the test.
func bank(begun chan<- struct{}) *server {
	s := newServer("bank").view("till", till)
	return s.tool("pay", map[string]any{"visibility": []string{"app"}}, func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		begun <- struct{}{}
		s.hold(ctx)
		return said(), nil
	})
}

// till has the view of the bank click a button, and waits for what it says then.
func (w *person) till(button, says string) {
	w.t.Helper()
	const mark = "document.querySelector('#till')"
	w.inView(mark+"?.textContent === 'ready'", "(document.querySelector("+strconv.Quote(button)+").click(), true)")
	w.tillSays(says)
}

func (w *person) tillSays(text string) {
	w.t.Helper()
	w.inView("document.querySelector('#till')?.textContent === " + strconv.Quote(text))
}

// TestViewInDoubt has the program killed after a call of a view was sent, and before its result came: the view comes back by
// itself, and its user is asked what became of the call.
func TestViewInDoubt(t *testing.T) {
	begun := make(chan struct{}, 4)
	ada := enter(t, append(serving(t, "bank", bank(begun)), "-views", testenv.FreeAddress(t))...) // the page continues with the frames of its policy
	ada.expectErrors("net::ERR", "404")                                                           // the server is away; then it does not know the view
	ada.allow("call till {}")
	ada.till("#pay", "paying")
	ada.click(".card.approval button", "Allow")
	received(t, begun)
	ada.program.end(t, syscall.SIGKILL)
	ada.program.again(t)
	ada.see(".card.doubt h3", "Did pay of bank run?")
	ada.see(".card.doubt", "asked by a view of bank")
	ada.shoot("doubt about a view's call")
	ada.tillSays("ready")
	ada.fill("Its result, if you know it", "paid, receipt 17")
	ada.click(".card button", "It ran")
	ada.see(".view .calls", "done")
	ada.gone(".card")
	check.Equal(t, "more calls of the server", len(begun), 0)
}

// TestViewTellsTheModel has a view tell the model something before the next question.
func TestViewTellsTheModel(t *testing.T) {
	ada := enter(t, serving(t, "bank", newServer("bank").view("till", till))...)
	ada.allow("call till {}")
	ada.till("#seat", "chosen")
	ada.ask("What did I ask before?") // the model tells what was said before the question
	ada.see(".reply .prose", "Written by the view of the server bank", "seat 7 is chosen")
	ada.see(".said .bubble", "seat 7 is chosen")
}

// saver is a view that saves when it is torn down.
const saver = `<!doctype html><title>saver</title><p id="saver">A drawing.</p><script>
	const send = (m) => parent.postMessage({ jsonrpc: "2.0", ...m }, "*");
	addEventListener("message", ({ data: m }) => {
		if (m.id === 1 && m.result) { send({ method: "ui/notifications/initialized" }); document.querySelector("#saver").textContent = "ready"; }
		if (m.method === "ui/resource-teardown") send({ id: m.id, result: { saved: true } });
	});
	send({ id: 1, method: "ui/initialize", params: { protocolVersion: "2026-01-26", appInfo: { name: "saver", version: "1" }, appCapabilities: {} } });
</script>`

// TestSwitchWithView goes to another conversation while a view is open, and asks in the same moment: the question is the new
// conversation's. The view hears that it ends, and its page is not waited for.
func TestSwitchWithView(t *testing.T) {
	stubborn := strings.Replace(saver, "send({ id: m.id, result: { saved: true } })", "{}", 1)
	for name, document := range map[string]string{"saves": saver, "stubborn": stubborn} {
		t.Run(name, func(t *testing.T) {
			ada := enter(t, serving(t, "saver", newServer("saver").view("draw", document))...)
			ada.allow("call draw {}", ".reply .prose", "done by draw")
			ada.inView("document.querySelector('#saver')?.textContent === 'ready'")
			eval[bool](ada, "(window.heard = [], addEventListener('message', (e) => heard.push(JSON.stringify(e.data))), true)")
			eval[bool](ada, `(() => {
				document.querySelector("#new").click();
				document.querySelector("#question").value = "a private question";
				document.querySelector("#composer").requestSubmit();
				return true;
			})()`)
			ada.await("document.querySelectorAll('#list li').length === 2")
			ada.await("[...document.querySelectorAll('.said')].map(n => n.querySelector('.bubble').innerText).join() === 'a private question'")
			ada.see("#title", "a private question")
			ada.shoot("question in the new conversation")
			if document == saver {
				ada.await(`heard.some(m => m.includes('"saved":true'))`)
			}
			ada.await("document.querySelector('iframe') === null")
			ada.click("#list a", "call draw", ".reply .prose", "done by draw")
			check.Equal(t, "questions in the old conversation", eval[int](ada, "document.querySelectorAll('.said').length"), 1)
			ada.inView("document.querySelector('#saver')?.textContent === 'ready'") // it is shown again
		})
	}
}

// inView waits for a document of a view in which mark, an expression, is true, and evaluates other
// expressions there. Chromium may run a frame in a process of its own, or in the page's.
func (w *person) inView(mark string, expressions ...string) {
	w.t.Helper()
	guarded := fmt.Sprintf("(async () => { if (!(%s)) return false; %s; return true; })()", mark, strings.Join(expressions, "; "))
	for end := time.Now().Add(patience); !w.inFrames(guarded); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("no view in which %s; the page says:\n%s", mark, eval[string](w, "document.body.innerText"))
		}
	}
}

// inFrames reports whether an expression is true in one of the frames. It ends with the first one.
func (w *person) inFrames(expression string) bool {
	w.mu.Lock()
	contexts := slices.Clone(w.contexts)
	w.mu.Unlock()
	for _, id := range contexts {
		if isTrue(w.ctx, expression, id) {
			return true
		}
	}
	for _, info := range check.Value(chromedp.Targets(w.ctx))(w.t) {
		if info.Type != "iframe" || info.BrowserContextID != chromedp.FromContext(w.ctx).BrowserContextID {
			continue
		}
		frame := w.frames[info.TargetID]
		if frame == nil {
			frame, _ = chromedp.NewContext(w.ctx, chromedp.WithTargetID(info.TargetID), chromedp.WithListener(w.listen)) // ends with the window
			if chromedp.Do(frame) != nil {                                                                               // attaches for as long as the window lasts
				continue
			}
			w.frames[info.TargetID] = frame
		}
		if isTrue(frame, expression, 0) {
			return true
		}
	}
	return false
}

// isTrue reports whether an expression is true in a context, 0 for the target's own.
func isTrue(ctx context.Context, expression string, id runtime.ExecutionContextID) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	yes := true
	res, err := chromedp.Call(ctx, runtime.Evaluate, runtime.EvaluateParams{Expression: expression, ContextID: id, AwaitPromise: &yes, ReturnByValue: &yes})
	return err == nil && res.ExceptionDetails == nil && res.Result != nil && string(res.Result.Value) == "true" // otherwise the frame may have gone
}
