package browsertest_test

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
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

// asking is a server whose tool ask has a form, and what the form is answered with.
func asking(t *testing.T, schema string) (*sdk.Server, <-chan map[string]any) {
	t.Helper()
	got := make(chan map[string]any, 4)
	s := sdk.NewServer(&sdk.Implementation{Name: "desk", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "ask", Description: "Asks."}, func(_ context.Context, req *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		answer, ok := req.Params.InputResponses["form"].(*sdk.ElicitResult)
		if !ok {
			return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"form": &sdk.ElicitParams{
				Mode: "form", Message: "Please answer.", RequestedSchema: json.RawMessage(schema),
			}}}, nil, nil
		}
		got <- answer.Content
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "thank you"}}}, nil, nil
	})
	return s, got
}

// askForm opens the form of asking.
func (w *person) askForm() {
	w.t.Helper()
	w.ask("call ask {}")
	w.click(".card button", "Allow")
	w.see(".card.form", "Please answer.")
}

// TestAllowAsShown allows long arguments, and changes arguments with a number that JavaScript cannot
// hold. The server gets each byte.
func TestAllowAsShown(t *testing.T) {
	t.Parallel()
	got := make(chan string, 4)
	s := sdk.NewServer(&sdk.Implementation{Name: "store", Version: "1"}, nil)
	s.AddTool(&sdk.Tool{Name: "keep", Description: "Keeps.", InputSchema: json.RawMessage(`{"type": "object"}`)},
		func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			got <- string(req.Params.Arguments)
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "kept"}}}, nil
		})
	p := start(t, serving(t, "store", s)...)
	ada := visit(t, p, "Ada")
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
	t.Parallel()
	filled := strings.Repeat("a", 60)
	server, got := asking(t, `{"type": "object", "properties": {
		"code": {"type": "string", "title": "Code", "pattern": "^(?:.*.*.*.*.*.*.*.*.*.*x|a*)$", "default": "`+filled+`"}}}`)
	p := start(t, serving(t, "desk", server)...)
	ada := visit(t, p, "Ada")
	ada.askForm()
	ada.fill("Code", "a"+filled)
	ada.click(".card button", "Send")
	equal(t, received(t, got), map[string]any{"code": "a" + filled})
	ada.see(".reply .prose", "thank you")
}

// TestClearedDefault clears what a server has filled in. The server does not get it.
func TestClearedDefault(t *testing.T) {
	t.Parallel()
	server, got := asking(t, `{"type": "object", "properties": {
		"comment": {"type": "string", "title": "Comment", "default": "I agree"},
		"days":    {"type": "array", "title": "Days", "items": {"type": "string", "enum": ["Mon", "Tue"]}, "default": ["Mon"]},
		"guests":  {"type": "integer", "title": "Guests", "default": 2}}}`)
	p := start(t, serving(t, "desk", server)...)
	ada := visit(t, p, "Ada")
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
	t.Parallel()
	p := start(t)
	ada := visit(t, p, "Ada")
	ada.expectErrors("net::ERR")
	eval[bool](ada, "(window.opened = [], window.open = (...a) => { window.opened.push(a.join(' ')); }, true)")
	ada.ask(`call badge {"page": "https://xn--pple-43d.example/"}`)
	ada.see(".card .warning", "punycode")
	p.end(t, syscall.SIGKILL)
	ada.click(".card button", "Decline")
	ada.await("document.querySelector('.card > .wrong').checkVisibility()")
	ada.click(".card button", "Open the page")
	ada.see(".card .warning .wrong", "Check the host first")
	if n := eval[int](ada, "opened.length"); n != 0 {
		t.Errorf("the page was opened %d times without consent", n)
	}
}
