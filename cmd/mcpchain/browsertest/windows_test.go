package browsertest_test

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/mcpchain/mcpchain/internal/check"
)

// TestManyWindows has a person open more windows than a browser opens connections, and close the
// window of the reader.
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

// TestOpenOtherDuringRestart opens another conversation while the server is away. Nothing of the
// first one appears in it.
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
	check.Equal(t, "what the window still has", eval[string](ada, "document.querySelector('#log').textContent + document.querySelector('#list').textContent"), "")
	second.click("#names button", "Grace", "#user", "Grace")
	ada.see("#user", "Grace")
	ada.see("#offline", "There is no such conversation.")
	ada.await("document.querySelectorAll('#list li, #log > *').length === 0")
}
