package browsertest_test

import (
	"syscall"
	"testing"
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
	p := start(t)
	ada := visit(t, p, "Ada")
	ada.ask(`call visitors {"day":"Friday"}`)
	ada.sees("Visitors on Friday")
	inView[bool](ada, desk, "(document.querySelector('#help').click(), true)")
	ada.see(".card.view-ask", "https://desk.example.com/rules")
	ada.click(".card.view-ask button", "Refuse")
	ada.sees("denied by the user")
	inView[bool](ada, desk, "(document.querySelector('#tell').click(), true)")
	ada.see(".card.view-ask", "How many visitors are there?")
	ada.shoot("view writes")
	ada.click(".card.view-ask button", "Send it")
	ada.see(".said .bubble", "Written by the view of the server desk")
	ada.sees("Message: sent")
}
