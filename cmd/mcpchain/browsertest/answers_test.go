package browsertest_test

import (
	"context"
	"net/http"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/check"
)

func received[T any](t *testing.T, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		t.Fatalf("waited in vain for a %T", v)
	}
	return v
}

func equal(t *testing.T, got, want any) {
	t.Helper()
	check.That(t, reflect.DeepEqual(got, want), "got %v, want %v", got, want)
}

// desk is a server whose tool ask has a form, and what the form is answered with.
func desk(schema string) (*server, <-chan map[string]any) {
	got := make(chan map[string]any, 4)
	return newServer("desk").tool("ask", nil, asking("Please answer.", schema, func(content map[string]any) *sdk.CallToolResult {
		got <- content
		return said(&sdk.TextContent{Text: "thank you"})
	})), got
}

func (w *person) askForm() {
	w.t.Helper()
	w.allow("call ask {}", ".card.form", "Please answer.")
}

// TestAllowAsShown allows long arguments, and changes arguments with a number that JavaScript cannot
// hold. The server gets each byte.
func TestAllowAsShown(t *testing.T) {
	got := make(chan string, 4)
	s := newServer("store").tool("keep", nil, func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		got <- string(req.Params.Arguments)
		return said(&sdk.TextContent{Text: "kept"}), nil
	})
	ada := enter(t, serving(t, "store", s)...)
	long := strings.Repeat("a ", 10_000) + "end"
	eval[bool](ada, "(document.querySelector('#question').value = %s, true)", `call keep {"id": 9007199254740993, "text": "`+long+`"}`)
	ada.click("#send", "Send", ".card pre", `end"`)
	ada.click(".card button", "Allow")
	args := received(t, got)
	check.That(t, strings.Contains(args, "9007199254740993") && strings.Contains(args, long), "the server got %d bytes, %.60s, want all of them", len(args), args)
	ada.see("#send", "Send")
	ada.ask(`call keep {"id": 9007199254740993, "text": "old"}`)
	ada.click(".card summary", "Change what is sent")
	eval[bool](ada, "(n => (n.value = n.value.replace('old', 'new'), true))(document.querySelector('.card textarea'))")
	ada.click(".card button", "Allow")
	args = received(t, got)
	check.That(t, strings.Contains(args, "9007199254740993") && strings.Contains(args, "new"), "the server got %s, want the number as it was, and the text that is new", args)
}

// TestHostilePattern fills in a form whose pattern never ends in JavaScript.
func TestHostilePattern(t *testing.T) {
	filled := strings.Repeat("a", 60)
	server, got := desk(`{"type": "object", "properties": {
		"code": {"type": "string", "title": "Code", "pattern": "^(?:.*.*.*.*.*.*.*.*.*.*x|a*)$", "default": "` + filled + `"}}}`)
	ada := enter(t, serving(t, "desk", server)...)
	ada.askForm()
	ada.fill("Code", "a"+filled)
	ada.click(".card button", "Send")
	equal(t, received(t, got), map[string]any{"code": "a" + filled})
	ada.see(".reply .prose", "thank you")
}

// TestClearedDefault clears what a server has filled in. The server does not get it.
func TestClearedDefault(t *testing.T) {
	server, got := desk(`{"type": "object", "properties": {
		"comment": {"type": "string", "title": "Comment", "default": "I agree"},
		"days":    {"type": "array", "title": "Days", "items": {"type": "string", "enum": ["Mon", "Tue"]}, "default": ["Mon"]},
		"guests":  {"type": "integer", "title": "Guests", "default": 2}}}`)
	ada := enter(t, serving(t, "desk", server)...)
	ada.askForm()
	ada.fill("Comment", "", "Days", "", "Guests", "")
	ada.click(".card button", "Send", ".field .wrong", "This is not a number.") // no number says "none"
	ada.fill("Guests", "0")
	ada.click(".card button", "Send")
	equal(t, received(t, got), map[string]any{"comment": "", "days": []any{}, "guests": 0.0})
}

// TestDeclineFails has the server be away while a person declines to open a doubtful page. To open it still takes the consent.
func TestDeclineFails(t *testing.T) {
	ada := enter(t)
	ada.expectErrors("net::ERR")
	eval[bool](ada, "(window.opened = [], window.open = (...a) => { window.opened.push(a.join(' ')); }, true)")
	ada.ask(`call badge {"page": "https://xn--pple-43d.example/"}`, ".card .warning", "punycode")
	ada.program.end(t, syscall.SIGKILL)
	ada.click(".card button", "Decline")
	ada.await("document.querySelector('.card > .wrong').checkVisibility()")
	ada.click(".card button", "Open the page", ".card .warning .wrong", "Check the host first")
	check.Equal(t, "pages that were opened without consent", eval[int](ada, "opened.length"), 0)
}

// TestCallBesideAForm allows a call while the form of another one of the same server is open: it runs at once.
func TestCallBesideAForm(t *testing.T) {
	s := newServer("desk").tool("write", nil, saying("it is written"))
	s.tool("form", nil, asking("Your name?", `{"type": "object", "properties": {"name": {"type": "string"}}}`, func(map[string]any) *sdk.CallToolResult {
		return said(&sdk.TextContent{Text: "the form is here"})
	}))
	model := replying(t, func(_ http.ResponseWriter, body string, delta func(string)) bool {
		reply := `{"tool_calls":[{"index":0,"id":"1","function":{"name":"form","arguments":"{}"}},{"index":1,"id":"2","function":{"name":"write","arguments":"{}"}}]}`
		if strings.Contains(body, `"tool_call_id"`) {
			reply = `{"content":"Both are done."}`
		}
		delta(reply)
		return true
	})
	ada := enter(t, append(serving(t, "desk", s), model...)...)
	ada.ask("Fill in the form, and write.", ".card h3", "May form of desk run?")
	ada.click(".card button", "Allow") // of the form's call, which is first
	ada.see(".card.form", "Your name?")
	ada.click(".card:not(.form) button", "Allow")
	ada.await("[...document.querySelectorAll('.tool')].some(n => n.innerText.includes('write') && n.innerText.includes('done'))")
	ada.see(".card.form", "Your name?")
	ada.shoot("a call beside a form")
	ada.click(".card.form button", "Send", ".reply .prose", "Both are done.")
}

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
