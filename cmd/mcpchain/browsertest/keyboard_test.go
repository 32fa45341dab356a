package browsertest_test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// press presses keys, one after the other.
func (w *person) press(keys string, modifiers ...chromedp.Modifier) {
	w.t.Helper()
	w.do(chromedp.KeyEvent(keys, chromedp.KeyModifiers(modifiers...)))
}

// walk presses Tab until the focus is at an element whose label begins with a text. Modifiers may
// have it go back.
func (w *person) walk(text string, modifiers ...chromedp.Modifier) {
	w.t.Helper()
	const label = `(() => {
		const n = document.activeElement;
		return (n.labels?.[0] ?? n).innerText.trim();
	})()`
	var seen []string
	for range 50 {
		w.press(kb.Tab, modifiers...)
		at := eval[string](w, label)
		if len(at) >= len(text) && at[:len(text)] == text {
			return
		}
		seen = append(seen, at)
	}
	w.t.Fatalf("Tab does not lead to %q, only to %q", text, seen)
}

// focused waits until the focus is at an element of the selector.
func (w *person) focused(selector string) {
	w.t.Helper()
	w.await("document.activeElement.matches(%s)", selector)
}

// TestKeyboard signs in, asks, allows a call, fills in a form and reads the answer by keys alone.
func TestKeyboard(t *testing.T) {
	server, got := desk(`{"type": "object", "required": ["name"], "properties": {
		"name":  {"type": "string", "title": "Full name"},
		"floor": {"type": "string", "title": "Floor", "enum": ["ground", "first"], "default": "ground"},
		"days":  {"type": "array", "title": "Lunch on", "items": {"type": "string", "enum": ["Mon", "Tue"]}}
	}}`)
	p := start(t, serving(t, "desk", server)...)
	ada := open(t, p, nil)
	ada.focused("#names button")
	ada.press(kb.Enter)
	ada.focused("#question")
	ada.press("call ask {}" + kb.Enter)
	ada.see(".card h3", "May ask of desk run?")
	ada.focused("#question") // nothing takes it away
	ada.walk("Allow", chromedp.ModifierShift)
	ada.walk("Refuse")
	ada.walk("Allow", chromedp.ModifierShift)
	ada.press(kb.Enter)
	ada.see(".card.form h3", "desk asks you")
	ada.focused("#question")
	ada.walk("Send", chromedp.ModifierShift)
	ada.press(kb.Enter)
	ada.see(".field .wrong", "This is required.")
	ada.focused(".field.invalid input")
	ada.press("Ada Lovelace")
	ada.walk("Floor")
	ada.press(kb.ArrowDown)
	ada.walk("Tue")
	ada.press(" ")
	ada.walk("Send")
	ada.press(kb.Enter)
	ada.see(".reply .prose", "thank you")
	ada.focused("#question")
	equal(t, received(t, got), map[string]any{"name": "Ada Lovelace", "floor": "first", "days": []any{"Tue"}})
	ada.walk("ask", chromedp.ModifierShift) // the call in the log
	ada.press(kb.Enter)
	ada.see(".call pre", "thank you")
}

// at is what the focus is in: the heading of its card, or "question" for the input.
func (w *person) at(card string) {
	w.t.Helper()
	if card == "question" {
		w.focused("#question")
		return
	}
	w.await("document.activeElement.matches('.card h3') && document.activeElement.parentElement.innerText.includes(%s)", card)
}

// TestKeyboardSideBySide answers two approvals and two forms that are open at the same time by keys alone. After
// each, the focus is at the next question, and after the last one in the input.
func TestKeyboardSideBySide(t *testing.T) {
	ada := enter(t)
	ada.focused("#question")
	ada.press(twoTables + kb.Enter)
	ada.await("document.querySelectorAll('.card.approval').length === 2")
	ada.at("question")
	ada.walk("Allow", chromedp.ModifierShift) // the last question is next to the input
	ada.press(kb.Enter)
	ada.at("May book_table of demo run?")
	ada.see(".card.form", "Mario")
	ada.await("document.querySelector('.card.approval').innerText.includes('Luigi')")
	ada.at("May book_table of demo run?") // a question that comes takes nothing away
	ada.walk("Refuse")
	ada.walk("Allow", chromedp.ModifierShift) // the button: what is allowed has that label, too
	ada.press(kb.Enter)
	ada.at("Mario")
	ada.see(".card.form", "Luigi")
	for _, next := range []string{"Luigi", "question"} {
		ada.walk("Date")
		ada.press("2026-12-24" + kb.Tab + kb.Tab + "19:30")
		ada.focused("input")
		ada.walk("Send")
		ada.press(kb.Enter)
		ada.at(next)
	}
	ada.see(".reply .prose", "Booked: a table for 2 inside at Luigi")
	ada.see(".reply .prose", "Booked: a table for 3 inside at Mario")
	ada.at("question")

	ada.press(twoTables + kb.Enter)
	ada.await("document.querySelectorAll('.card.approval').length === 2")
	ada.reload() // both questions are there again
	ada.await("document.querySelectorAll('.card.approval').length === 2")
	ada.focused("#question")
	ada.walk("Allow", chromedp.ModifierShift)
	ada.walk("Refuse")
	ada.press(kb.Enter)
	ada.at("May book_table of demo run?")
	ada.walk("Refuse")
	ada.press(kb.Enter)
	ada.at("question")
	ada.gone(".card")
}
