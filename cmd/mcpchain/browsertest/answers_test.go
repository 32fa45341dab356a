package browsertest_test

import (
	"context"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/check"
)

// received is what comes from a channel.
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
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// desk is a server whose tool ask has a form, and what the form is answered with.
func desk(schema string) (*server, <-chan map[string]any) {
	got := make(chan map[string]any, 4)
	return newServer("desk").tool("ask", nil, asking("Please answer.", schema, func(content map[string]any) *sdk.CallToolResult {
		got <- content
		return said(&sdk.TextContent{Text: "thank you"})
	})), got
}

// askForm opens the form of desk.
func (w *person) askForm() {
	w.t.Helper()
	w.allow("call ask {}")
	w.see(".card.form", "Please answer.")
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
	ada.click("#send", "Send")
	ada.see(".card pre", `end"`)
	ada.click(".card button", "Allow")
	if args := received(t, got); !strings.Contains(args, "9007199254740993") || !strings.Contains(args, long) {
		t.Errorf("the server got %d bytes, %.60s, want all of them", len(args), args)
	}
	ada.see("#send", "Send")
	ada.ask(`call keep {"id": 9007199254740993, "text": "old"}`)
	ada.click(".card summary", "Change what is sent")
	eval[bool](ada, "(n => (n.value = n.value.replace('old', 'new'), true))(document.querySelector('.card textarea'))")
	ada.click(".card button", "Allow")
	if args := received(t, got); !strings.Contains(args, "9007199254740993") || !strings.Contains(args, "new") {
		t.Errorf("the server got %s, want the number as it was, and the text that is new", args)
	}
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
	ada.fill("Comment", "")
	ada.fill("Days", "")
	ada.fill("Guests", "")
	ada.click(".card button", "Send")
	ada.see(".field .wrong", "This is not a number.") // no number says "none"
	ada.fill("Guests", "0")
	ada.click(".card button", "Send")
	equal(t, received(t, got), map[string]any{"comment": "", "days": []any{}, "guests": 0.0})
}

// TestDeclineFails has the server be away while a person declines to open a doubtful page. To open it
// still takes the consent.
func TestDeclineFails(t *testing.T) {
	ada := enter(t)
	ada.expectErrors("net::ERR")
	eval[bool](ada, "(window.opened = [], window.open = (...a) => { window.opened.push(a.join(' ')); }, true)")
	ada.ask(`call badge {"page": "https://xn--pple-43d.example/"}`)
	ada.see(".card .warning", "punycode")
	ada.program.end(t, syscall.SIGKILL)
	ada.click(".card button", "Decline")
	ada.await("document.querySelector('.card > .wrong').checkVisibility()")
	ada.click(".card button", "Open the page")
	ada.see(".card .warning .wrong", "Check the host first")
	check.Equal(t, "pages that were opened without consent", eval[int](ada, "opened.length"), 0)
}
