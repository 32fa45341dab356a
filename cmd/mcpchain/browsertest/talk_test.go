package browsertest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/check"
)

const twoTables = "Book a table for 2 at Luigi. Book a table for 3 at Mario."

// TestConversation asks, allows a call, fills in a form, and reads the answer.
func TestConversation(t *testing.T) {
	t.Parallel()
	ada := open(t, start(t), nil)
	ada.see("h1", "Who are you?")
	ada.accessible("sign-in")
	ada.click("#names button", "Ada", "#user", "Ada")
	ada.accessible("nothing said")
	ada.ask("What is 17 plus 25? And book a table for 4 at Luigi.", ".call.done summary", "add")
	ada.see(".card h3", "May book_table of demo run?")
	ada.accessible("approval")
	ada.click(".card button", "Allow", ".card h3", "demo asks you")
	ada.book()
	ada.see(".reply .prose", "Booked: a table for 4 inside at Luigi on 2026-12-24 at 19:30")
	ada.gone("#asks")
	ada.see("#totals", "tokens")
	ada.click("#window summary", "The model read", "#window th", "instructions")
	ada.await("[...document.querySelectorAll('#window tr')].some(row => row.innerText.startsWith('tools of demo') && parseInt(row.cells[1].innerText) > 0)")
	ada.accessible("window")
	ada.ask("Show me a picture")
	ada.await("[...document.querySelectorAll('.media img')].some(i => i.complete && i.naturalWidth === 96)")
	ada.click(".call summary", "add", ".call pre", "17 + 25 = 42")
	ada.accessible("answer")
	ada.prefer("dark")
	ada.narrow()
	ada.accessible("narrow")
	ada.click("#menu", "", "#list a", "What is 17 plus 25?")
	ada.accessible("narrow with the list")
}

func (w *person) book() {
	w.t.Helper()
	w.fill("Date", "2026-12-24", "Time", "19:30")
	w.click(".card button", "Send")
}

func (w *person) reload() {
	w.t.Helper()
	w.do(chromedp.Reload())
	w.see("#user", "")
}

// TestTwoUsers keeps two people apart, who use one toolset: servers see who asks.
func TestTwoUsers(t *testing.T) {
	ada := enter(t)
	grace := ada.beside("Grace")
	ada.ask("call whoami {}")
	grace.ask("call whoami {}")
	ada.see(".reply .prose", "The server sees the user Ada.")
	grace.see(".reply .prose", "The server sees the user Grace.")
	check.Equal(t, "conversations that Grace sees", eval[int](grace, "document.querySelectorAll('#list li').length"), 1)
	eval[bool](grace, "(location.hash = %s, true)", eval[string](ada, "location.hash"))
	grace.see("#offline", "There is no such conversation.")
	text := eval[string](grace, "document.querySelector('main').innerText")
	check.That(t, len(text) <= 200 && eval[int](grace, "document.querySelectorAll('#log > *').length") == 0, "Grace reads Ada's conversation: %s", text)
	eval[bool](grace, "(location.hash = %s, true)", "#%") // it cannot be decoded
	grace.reload()
	grace.see("#offline", "There is no such conversation.")
}

// TestWindows has what is done in one window of a person appear in the other.
func TestWindows(t *testing.T) {
	ada := enter(t)
	ada.ask("Book a table for 4 at Luigi", ".card.approval", "Luigi")
	second := ada.another()
	second.click("#list a", "Book a table", ".card.approval", "Luigi")
	second.click(".card button", "Refuse")
	ada.gone(".card")
	ada.see(".note", "You refused the call of book_table")
	ada.see(".tool", "book_table")
	second.click("#list button", "×", "#list button", "Delete?")
	second.click("#list button", "Delete?", "#title", "New conversation")
	ada.await("document.querySelectorAll('#list li').length === 0")
}

// TestRestart has the program killed while a question is open, and while another is answered.
func TestRestart(t *testing.T) {
	ada := enter(t)
	ada.expectErrors("net::ERR") // the server is away
	ada.ask("Book a table for 4 at Luigi", ".card.approval", "Luigi")
	ada.program.end(t, syscall.SIGKILL)
	ada.see("#offline", "The connection is lost")
	ada.accessible("offline")
	ada.program.again(t)
	ada.gone("#offline")
	ada.await("document.querySelectorAll('.card.approval').length === 1")
	ada.click(".card button", "Allow", ".card.form", "Luigi")
	ada.program.end(t, syscall.SIGTERM)
	ada.see("#offline", "The connection is lost")
	ada.program.again(t)
	ada.reload() // who she is has outlived the process, too
	ada.see(".card.form", "Luigi")
	ada.book()
	ada.see(".reply .prose", "Booked: a table for 4 inside at Luigi")
	check.Equal(t, "questions", eval[int](ada, "document.querySelectorAll('.said').length"), 1)
}

// counting is a server that counts to 900 until the test is over, and to less at once.
func counting() *server {
	s := newServer("counter")
	return s.tool("count", nil, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		var goal struct{ To int }
		if err := json.Unmarshal(req.Params.Arguments, &goal); err != nil || goal.To != 900 {
			return said(&sdk.TextContent{Text: fmt.Sprintf("counted to %d", goal.To)}), err
		}
		err := req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: 3, Total: 900})
		s.hold(ctx)
		return said(), err
	})
}

// TestStopAndEdit stops a call in the middle, and asks again in another conversation.
func TestStopAndEdit(t *testing.T) {
	ada := enter(t, serving(t, "counter", counting())...)
	ada.ask("Count to 900")
	ada.click(".card button", "Allow")
	ada.await("document.querySelector('.progress progress')?.value > 2")
	ada.accessible("progress")
	ada.click("#stop", "Stop", ".note", "Stopped.")
	ada.see("#send", "Send")
	ada.click(".said button", "Edit")
	ada.accessible("edit")
	eval[bool](ada, "(document.querySelector('.said textarea').value = 'Count to 3', true)")
	ada.click(".said button", "Send again")
	ada.click(".card button", "Allow", ".reply .prose", "counted to 3")
	ada.await("document.querySelectorAll('#list li').length === 2")
	ada.ask("What did I ask before?", ".reply .prose", "Before that you asked: Count to 3")
}

// TestRate has a person ask more often than the page takes.
func TestRate(t *testing.T) {
	ada := enter(t, "-rate", "1")
	ada.expectErrors("404", "429")
	const drain = `(async () => {
		for (let i = 0; i < 60; i++) {
			const r = await fetch("/api/conversations/none/stop", { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" });
			if (r.status === 429) return r.headers.get("Retry-After");
		}
		return "";
	})()`
	check.Require(t, eval[string](ada, drain) != "", "no request was refused")
	ada.ask("What is 1 plus 1?", "#trouble", "too many requests; try again in")
	ada.accessible("refused")
	check.Equal(t, "the question", eval[string](ada, "document.querySelector('#question').value"), "What is 1 plus 1?")
}

var update = flag.Bool("update", false, "take the picture of the page again")

// TestPicture plays the scene of the picture in the guide: a tool was called, a person is asked for
// a call and for a form. With -update it takes the picture; it also looks at the picture that is there.
func TestPicture(t *testing.T) {
	ada := enter(t)
	ada.do(chromedp.EmulateViewport(1100, 760))
	ada.ask("What is 17 plus 25? And book a table for 4 at Luigi.", ".call.done summary", "add")
	ada.click(".card button", "Allow", ".card h3", "demo asks you")
	ada.await("document.activeElement.blur() === undefined")
	path := filepath.Join("..", "..", "..", "docs", "page.png")
	if *update {
		check.Must(t, os.WriteFile(path, value(ada, chromedp.CaptureScreenshot()), 0o644))
	}
	data := check.Value(os.ReadFile(path))(t)
	picture := check.Value(png.DecodeConfig(bytes.NewReader(data)))(t)
	check.That(t, picture.Width == 1100 && picture.Height == 760 && len(data) <= 200<<10,
		"got a picture of %d by %d in %d bytes, want 1100 by 760 in 200 KiB at most", picture.Width, picture.Height, len(data))
}

// TestManyWindows has a person open more windows than a browser opens connections, and close the window of the reader.
func TestManyWindows(t *testing.T) {
	first := enter(t)
	windows := []*person{first}
	for range 7 {
		windows = append(windows, first.another())
	}
	for i, w := range windows[1:] {
		w.ask(fmt.Sprintf("What is %d plus 100?", i), ".reply .prose", fmt.Sprintf("%d", i+100))
	}
	for _, w := range windows {
		w.await("document.querySelectorAll('#list li').length === 7")
	}
	first.do(chromedp.Navigate("about:blank"))
	last := windows[7]
	last.ask("What is 40 plus 2?", ".reply .prose", "42")
	check.Equal(t, "questions: each once", eval[int](last, "document.querySelectorAll('.said').length"), 2)
}

// TestOpenOtherDuringRestart opens another conversation while the server is away. Nothing of the first one appears in it.
func TestOpenOtherDuringRestart(t *testing.T) {
	ada := enter(t)
	ada.ask("What is 1 plus 1?", ".reply .prose", "2")
	ada.click("#new", "New")
	ada.await("document.querySelectorAll('#log > *').length === 0")
	ada.ask("Book a table for 4 at Luigi", ".card.approval", "Luigi")
	ada.expectErrors("net::ERR")
	ada.program.end(t, syscall.SIGKILL)
	ada.see("#offline", "The connection is lost")
	ada.click("#list a", "What is 1 plus 1?")
	ada.gone(".card")
	ada.program.again(t)
	ada.see(".reply .prose", "2")
	ada.gone("#offline")
	ada.await("document.querySelectorAll('.said').length === 1")
	ada.gone(".card")
}

// TestUserChanges has another person sign in, in another window of the browser.
func TestUserChanges(t *testing.T) {
	ada := enter(t)
	ada.ask("What is 1 plus 1?", ".reply .prose", "2")
	second := ada.another()
	for _, window := range []*person{ada, second} { // the sign-out ends the stream, which may be opened again before its window knows
		window.expectErrors("401")
	}
	second.click("#sign-out", "Sign out")
	ada.see("h1", "Who are you?")
	check.Equal(t, "what the window still has", eval[string](ada,
		"document.querySelector('#log').textContent + document.querySelector('#list').textContent"), "")
	second.click("#names button", "Grace", "#user", "Grace")
	ada.see("#user", "Grace")
	ada.see("#offline", "There is no such conversation.")
	ada.await("document.querySelectorAll('#list li, #log > *').length === 0")
}
