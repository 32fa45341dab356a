package browsertest_test

import (
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// TestRules decides for all tools of a server, which takes a second word. What runs by it says so,
// and the person sees the decision and takes it back.
func TestRules(t *testing.T) {
	s := newServer("bank").tool("pay", nil, saying("pay is done")).tool("look", nil, saying("look is done"))
	ada := enter(t, serving(t, "bank", s)...)
	grace := ada.beside("Grace")
	ada.ask("call pay {}", ".card h3", "May pay of bank run?")
	ada.fill("Allow", "all tools of this server")
	ada.click(".card button", "Allow", ".card .wrong", "Every tool of this server, also one that it adds later")
	ada.accessible("a decision for a server")
	ada.click(".card button", "Allow", ".reply .prose", "pay is done")
	ada.see("#rules", "Allowed: all tools of bank")
	check.That(t, !eval[bool](ada, "document.querySelector('.tool').innerText.includes('without a question')"),
		"the call that was asked about says that it was not")
	ada.click("#new", "New")
	ada.ask("call look {}", ".reply .prose", "look is done")
	ada.see(".tool", "without a question")
	ada.accessible("rules")
	check.That(t, !eval[bool](grace, "document.querySelector('#rules').checkVisibility()"), "Grace sees what Ada decided")
	ada.click("#rules button", "Take back")
	ada.gone("#rules")
	ada.ask("call look {}", ".card h3", "May look of bank run?")
}
