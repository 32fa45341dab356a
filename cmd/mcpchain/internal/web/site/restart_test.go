package site_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/site"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// TestLeftAlone ends the process in the middle of a model's reply. The next one continues without being asked.
func TestLeftAlone(t *testing.T) {
	store := inFile(t)
	first := serve(t, site.Limits{}, store, agenttest.Play(hang))
	id := first.begin(t, "Ada", "hello")
	first.watch(t, "Ada", id, "").works(t)
	first.stop()
	second := serve(t, site.Limits{}, store, agenttest.Play(agenttest.Say("Here I am.")))
	events := second.watch(t, "Ada", id, "").until(t, "ended")
	check.Equal(t, "the question, the reply and the end", kinds(events), "said reply ended")
}

// TestRequestAtTheEnd begins a conversation while the program ends: the page is told that it did not begin, and keeps the question.
func TestRequestAtTheEnd(t *testing.T) {
	w := serve(t, site.Limits{}, record.NewMemory(), agenttest.PlayRepeating(agenttest.Say("hello")))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequestWithContext(ctx, "POST", w.URL+"/api/conversations", strings.NewReader(`{"text":"x"}`))
	r.Header.Set("X-Test-User", "Ada")
	r.Header.Set("Content-Type", "application/json")
	answer := httptest.NewRecorder()
	w.Config.Handler.ServeHTTP(answer, r)
	check.Equal(t, answer.Body.String(), answer.Code, http.StatusServiceUnavailable)
}

func hang(ctx context.Context, _ agenttest.Turn) (*model.Response, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// TestStop ends a turn whose model hangs. The conversation takes another question then, and the first question can be
// asked again in another conversation.
func TestStop(t *testing.T) {
	asked := make(chan struct{})
	asks := func(ctx context.Context, p agenttest.Turn) (*model.Response, error) {
		close(asked)
		return hang(ctx, p)
	}
	model := agenttest.Play(asks, agenttest.Say("Yes?"), agenttest.Say("Anew."))
	w := serve(t, site.Limits{}, record.NewMemory(), model)
	id := w.begin(t, "Ada", "hello")
	window := w.watch(t, "Ada", id, "")
	window.works(t)
	<-asked // a stop before would leave the first step to the next question
	check.Equal(t, "a question meanwhile", w.status(t, "Ada", "POST", "/api/conversations/"+id+"/messages", `{"text":"too early"}`), http.StatusConflict)
	w.post(t, "Ada", "/api/conversations/"+id+"/stop", struct{}{})
	check.Equal(t, "status", window.last(t, "ended").member(t, "status"), "cancelled")
	w.post(t, "Ada", "/api/conversations/"+id+"/messages", map[string]string{"text": "And now?"})
	events := window.until(t, "ended")
	check.Equal(t, "a question, a reply and the end", kinds(events), "said reply ended")
	other := w.post(t, "Ada", "/api/conversations/"+id+"/edits", map[string]any{"seq": 1, "index": 0, "text": "hello again"})
	events = w.watch(t, "Ada", other, "").until(t, "ended")
	check.That(t, kinds(events) == "said reply ended" && other != id, "got %q in %s, want a question, a reply and the end in another conversation", kinds(events), other)
	check.Equal(t, "messages to the model: the question alone", len(model.Turns()[2].Request.Messages), 1)
	check.Equal(t, "DELETE", w.status(t, "Ada", "DELETE", "/api/conversations/"+id, ""), http.StatusAccepted)
	got := w.watch(t, "Ada", id, "").next(t)
	check.That(t, got.Type == "refused" && got.member(t, "status") == "404", "a deleted conversation: got %s %s, want a refusal with 404", got.Type, got.Data)
}

// asking is a server whose tool shows a form, in an open call of the legacy era.
func asking(t *testing.T) adapter.Source {
	t.Helper()
	server := agenttest.NewServer(agenttest.Tool{Name: "book", ReadOnly: true, Run: func(ctx context.Context, c *agenttest.Call) (string, error) {
		answer, err := c.Elicit(ctx, "When?", `{"type":"object","properties":{
			"day":{"type":"string","format":"date"},"people":{"type":"integer","minimum":1,"maximum":12}},"required":["day","people"]}`)
		if err != nil {
			return "", err
		}
		content, err := json.Marshal(answer.Content)
		return answer.Action + " " + string(content), err
	}})
	tools, err := adapter.Open(t.Context(), []adapter.Server{{Name: "desk", Transport: server, Policy: adapter.Policy{Trust: adapter.TrustHints}}},
		nil)
	check.Must(t, err)
	t.Cleanup(func() { _ = tools.Close() })
	return tools
}

// TestFormIsChecked refuses what does not fit a form, each field with its reason.
func TestFormIsChecked(t *testing.T) {
	model := agenttest.Play(agenttest.CallTools("book", `{}`), agenttest.Say("Booked."))
	w := serve(t, site.Limits{}, record.NewMemory(), model, asking(t))
	id := w.begin(t, "Ada", "Book a table.")
	window := w.watch(t, "Ada", id, "")
	ask := window.last(t, "asked").member(t, "id")
	for name, tt := range map[string]struct {
		fields string
		status int
		want   []string
	}{
		"all":           {`{}`, 422, []string{`"day":`, `"people":`}},
		"one":           {`{"day":"2026-12-24","people":"13"}`, 422, []string{`"people":`}},
		"other type":    {`{"day":5,"people":"1"}`, 422, []string{`"day":`}},
		"no number":     {`{"day":"2026-12-24","people":"many"}`, 422, []string{`"people":`}},
		"unknown field": {`{"day":"2026-12-24","people":"1","more":1}`, 422, []string{"no field", "more"}},
	} {
		status, _, body := w.do(t, "Ada", "POST", "/api/conversations/"+id+"/answers", `{"ask":"`+ask+`","action":"accept","fields":`+tt.fields+`}`)
		for _, want := range tt.want {
			check.That(t, status == tt.status && strings.Contains(body, want), "%s: got %d %s, want %d with %q", name, status, body, tt.status, want)
		}
	}
	status := w.status(t, "Ada", "POST", "/api/conversations/"+id+"/answers", `{"ask":"`+ask+`","action":"ran"}`)
	check.Equal(t, "an action that a form does not have", status, 422)
	w.answer(t, "Ada", id, map[string]any{"ask": ask, "action": "accept", "fields": map[string]any{"day": "2026-12-24", "people": "12"}})
	check.Equal(t, "the server", window.last(t, "result").member(t, "text"), `accept {"day":"2026-12-24","people":12}`)
}

// TestMedia serves pictures that can have no script, and nothing else.
func TestMedia(t *testing.T) {
	png := []byte("\x89PNG\r\n\x1a\n")
	tool := adapter.Func("paint", "Paints.", func(context.Context, struct{}) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{
			&mcp.ImageContent{MIMEType: "image/png", Data: png},
			&mcp.ImageContent{MIMEType: "image/svg+xml", Data: []byte("<svg onload='x'/>")},
			&mcp.ImageContent{MIMEType: "text/html", Data: []byte("<script>x</script>")},
		}}, nil
	}, &adapter.FuncOptions{ReadOnly: true})
	model := agenttest.Play(agenttest.CallTools("paint", `{}`), agenttest.Say("There."))
	w := serve(t, site.Limits{}, record.NewMemory(), model, tool)
	id := w.begin(t, "Ada", "Paint.")
	window := w.watch(t, "Ada", id, "")
	var result event
	for result.Type != "result" {
		result = window.next(t)
		if result.Type == "asked" {
			w.answer(t, "Ada", id, map[string]any{"ask": result.member(t, "id"), "action": "allow"})
		}
	}
	window.until(t, "ended")
	var view struct{ Media []struct{ URL, Type string } }
	err := json.Unmarshal(result.Data, &view)
	check.Require(t, err == nil && len(view.Media) == 1, "got the media %v, %v; want the picture alone", view.Media, err)
	status, h, body := w.do(t, "Ada", "GET", view.Media[0].URL, "")
	check.That(t, status == 200 && body == string(png) && h.Get("Content-Type") == "image/png" && strings.Contains(h.Get("Content-Security-Policy"), "sandbox"),
		"got %d %v %q", status, h, body)
	for _, n := range []string{"1", "2", "3", "-1", "x"} {
		check.Equal(t, "media "+n, w.status(t, "Ada", "GET", strings.TrimSuffix(view.Media[0].URL, "0")+n, ""), 404)
	}
}
