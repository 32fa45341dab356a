package site_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"testing"
	"testing/synctest"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/compact"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/site"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// painting is a tool whose pictures are of a number each.
func painting() adapter.Source {
	return adapter.Func("paint", "Paints.", func(_ context.Context, in struct {
		Number int `json:"number"`
	}) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{
			&mcp.ImageContent{MIMEType: "image/png", Data: fmt.Appendf(nil, "picture %d", in.Number)},
			&mcp.AudioContent{MIMEType: "audio/wav", Data: fmt.Appendf(nil, "sound %d", in.Number)},
		}}, nil
	}, &adapter.FuncOptions{ReadOnly: true})
}

// sameID has the model call a tool by an id that it uses in each turn, as some do.
func sameID(tool, arguments string) agenttest.Step {
	return func(ctx context.Context, p agenttest.Turn) (*model.Response, error) {
		res, err := agenttest.CallTools(tool, arguments)(ctx, p)
		if err == nil {
			res.Message.Parts[0].ID = "call"
		}
		return res, err
	}
}

// shownResult is what a window has of a result.
type shownResult struct {
	ID, Name, Arguments string
	Media               []struct{ URL, Type string }
}

// resultsUntil are the results that a window gets, up to the nth end of a turn.
func (w *window) resultsUntil(t *testing.T, ends int) (out []shownResult) {
	t.Helper()
	for range ends {
		for _, e := range w.until(t, "ended") {
			if e.Type != "result" {
				continue
			}
			var r shownResult
			check.Must(t, json.Unmarshal(e.Data, &r))
			out = append(out, r)
		}
	}
	return out
}

// painted checks that the media of the results are of the numbers.
func (w *world) painted(t *testing.T, results []shownResult, numbers ...int) {
	t.Helper()
	check.Require(t, len(results) == len(numbers), "got %d results, want %d", len(results), len(numbers))
	for i, r := range results {
		if len(r.Media) != 2 {
			t.Errorf("result %d: got %d media, want a picture and a sound", i, len(r.Media))
			continue
		}
		for k, want := range []string{"picture", "sound"} {
			status, _, got := w.do(t, "Ada", "GET", r.Media[k].URL, "")
			check.That(t, status == 200 && got == fmt.Sprintf("%s %d", want, numbers[i]), "result %d: got %d %q, want %s %d", i, status, got, want, numbers[i])
		}
	}
}

// TestMediaKeepTheirPlace compacts a conversation whose calls have one id, and asks again in another conversation. Each
// result keeps its own picture and sound.
func TestMediaKeepTheirPlace(t *testing.T) {
	store := record.NewMemory()
	model := agenttest.Play(sameID("paint", `{"number":1}`), agenttest.Say("One."), sameID("paint", `{"number":2}`), agenttest.Say("Two."),
		sameID("paint", `{"number":3}`), agenttest.Say("Three."), agenttest.Say("Four."))
	w := serve(t, site.Limits{}, store, model, painting())
	id := w.begin(t, "Ada", "Paint one.")
	window := w.watch(t, "Ada", id, "")
	results := window.resultsUntil(t, 1)
	w.post(t, "Ada", "/api/conversations/"+id+"/messages", map[string]string{"text": "Paint two."})
	results = append(results, window.resultsUntil(t, 1)...)
	w.painted(t, results, 1, 2)

	compacting, err := agent.New(agenttest.Play(agenttest.Say("Short.")), &agent.Options{Name: "web", Durable: agent.Durable{Store: store},
		Compact: func(_ context.Context, history []run.Message, _ compact.Budget) (*compact.Result, error) {
			return &compact.Result{Replaced: len(history), Messages: []run.Message{run.Text(run.RoleUser, "go on")}}, nil
		}})
	check.Must(t, err)
	check.Must(t, check.Err(compacting.Run(t.Context(), agent.Text("Go on."), agent.WithRun(id), agent.WithTenant("Ada"))))
	w.painted(t, results, 1, 2)
	w.painted(t, w.watch(t, "Ada", id, "").resultsUntil(t, 2), 1, 2)

	other := w.post(t, "Ada", "/api/conversations/"+id+"/messages", map[string]string{"text": "Paint three."})
	window = w.watch(t, "Ada", other, "")
	w.painted(t, window.resultsUntil(t, 4), 1, 2, 3)
	check.Equal(t, "the picture of another user", w.status(t, "Grace", "GET", results[0].Media[0].URL, ""), 404)
}

// TestEditKeepsCalls asks a question again after two calls with one id: the new conversation has their arguments and their media.
func TestEditKeepsCalls(t *testing.T) {
	model := agenttest.Play(sameID("paint", `{"number":1}`), sameID("paint", `{"number":2}`), agenttest.Say("There."), agenttest.Say("Old."), agenttest.Say("New."))
	w := serve(t, site.Limits{}, record.NewMemory(), model, painting())
	id := w.begin(t, "Ada", "Paint.")
	window := w.watch(t, "Ada", id, "")
	window.until(t, "ended")
	w.post(t, "Ada", "/api/conversations/"+id+"/messages", map[string]string{"text": "And then?"})
	seq := json.Number(window.last(t, "said").member(t, "seq"))
	window.until(t, "ended")
	other := w.post(t, "Ada", "/api/conversations/"+id+"/edits", map[string]any{"seq": seq, "index": 0, "text": "And now?"})
	results := w.watch(t, "Ada", other, "").resultsUntil(t, 1)
	w.painted(t, results, 1, 2)
	for i, r := range results {
		want := fmt.Sprintf("{\n  \"number\": %d\n}", i+1)
		check.That(t, r.Arguments == want && r.Name == "paint", "result %d: got %s %s, want paint %s", i, r.Name, r.Arguments, want)
	}
}

// TestSpentBySubAgents counts what a sub-agent's model uses, while it is at work and in what is read again.
func TestSpentBySubAgents(t *testing.T) {
	helping := check.Value(agent.New(agenttest.Play(agenttest.Say("helped").WithUsage(1000, 200)), nil))(t)
	helper := check.Value(agent.NewSubAgent(helping, "helper", "Helps."))(t)
	goOn := make(chan struct{})
	model := agenttest.Play(agenttest.CallTools("helper", `{"task":"help"}`).WithUsage(10, 1),
		func(ctx context.Context, p agenttest.Turn) (*model.Response, error) {
			select {
			case <-goOn:
			case <-ctx.Done():
			}
			return agenttest.Say("done").WithUsage(30, 3)(ctx, p)
		})
	w := serve(t, site.Limits{}, record.NewMemory(), model, helper)
	id := w.begin(t, "Ada", "Help.")
	window := w.watch(t, "Ada", id, "")
	window.spends(t, 1010, 201)
	close(goOn)
	window.spends(t, 1040, 204)
	w.watch(t, "Ada", id, "").spends(t, 1040, 204)
}

// spends waits until the conversation has used so many tokens. It fails if there are more.
func (w *window) spends(t *testing.T, input, output int64) {
	t.Helper()
	for {
		e := w.next(t)
		if e.Type != "now" {
			continue
		}
		var now struct{ Spent struct{ Input, Output int64 } }
		check.Must(t, json.Unmarshal(e.Data, &now))
		if now.Spent.Input == input && now.Spent.Output == output {
			return
		}
		check.Require(t, now.Spent.Input <= input && now.Spent.Output <= output, "got %+v, want %d and %d", now.Spent, input, output)
	}
}

// TestOlder reaches all conversations of a user, a page at a time.
func TestOlder(t *testing.T) {
	type page struct {
		List []struct{ ID, Updated string }
		More bool
	}
	const all = 120
	store := record.NewMemory()
	made, err := agent.New(agenttest.PlayRepeating(agenttest.Say("hello")), &agent.Options{Name: "web", Durable: agent.Durable{Store: store}})
	check.Must(t, err)
	synctest.Test(t, func(t *testing.T) { // all have one time
		for i := range all {
			check.Must(t, check.Err(made.Run(t.Context(), agent.Text("hello"), agent.WithRun(fmt.Sprint("c", i)), agent.WithTenant("Ada"))))
		}
	})
	w := serve(t, site.Limits{}, store, agenttest.PlayRepeating(agenttest.Say("hello")))
	w.begin(t, "Grace", "hers")
	var latest page
	for e := w.watch(t, "Ada", "", ""); latest.List == nil; {
		if e := e.next(t); e.Type == "list" {
			check.Must(t, json.Unmarshal(e.Data, &latest.List))
		}
	}
	seen := map[string]bool{}
	for p, pages := latest, 1; ; pages++ {
		check.That(t, len(p.List) <= 50, "page %d: got %d conversations, want 50 at most", pages, len(p.List))
		for _, c := range p.List {
			check.That(t, !seen[c.ID], "%s comes twice", c.ID)
			seen[c.ID] = true
		}
		if pages > 1 && !p.More {
			check.Equal(t, "pages", pages, 3)
			break
		}
		last := p.List[len(p.List)-1]
		status, _, body := w.do(t, "Ada", "GET", "/api/conversations?"+url.Values{"after": {last.ID}, "updated": {last.Updated}}.Encode(), "")
		p = page{}
		err := json.Unmarshal([]byte(body), &p)
		check.Require(t, err == nil && status == 200, "%v %v %v", status, body, err)
	}
	check.That(t, len(seen) == all && seen["c0"], "got %d conversations, want the %d of the user", len(seen), all)
	check.Equal(t, "no time", w.status(t, "Ada", "GET", "/api/conversations?after=c1&updated=yesterday", ""), 400)
}
