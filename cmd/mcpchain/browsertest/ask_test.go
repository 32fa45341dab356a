package browsertest_test

import (
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// TestForm fills in each kind of field, wrong ones first.
func TestForm(t *testing.T) {
	ada := enter(t)
	ada.allow("call register {}", ".card.form", "Who comes to visit?")
	ada.shoot("form wide")
	ada.click(".card button", "Send", ".field .wrong", "This is required.")
	if label := eval[string](ada, "document.activeElement.labels[0].innerText"); !strings.HasPrefix(label, "Full name") {
		t.Errorf("the focus is at %q, want the first wrong field", label)
	}
	ada.accessible("form with mistakes")
	for _, f := range []struct{ label, wrong, says, right string }{
		{"Full name", "A", "Write at least 2 characters.", "Łucja 🦊"},
		{"E-mail", "łucja", "This is not an e-mail address.", "lucja@example.com"},
		{"Home page", "nowhere", "This is not an address such as https://example.com.", "https://example.com/a?b=c"},
		{"Day", "24.12.2026", "This is not a date such as 2026-12-24", "2026-12-24"},
		{"Day", "2026-02-30", "This is not a date such as 2026-12-24", "2026-12-24"},
		{"Arrival", "2026-12-24 25:00", "This is not a date and time such as 2026-12-24 19:30.", "2026-12-24 09:30"},
		{"Visitors", "0", "This has to be at least 1.", "3"},
		{"Visitors", "1.5", "This is not a whole number.", "3"},
		{"Height", "high", "This is not a number.", "2.05"},
		{"Height", "9", "This has to be at most 4.", "2.05"},
		{"Lunch on", "Mon,Tue,Wed", "Choose at most 2.", "Mon,Wed"},
	} {
		ada.fill(f.label, f.wrong)
		ada.click(".card button", "Send", ".field .wrong", f.says)
		ada.fill(f.label, f.right)
	}
	ada.shoot("form with mistakes")
	ada.fill("Number plate", "B-1234")
	eval[bool](ada, `([...document.querySelectorAll(".calendar")].forEach((c, i) => { // as the calendar of the browser does
		c.value = ["2026-12-25", "2026-12-25T10:30"][i];
		c.dispatchEvent(new Event("change"));
	}), true)`)
	ada.fill("Needs a parking space", "Yes", "Has signed", "No", "Floor", "second", "Badge", "Press")
	ada.click(".card button", "Send")
	ada.gone(".card")
	ada.click(".call summary", "register")
	for _, want := range []string{
		`name: "Łucja 🦊"`, `email: "lucja@example.com"`, `site: "https://example.com/a?b=c"`, `plate: "B-1234"`, `day: "2026-12-25"`,
		`arrival: "2026-12-25T10:30:00.000Z"`, `visitors: 3`, `height: 2.05`, `parking: true`, `nda: false`, `floor: "second"`, `badge: "p"`, `days: ["Mon","Wed"]`,
	} {
		ada.see(".call pre", want)
	}
}

// TestFormIsCheckedAgain sends a form past the checks of the page.
func TestFormIsCheckedAgain(t *testing.T) {
	ada := enter(t)
	ada.allow("call register {}", ".card.form", "Who comes to visit?")
	ada.await("!document.querySelector('.card.form').textContent.includes('[A-Z]')") // the description stands in for it
	ada.expectErrors("422")
	ada.fill("Full name", "Łucja", "E-mail", "a..b@example.com") // the page's own check lets it pass
	ada.fill("Day", "2026-12-24", "Has signed", "No", "Lunch on", "Mon")
	ada.click(".card button", "Send", ".field.invalid .wrong", "email")
	ada.fill("E-mail", "a@example.com", "Number plate", "b-1") // a pattern is for the server of the page alone
	ada.click(".card button", "Send", ".field.invalid .wrong", "[A-Z]{1,3}")
	ada.fill("Number plate", "B-1")
	ada.click(".card button", "Send", ".note", "You accepted the form of register.")
}

// TestVisit consents to open a page, whose host is set apart.
func TestVisit(t *testing.T) {
	ada := enter(t)
	eval[bool](ada, "(window.opened = [], window.open = (...a) => { window.opened.push(a.join(' ')); }, true)")
	ada.ask("call badge {}", ".card .host.big", "desk.example.com")
	ada.see(".card .address", "https://desk.example.com/badge?visit=17")
	ada.accessible("page to visit")
	ada.click(".card button", "Open the page", ".reply .prose", "The badge is ordered")
	got, want := eval[string](ada, "opened.join()"), "https://desk.example.com/badge?visit=17 _blank noopener,noreferrer"
	check.That(t, got == want, "opened %q, want %q", got, want)
	ada.see(".note a[href='https://desk.example.com/badge?visit=17'][rel~=noopener]", "Open desk.example.com")
	for _, tt := range []struct{ address, host, warning string }{
		{"https://xn--pple-43d.example/", "xn--pple-43d.example", "punycode"},
		{"https://\u0430pple.example/", "\u0430pple.example", "mixes scripts (Cyrillic, Latin)"},
		{"http://192.0.2.1/x", "192.0.2.1", "IP address"},
	} {
		ada.ask(`call badge {"page": "`+tt.address+`"}`, ".card .host.big", tt.host)
		ada.see(".card .warning", tt.warning)
		ada.click(".card button", "Open the page", ".card .warning .wrong", "Check the host first")
		ada.shoot("url " + tt.host)
		ada.accessible("page to doubt")
		ada.click(".card button", "Decline")
		ada.gone(".card")
	}
	for _, address := range []string{"javascript:alert(1)", "https://bank.example@evil.example/"} { // the client refuses them
		ada.click("#new", "New")
		ada.ask(`call badge {"page": "`+address+`"}`, ".call.error summary", "badge")
	}
	ada.click("#new", "New")
	ada.ask(`call badge {"page": "https://\u0430pple.example/"}`)
	ada.click(".card label", "I have checked the host")
	ada.click(".card button", "Open the page", ".reply .prose", "The badge is ordered")
}

// TestSampling reviews what a server asks the model.
func TestSampling(t *testing.T) {
	ada := enter(t)
	ada.ask("Summarize: Version 1.5 is out. It is fast.")
	ada.see(".card.sampling", "Summarize the text of the user in one short sentence.", "Version 1.5 is out. It is fast.")
	ada.click(".card summary", "The whole request", ".card pre", `"maxTokens": 200`)
	ada.accessible("sampling")
	ada.click(".card button", "Allow", ".reply .prose", "Summary: Version 1.5 is out.")
	ada.ask("Summarize: Something else.")
	ada.click(".card button", "Refuse", ".note", "You refused the request of demo to the model.")
}

// TestHeldSampling reviews what a server up to revision 2025-11-25 asks the model while its call
// waits: after a reload, and from a second window.
func TestHeldSampling(t *testing.T) {
	binary := check.Value(built())(t)
	ada := enter(t, configured(t, "demo", map[string]any{"command": binary, "args": []string{"demo"}, "revision": "2025-11-25"})...)
	ada.allow(`call summarize {"text": "Version 1.5 is out. It is fast."}`)
	ada.see(".card.sampling", "Version 1.5 is out. It is fast.")
	ada.reload()
	ada.see(".card.sampling", "Version 1.5 is out. It is fast.")
	other := ada.another()
	other.click("#list a", "call summarize", ".card.sampling", "Version 1.5 is out. It is fast.")
	other.click(".card.sampling button", "Allow")
	for _, w := range []*person{ada, other} {
		w.gone(".card")
		w.see(".reply .prose", "Summary: Version 1.5 is out.")
	}
	ada.allow(`call summarize {"text": "Something else."}`)
	ada.click(".card.sampling button", "Refuse", ".note", "You refused the request of demo to the model.")
}
