package browsertest_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestCallBesideAForm allows a call while the form of another one of the same server is open: it runs at once.
func TestCallBesideAForm(t *testing.T) {
	s := newServer("desk").tool("write", nil, saying("it is written"))
	s.tool("form", nil, asking("Your name?", `{"type": "object", "properties": {"name": {"type": "string"}}}`, func(map[string]any) *sdk.CallToolResult {
		return said(&sdk.TextContent{Text: "the form is here"})
	}))
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost {
			http.NotFound(w, r)
			return
		}
		delta := `{"tool_calls":[{"index":0,"id":"1","function":{"name":"form","arguments":"{}"}},{"index":1,"id":"2","function":{"name":"write","arguments":"{}"}}]}`
		if strings.Contains(string(body), `"tool_call_id"`) {
			delta = `{"content":"Both are done."}`
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", delta)
	}))
	t.Cleanup(model.Close)
	ada := enter(t, append(serving(t, "desk", s), "-base-url", model.URL+"/v1", "-model", "m")...)
	ada.ask("Fill in the form, and write.")
	ada.see(".card h3", "May form of desk run?")
	ada.click(".card button", "Allow") // of the form's call, which is first
	ada.see(".card.form", "Your name?")
	ada.click(".card:not(.form) button", "Allow")
	ada.await("[...document.querySelectorAll('.tool')].some(n => n.innerText.includes('write') && n.innerText.includes('done'))")
	ada.see(".card.form", "Your name?")
	ada.shoot("a call beside a form")
	ada.click(".card.form button", "Send")
	ada.see(".reply .prose", "Both are done.")
}
