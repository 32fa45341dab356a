package browsertest_test

import (
	"context"
	"net"
	"syscall"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// desk is true in the view of the demo's desk.
const desk = "document.querySelector('#day')"

// sees waits until the document of the view has a text.
func (w *person) sees(text string) {
	w.t.Helper()
	inView[bool](w, desk+"?.ownerDocument.body.innerText.includes("+quote(text)+")", "true")
}

// checkIn has the view of the desk call a tool of its server.
func (w *person) checkIn(name string) {
	w.t.Helper()
	inView[bool](w, desk, "(document.querySelector('#name').value = "+quote(name)+", document.querySelector('#form button').click(), true)")
}

// TestView shows a view inline, has it call a tool of its server once its user agrees, shows it in full screen below
// the cards, and tears it down.
func TestView(t *testing.T) {
	t.Parallel()
	p := start(t)
	ada := visit(t, p, "Ada")
	ada.ask(`call visitors {"day":"Friday"}`)
	ada.see(".view-bar", "View of desk")
	ada.sees("Visitors on Friday")
	ada.sees("Emmy Noether")
	inView[bool](ada, desk+" && Math.abs(innerHeight - Math.ceil(document.documentElement.getBoundingClientRect().height)) <= 1", "true") // the size that it tells
	ada.shoot("view")

	ada.checkIn("Lise Meitner")
	ada.see(".card.approval", "asked by a view of desk")
	ada.see(".card pre", "Lise Meitner")
	ada.accessible("view and its approval")
	ada.shoot("view asks")
	ada.click(".card button", "Allow")
	ada.sees("Lise Meitner is checked in.")
	ada.see(".view .calls", "check_in")
	ada.gone(".card")

	inView[bool](ada, desk, "(document.querySelector('#full').click(), true)")
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

// TestViewComesBack loads the page again, and restarts the program, while a call of the view waits for its user.
func TestViewComesBack(t *testing.T) {
	t.Parallel()
	p := start(t)
	ada := visit(t, p, "Ada")
	ada.ask(`call visitors {"day":"Friday"}`)
	ada.sees("Visitors on Friday")
	ada.checkIn("Lise Meitner")
	ada.see(".card.approval", "Lise Meitner")
	ada.expectErrors("net::ERR")
	ada.reload()
	ada.sees("Visitors on Friday")
	ada.see(".card.approval", "Lise Meitner")
	p.end(t, syscall.SIGKILL)
	p.again(t)
	ada.reload()
	ada.see(".card.approval", "asked by a view of desk")
	ada.sees("Visitors on Friday")
	ada.checkIn("Lise Meitner") // again: it joins the call that waits
	ada.click(".card button", "Allow")
	ada.sees("Lise Meitner is checked in.")
	ada.gone(".card")
	if n := eval[int](ada, "document.querySelectorAll('.view .calls .tool').length"); n != 1 {
		t.Errorf("got %d calls of the view, want one", n)
	}
}

// TestViewAsks has a view open a page and write to the model: its user sees what, and from whom.
func TestViewAsks(t *testing.T) {
	t.Parallel()
	p := start(t)
	ada := visit(t, p, "Ada")
	ada.ask(`call visitors {"day":"Friday"}`)
	ada.sees("Visitors on Friday")
	eval[bool](ada, "(window.opened = [], window.open = (...a) => { window.opened.push(a.join(' ')); }, true)")
	inView[bool](ada, desk, "(document.querySelector('#help').click(), true)")
	ada.see(".card.view-ask", "https://desk.example.com/rules")
	ada.click(".card.view-ask button", "Refuse")
	ada.sees("denied by the user")
	inView[bool](ada, desk, "(document.querySelector('#help').click(), true)")
	ada.see(".card.view-ask", "https://desk.example.com/rules")
	if got := eval[int](ada, "opened.length"); got != 0 {
		t.Errorf("%d pages were opened without a word of the user", got)
	}
	ada.click(".card.view-ask button", "Open the page")
	ada.sees("Page: opened")
	if got, want := eval[string](ada, "opened.join()"), "https://desk.example.com/rules _blank noopener,noreferrer"; got != want {
		t.Errorf("opened %q, want %q", got, want)
	}
	inView[bool](ada, desk, "(document.querySelector('#tell').click(), true)")
	ada.see(".card.view-ask", "How many visitors are there?")
	ada.shoot("view writes")
	ada.click(".card.view-ask button", "Send it")
	ada.see(".said .bubble", "Written by the view of the server desk")
	ada.sees("Message: sent")
}

// TestViewAfterItsStream shows a view again after its window had no views while the stream began again.
func TestViewAfterItsStream(t *testing.T) {
	t.Parallel()
	p := start(t)
	ada := visit(t, p, "Ada")
	ada.ask(`call visitors {"day":"Friday"}`)
	ada.sees("Visitors on Friday")
	ada.click(".view-bar button", "Close")
	ada.await("document.querySelector('.view iframe') === null")
	other := open(t, p, ada) // windows share a stream: it begins again
	other.see("#user", "Ada")
	other.ask("What is 17 plus 25?")
	other.see(".call summary", "add")
	ada.see("#list", "What is 17 plus 25?")
	ada.click(".view-bar button", "Show")
	ada.sees("Visitors on Friday")
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

// bank is a server with a view that pays. The call is told to begun, and ends with over.
func bank(begun chan<- struct{}, over <-chan struct{}) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "bank", Version: "1"}, nil)
	const uri, kind = "ui://bank/till", "text/html;profile=mcp-app"
	s.AddResource(&sdk.Resource{URI: uri, Name: "till", MIMEType: kind}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: kind, Text: till}}}, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "till", Meta: sdk.Meta{"ui": map[string]any{"resourceUri": uri}}}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "open"}}}, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "pay", Meta: sdk.Meta{"ui": map[string]any{"visibility": []string{"app"}}}},
		func(ctx context.Context, _ *sdk.CallToolRequest, _ struct {
			To string `json:"to"`
		}) (*sdk.CallToolResult, any, error) {
			begun <- struct{}{}
			select {
			case <-over:
			case <-ctx.Done():
			}
			return nil, nil, nil
		})
	return s
}

// till has the view of the bank click a button, and waits for what it says then.
func (w *person) till(button, says string) {
	w.t.Helper()
	const mark = "document.querySelector('#till')"
	inView[bool](w, mark+"?.textContent === 'ready'", "(document.querySelector("+quote(button)+").click(), true)")
	w.tillSays(says)
}

func (w *person) tillSays(text string) {
	w.t.Helper()
	inView[bool](w, "document.querySelector('#till')?.textContent === "+quote(text), "true")
}

// freeAddress is an address for a program that is started twice.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestViewInDoubt has the program killed after a call of a view was sent, and before its result came: the view comes back by
// itself, its user is asked what became of the call, and the view that asks again gets that.
func TestViewInDoubt(t *testing.T) {
	t.Parallel()
	begun, over := make(chan struct{}, 4), make(chan struct{})
	p := start(t, append(serving(t, "bank", bank(begun, over)), "-views", freeAddress(t))...) // the page continues with the frames of its policy
	t.Cleanup(func() { close(over) })
	ada := visit(t, p, "Ada")
	ada.expectErrors("net::ERR", "404") // the server is away; then it does not know the view
	ada.ask("call till {}")
	ada.click(".card button", "Allow")
	ada.till("#pay", "paying")
	ada.click(".card.approval button", "Allow")
	received(t, begun)
	p.end(t, syscall.SIGKILL)
	p.again(t)
	ada.see(".card.doubt h3", "Did pay of bank run?")
	ada.see(".card.doubt", "asked by a view of bank")
	ada.shoot("doubt about a view's call")
	ada.till("#pay", "paying") // the view is back, and asks again: it joins the call in doubt
	ada.fill("Its result, if you know it", "paid, receipt 17")
	ada.click(".card button", "It ran")
	ada.tillSays("paid, receipt 17")
	ada.gone(".card")
	if len(begun) != 0 {
		t.Errorf("the server was called %d times more, want once in all", len(begun))
	}
}

// TestViewTellsTheModel has a view tell the model something before the next question.
func TestViewTellsTheModel(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	close(over)
	p := start(t, serving(t, "bank", bank(make(chan struct{}, 1), over))...)
	ada := visit(t, p, "Ada")
	ada.ask("call till {}")
	ada.click(".card button", "Allow")
	ada.till("#seat", "chosen")
	ada.ask("What did I ask before?") // the model tells what was said before the question
	ada.see(".reply .prose", "Written by the view of the server bank")
	ada.see(".reply .prose", "seat 7 is chosen")
	ada.see(".said .bubble", "seat 7 is chosen")
}
