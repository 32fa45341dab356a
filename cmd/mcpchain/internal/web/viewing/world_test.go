package viewing_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/talk"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/viewing"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/apps/sandbox"
)

// patience is how long a test waits for what has to come.
const patience = time.Minute

const viewURI = "ui://shop/v"

// world is the services of a program, with a server whose tool "show" has a view.
type world struct {
	t     *testing.T
	store record.Store
	talk  *talk.Service
	views *viewing.Service
	model *agenttest.Model
	turns map[string]int // by conversation
	paid  atomic.Int64   // calls of "pay", which is for views and needs an approval
}

func newWorld(t *testing.T, steps ...agenttest.Step) *world {
	t.Helper()
	w := &world{t: t, store: record.NewMemory(), model: agenttest.Play(steps...), turns: map[string]int{}}
	tools, err := adapter.Open(t.Context(), []adapter.Server{{Name: "shop", Policy: adapter.Policy{Trust: adapter.TrustHints}, Transport: w.shop()}}, &adapter.Options{User: hosting.User})
	check.Must(t, err)
	t.Cleanup(func() { _ = tools.Close() })
	w.talk, err = talk.New(talk.Options{Model: w.model, Store: w.store, Tools: []adapter.Source{tools}, ViewTools: tools.ViewTools(), Logger: slog.New(slog.DiscardHandler)})
	check.Must(t, err)
	t.Cleanup(w.talk.Close)
	box := check.Value(sandbox.New(&sandbox.Options{Origin: "http://127.0.0.1:1", HostOrigins: []string{"http://127.0.0.1:2"}}))(t)
	w.views = viewing.New(viewing.Options{Talk: w.talk, Tools: tools, Sandbox: box, Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(w.views.Close)
	return w
}

func (w *world) shop() mcpclient.Transport {
	s := sdk.NewServer(&sdk.Implementation{Name: "shop", Version: "1"}, nil)
	const kind = "text/html;profile=mcp-app"
	s.AddResource(&sdk.Resource{URI: viewURI, Name: "v", MIMEType: kind}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: viewURI, MIMEType: kind, Text: "<!doctype html>"}}}, nil
	})
	ui := func(about map[string]any) sdk.Meta { return sdk.Meta{"ui": about} }
	text := func(s string) *sdk.CallToolResult {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
	}
	sdk.AddTool(s, &sdk.Tool{Name: "show", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}, Meta: ui(map[string]any{"resourceUri": viewURI})},
		func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return text("shown"), nil, nil
		})
	sdk.AddTool(s, &sdk.Tool{Name: "pay", Meta: ui(map[string]any{"visibility": []string{"app"}})},
		func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return text(fmt.Sprintf("receipt %d", w.paid.Add(1))), nil, nil
		})
	server := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{Stateless: true}))
	w.t.Cleanup(server.Close)
	return &mcpclient.HTTP{URL: server.URL}
}

// converse has a user ask, and the model call "show" so many times. It returns the calls when the turn has ended.
func (w *world) converse(user string) (conversation string, calls []place) {
	w.t.Helper()
	id := check.Value(w.talk.Begin(w.t.Context(), user, "Show me the shop."))(w.t)
	w.ended(user, id, func(e talk.Event) {
		if e.Type == "result" {
			var at place
			w.read(e.Data, &at)
			calls = append(calls, at)
		}
	})
	return id, calls
}

// place is the call whose result a view shows.
type place struct {
	Turn int
	ID   string
}

func (w *world) read(data []byte, into any) {
	w.t.Helper()
	err := json.Unmarshal(data, into)
	check.Require(w.t, err == nil, "%v in %s", err, data)
}

// ended waits for the end of a turn, which each hears the events of.
func (w *world) ended(user, id string, each func(talk.Event)) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	w.turns[id]++
	over := 0
	err := w.talk.Watch(ctx, user, id, agent.Position{}, func(batch []talk.Event) error {
		for _, e := range batch {
			each(e)
			if e.Type == "ended" {
				over++
			}
		}
		if over == w.turns[id] {
			cancel()
		}
		return nil
	})
	check.Require(w.t, err == nil && over == w.turns[id], "the turn does not end: %v", err)
}

// say puts a question of a user, and waits for the answer of the model.
func (w *world) say(user, id, text string) {
	w.t.Helper()
	err := w.views.WithContexts(user, id, func(before ...string) error { return w.talk.Say(w.t.Context(), user, id, text, before...) })
	check.Must(w.t, err)
	w.ended(user, id, func(talk.Event) {})
}

// saidToModel is what users have said in the last request to the model.
func (w *world) saidToModel() (out []string) {
	all := w.model.Turns()
	for _, m := range all[len(all)-1].Request.Messages {
		if m.Role == run.RoleUser {
			out = append(out, m.Text())
		}
	}
	return out
}

type shown struct {
	*world
	user    string
	opened  *viewing.Opened
	stream  *stream
	lastID  int
	said    int               // messages
	answers map[string]string // by id
}

type stream struct {
	events chan event
	over   chan struct{}
	end    context.CancelFunc
}

type event struct {
	kind string
	n    uint64
	data json.RawMessage
}

// sessionOf is the session of a window: each window is on a device of its own.
func sessionOf(window string) string { return "session of " + window }

func (w *world) watch(user, window string) *stream {
	ctx, cancel := context.WithCancel(w.t.Context())
	s := &stream{events: make(chan event, 1000), over: make(chan struct{}), end: cancel}
	w.t.Cleanup(cancel)
	go func() {
		defer close(s.over)
		_ = w.views.Watch(ctx, user, sessionOf(window), window, func(batch []talk.Event) error {
			for _, e := range batch {
				var numbered struct {
					N    uint64
					Data json.RawMessage
				}
				if err := json.Unmarshal(e.Data, &numbered); err != nil {
					return err
				}
				if e.Type == "view-life" {
					numbered.Data = e.Data
				}
				s.events <- event{e.Type, numbered.N, numbered.Data}
			}
			return nil
		})
	}()
	return s
}

func (s *stream) next(t *testing.T) event {
	t.Helper()
	select {
	case e := <-s.events:
		return e
	case <-time.After(patience):
		t.Fatal("the window gets nothing")
		return event{}
	}
}

func (w *world) open(user, window, conversation string, at place) (*viewing.Opened, error) {
	return w.views.Open(w.t.Context(), user, viewing.Request{Window: window, Host: "http://127.0.0.1:2", Conversation: conversation, Turn: at.Turn, Call: at.ID, Theme: "light", Width: 400})
}

func (w *world) show(user, window, conversation string, at place) *shown {
	w.t.Helper()
	opened := check.Value(w.open(user, window, conversation, at))(w.t)
	v := &shown{world: w, user: user, opened: opened, stream: w.watch(user, window), answers: map[string]string{}}
	e := v.stream.next(w.t)
	check.Require(w.t, e.kind == "view-life" && strings.Contains(string(e.data), opened.Life), "got %s %s first, want the life %s", e.kind, e.data, opened.Life)
	got := v.ask("ui/initialize", `{"protocolVersion":"2026-01-26","appInfo":{"name":"v","version":"1"},"appCapabilities":{}}`)
	check.Require(w.t, strings.Contains(got, "protocolVersion"), "ui/initialize: got %s", got)
	v.send(`{"jsonrpc":"2.0","method":"ui/notifications/initialized"}`)
	v.hears("ui/notifications/tool-result")
	return v
}

func (v *shown) send(message string) {
	v.t.Helper()
	check.Must(v.t, v.views.Say(v.t.Context(), v.user, v.opened.Session, v.said, []json.RawMessage{json.RawMessage(message)}))
	v.said++
}

// message is the next message for the view. Events of another session fail the test.
func (v *shown) message() (method, id, raw string) {
	v.t.Helper()
	for {
		e := v.stream.next(v.t)
		var m struct {
			Session string
			Message struct {
				ID     json.RawMessage
				Method string
			}
		}
		v.read(e.data, &m)
		if e.kind == "viewed" {
			continue
		}
		check.Require(v.t, m.Session == v.opened.Session, "a window got %s %s, which is not its own", e.kind, e.data)
		if e.kind == "view" {
			return m.Message.Method, string(m.Message.ID), string(e.data)
		}
	}
}

func (v *shown) hears(method string) (id string) {
	v.t.Helper()
	for {
		if got, id, _ := v.message(); got == method {
			return id
		}
	}
}

// request sends a request, and await waits for its answer.
func (v *shown) request(method, params string) (id string) {
	v.t.Helper()
	v.lastID++
	id = fmt.Sprint(v.lastID)
	v.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
	return id
}

func (v *shown) await(id string) string {
	v.t.Helper()
	for v.answers[id] == "" {
		if method, of, raw := v.message(); method == "" {
			v.answers[of] = raw
		}
	}
	return v.answers[id]
}

func (v *shown) ask(method, params string) string {
	v.t.Helper()
	return v.await(v.request(method, params))
}

// knows has the view want the model to know a text.
func (v *shown) knows(text string) string {
	v.t.Helper()
	return v.ask("ui/update-model-context", fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, text))
}

// asked waits for the question about a call of a user's view, and returns the call's run and the id of the question.
func (w *world) asked(user, conversation string) (call, question string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	err := w.talk.Watch(ctx, user, conversation, agent.Position{}, func(batch []talk.Event) error {
		for _, e := range batch {
			var viewed struct {
				Run, Kind string
				Event     struct{ ID string }
			}
			if e.Type != "viewed" || question != "" {
				continue
			}
			if w.read(e.Data, &viewed); viewed.Kind == "asked" {
				call, question = viewed.Run, viewed.Event.ID
				cancel()
			}
		}
		return nil
	})
	check.Require(w.t, err == nil && question != "", "got %v, want a question about a call of %s's view", err, user)
	return call, question
}

func (w *world) allow(user, conversation, scope string) {
	w.t.Helper()
	call, question := w.asked(user, conversation)
	check.Must(w.t, w.talk.Reply(w.t.Context(), user, call, talk.Reply{Question: question, Action: run.ActionAllow, Scope: scope}))
}
