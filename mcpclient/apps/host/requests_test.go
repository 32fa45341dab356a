package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/apps/host"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// "Host MUST reject tools/call requests from apps for tools that don't include app in visibility."
func TestCallTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, v := begun(t, &scripted{}, nil, `{}`)
		for _, tt := range []struct{ params, want string }{
			{`{"name":"plain","arguments":{"a":1}}`, `{"content":[{"type":"text","text":"plain{\"a\":1}"}]}`},
			{`{"name":"app"}`, `{"content":[{"type":"text","text":"app{}"}]}`},
			{`{"name":"model"}`, `error -32602 no such tool for views: model`},
			{`{"name":"none"}`, `error -32602 no such tool for views: none`},
			{`{"name":"broken"}`, `error -32602 no such tool for views: broken`},
			{`{"name":"other__tool"}`, `error -32602 no such tool for views: other__tool`},
			{`{"name":"plain","arguments":[]}`, `error -32602 the arguments are not an object`},
			{`{"name":7}`, `error -32602 want a name and arguments`},
			{`{}`, `error -32602 no such tool for views: `},
		} {
			check.Equal(t, tt.params, v.ask(`"a"`, "tools/call", tt.params), tt.want)
		}
		got, want := v.ask("1", "tools/list", `{}`), `{"tools":[{"name":"plain","inputSchema":{"type":"object"}},{"name":"app","inputSchema":{"type":"object"},"_meta":{"ui":{"visibility":["app"]}}}]}`
		check.That(t, got == want, "got %s, want %s", got, want)
		all := listed()
		check.That(t, !slices.Contains(all, nil), "the server's own list has changed: %v", all)
	})
}

func TestReadResource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, v := begun(t, &scripted{read: func(_ context.Context, uri string) (*mcp.ReadResourceResult, error) {
			if uri != "x://1" {
				return nil, &mcp.RPCError{Code: -32002, Message: "not found"}
			}
			return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: uri, Text: "t"}, {URI: uri, Blob: []byte("b")}}, Meta: json.RawMessage(`{"m":1}`)}, nil
		}}, nil, `{}`)
		for _, tt := range [][2]string{
			{`{"uri":"x://1"}`, `{"_meta":{"m":1},"contents":[{"uri":"x://1","text":"t"},{"uri":"x://1","blob":"Yg=="}]}`},
			{`{"uri":"x://2"}`, `error -32002 not found`},
			{`{}`, `error -32602 want a uri`},
		} {
			check.Equal(t, tt[0], v.ask("1", "resources/read", tt[0]), tt[1])
		}
	})
}

// What a view is told of an error is chosen: it may name what is not the view's business.
func TestWhatViewsAreToldOfErrors(t *testing.T) {
	var logged bytes.Buffer
	for _, tt := range []struct {
		err  error
		want string
	}{
		{errors.New("dial 10.0.0.1: secret"), "error -32000 the host could not do this"},
		{fmt.Errorf("x: %w", apps.ErrDenied), "error -32000 denied by the user"},
		{fmt.Errorf("x: %w", mcp.ErrRejected), "error -32000 denied by the user"},
		{fmt.Errorf("%w: n is not a number", apps.ErrInvalid), "error -32602 apps: invalid request: n is not a number"},
		{fmt.Errorf("x: %w", &mcp.RPCError{Code: -32042, Message: "visit"}), "error -32042 visit"},
		{context.DeadlineExceeded, "error -32000 it took too long"},
	} {
		synctest.Test(t, func(t *testing.T) {
			_, v := begun(t, &scripted{call: func(context.Context, string, json.RawMessage) (*mcp.CallToolResult, error) { return nil, tt.err }},
				&host.Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))}, `{}`)
			check.Equal(t, tt.err, v.ask("1", "tools/call", `{"name":"app"}`), tt.want)
		})
	}
	for _, want := range []string{"method=tools/call", "secret"} {
		check.That(t, strings.Contains(logged.String(), want), "got the log %s, want it with %s", &logged, want)
	}
}

func TestHostPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, v := begun(t, &scripted{call: func(context.Context, string, json.RawMessage) (*mcp.CallToolResult, error) { panic("oops") }},
			&host.Options{OnSize: func(_, _ *float64) { panic("oops") }}, `{}`)
		v.notify("ui/notifications/size-changed", `{"height":1}`)
		check.Equal(t, "", v.ask("1", "tools/call", `{"name":"app"}`), "error -32603 the host could not do this")
		check.Equal(t, "the session to continue", v.ask("2", "ping", `{}`), "{}")
	})
}

func TestCancelledRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ids := make(chan string, 2)
		_, v := begun(t, &scripted{call: func(ctx context.Context, _ string, _ json.RawMessage) (*mcp.CallToolResult, error) {
			ids <- host.CallID(ctx)
			<-ctx.Done()
			return nil, ctx.Err()
		}}, nil, `{}`)
		v.request(`"x"`, "tools/call", `{"name":"app"}`)
		v.request(`7`, "tools/call", `{"name":"app"}`)
		synctest.Wait()
		v.notify("notifications/cancelled", `{"requestId":"y"}`)
		v.notify("notifications/cancelled", `{"requestId":7}`)
		v.silent("after a cancellation, which has no answer")
		check.Equal(t, "the id again", v.ask("7", "ping", `{}`), "{}")
		a, b := <-ids, <-ids
		check.That(t, a != b && (a == `"x"` || b == `"x"`), "got the ids %s and %s", a, b)
	})
}

func TestRequestsTakeNoLongerThan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, v := begun(t, &scripted{call: func(ctx context.Context, _ string, _ json.RawMessage) (*mcp.CallToolResult, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}, nil, `{}`)
		if got := v.ask("1", "tools/call", `{"name":"app"}`); got != "error -32000 it took too long" || time.Since(start) != 10*time.Minute {
			t.Errorf("got %s after %v, want it after 10 min", got, time.Since(start))
		}
	})
}

// Unknown methods, what is not offered and what has no handler are refused alike.
func TestNotOffered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, v := begun(t, &scripted{}, nil, `{}`)
		for _, method := range []string{"ui/open-link", "ui/message", "ui/update-model-context", "ui/download-file", "sampling/createMessage",
			"initialize", "elicitation/create", "roots/list", "logging/setLevel", "prompts/list", "ui/notifications/sandbox-resource-ready", "UI/open-link"} {
			got := v.ask("1", method, `{"url":"https://example.com","role":"user","content":[],"contents":[]}`)
			check.That(t, strings.HasPrefix(got, "error -32601"), "%s: got %s, want no such method", method, got)
		}
		check.Equal(t, "the mode that is", v.ask("1", "ui/request-display-mode", `{"mode":"fullscreen"}`), `{"mode":"inline"}`)
	})
}

// The arguments come once, and the result after them.
func TestToolInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, v := begun(t, &scripted{}, nil, `{}`)
		<-s.Ready()
		check.Fails(t, s.ToolResult(result("early")), "a result before the arguments")
		check.NoError(t, s.ToolInput(nil))
		v.want(`ui/notifications/tool-input {"arguments":{}}`)
		check.Fails(t, s.ToolInput(nil), "arguments again")
		check.NoError(t, s.ToolResult(result("hi")))
		v.want("ui/notifications/tool-result " + wireResult)
		check.That(t, s.ToolResult(result("hi")) != nil && s.ToolCancelled("x") != nil, "an outcome again: got no error")
		v.silent("after the result")
	})
}

func TestToolCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, v := open(t, &scripted{}, nil)
		check.NoError(t, s.ToolCancelled("the user stopped it"))
		v.greet(`{}`)
		v.want(`ui/notifications/tool-cancelled {"reason":"the user stopped it"}`)
		check.That(t, s.ToolInput(nil) != nil && s.ToolResult(result("x")) != nil, "after the end: got no error")
		v.silent("after the cancellation")
	})
}

func TestToolInputRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := begun(t, &scripted{}, &host.Options{Limits: host.Limits{Outgoing: 100}}, `{}`)
		for _, arguments := range []string{`[]`, `{`, `null`, `{"a":"` + strings.Repeat("x", 100) + `"}`} {
			check.That(t, s.ToolInput(json.RawMessage(arguments)) != nil, "%.20s: got no error", arguments)
		}
		check.NoError(t, s.ToolInput(nil))
		check.Fails(t, s.ToolResult(result(strings.Repeat("x", 100))), "a result that is too large")
		check.NoError(t, s.ToolCancelled("the result is too large"), "then")
	})
}

// What a slow view did not read is replaced by the latest.
func TestSlowViewGetsTheLatest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, v := open(t, &scripted{}, nil)
		for i := range 1000 {
			check.Must(t, s.SetContext(host.HostContext{Locale: strings.Repeat("x", 1+i%7)}))
		}
		v.ask("0", "ui/initialize", `{"protocolVersion":"2026-01-26","appInfo":{"name":"v","version":"1"},"appCapabilities":{}}`)
		for i := range 1000 {
			_ = s.SetContext(host.HostContext{Locale: strings.Repeat("y", 1+i%7)})
		}
		v.notify("ui/notifications/initialized", `{}`)
		v.want(`ui/notifications/host-context-changed {"locale":"yyyyyy"}`)
		v.silent("after the latest")
	})
}

func TestOpenLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var opened []string
		_, v := begun(t, &scripted{}, &host.Options{OpenLink: func(_ context.Context, url string) error {
			opened = append(opened, url)
			if strings.Contains(url, "denied") {
				return apps.ErrDenied
			}
			return nil
		}}, `{}`)
		const full = "https://example.com/a?b=c&d=%20#e"
		for _, tt := range [][2]string{
			{full, "{}"}, {"http://example.com/denied", "error -32000 denied by the user"},
			{"javascript:alert(1)", "error -32602 Invalid URL"}, {"data:text/html,x", "error -32602 Invalid URL"}, {"file:///etc/passwd", "error -32602 Invalid URL"},
			{"//example.com", "error -32602 Invalid URL"}, {"https://", "error -32602 Invalid URL"}, {"", "error -32602 Invalid URL"}, {"ui://x/y", "error -32602 Invalid URL"},
			{"https://example.com/" + strings.Repeat("x", 9000), "error -32602 Invalid URL"},
		} {
			check.Equal(t, tt[0], v.ask("1", "ui/open-link", `{"url":"`+tt[0]+`"}`), tt[1])
		}
		check.Same(t, "a person was asked", opened, []string{full, "http://example.com/denied"})
	})
}

// A view asks a person one question of a kind at a time.
func TestOneQuestionAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer, asked := make(chan error), 0
		_, v := begun(t, &scripted{}, &host.Options{
			OpenLink: func(context.Context, string) error { asked++; return <-answer },
			Message:  func(context.Context, []mcp.Content) error { return nil },
		}, `{}`)
		v.request("1", "ui/open-link", `{"url":"https://example.com"}`)
		synctest.Wait()
		for range 5 {
			check.Equal(t, "", v.ask("2", "ui/open-link", `{"url":"https://example.com"}`), "error -32000 one request of this kind at a time")
		}
		check.Equal(t, "another kind", v.ask("3", "ui/message", `{"role":"user","content":{"type":"text","text":"x"}}`), "{}")
		answer <- nil
		v.want("{}")
		synctest.Wait()
		go func() { answer <- errors.New("no browser") }()
		got := v.ask("4", "ui/open-link", `{"url":"https://example.com"}`)
		check.That(t, got == "error -32000 the host could not do this" && asked == 2, "later: got %s, asked %d times", got, asked)
	})
}

func TestMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got [][]mcp.Content
		_, v := begun(t, &scripted{}, &host.Options{Message: func(_ context.Context, content []mcp.Content) error {
			got = append(got, content)
			return nil
		}}, `{}`)
		const text = `{"type":"text","text":"x"}`
		for _, params := range []string{`{"role":"user","content":` + text + `}`, `{"role":"user","content":[` + text + `]}`} {
			check.Equal(t, params, v.ask("1", "ui/message", params), "{}")
		}
		for _, params := range []string{`{}`, `{"role":"assistant","content":[` + text + `]}`, `{"role":"system","content":[` + text + `]}`, `{"role":"user","content":[]}`, `{"role":"user","content":"x"}`,
			`{"role":"user","content":[{"type":"tool_use","id":"1","name":"x","input":{}}]}`, `{"role":"user","content":[{"type":"unknown"}]}`, `{"role":"user","content":[7]}`} {
			said := v.ask("1", "ui/message", params)
			check.That(t, strings.HasPrefix(said, "error -32602"), "%s: got %s, want it refused", params, said)
		}
		one := []mcp.Content{&mcp.TextContent{Text: "x"}}
		check.Same(t, "", got, [][]mcp.Content{one, one})
	})
}

// "Each request overwrites the previous context sent by the View."
func TestModelContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type context struct {
			content    []mcp.Content
			structured string
		}
		var latest context
		_, v := begun(t, &scripted{}, &host.Options{OnModelContext: func(content []mcp.Content, structured json.RawMessage) error {
			if strings.Contains(string(structured), "refused") {
				return errors.New("too long")
			}
			latest = context{content, string(structured)}
			return nil
		}}, `{}`)
		text := func(s string) []mcp.Content { return []mcp.Content{&mcp.TextContent{Text: s}} }
		for _, tt := range []struct {
			params, said string
			want         context
		}{
			{`{"content":[{"type":"text","text":"a"}],"structuredContent":{"n":1}}`, "{}", context{text("a"), `{"n":1}`}},
			{`{"content":[{"type":"text","text":"b"}]}`, "{}", context{text("b"), ""}},
			{`{"structuredContent":[]}`, "error -32602 Invalid content format", context{text("b"), ""}},
			{`{"content":"x"}`, "error -32602 Invalid content format", context{text("b"), ""}},
			{`{"structuredContent":{"refused":1}}`, "error -32000 the host could not do this", context{text("b"), ""}},
			{`{}`, "{}", context{}},
		} {
			said := v.ask("1", "ui/update-model-context", tt.params)
			check.That(t, said == tt.said, "%s: got %s, want %s", tt.params, said, tt.said)
			check.Same(t, tt.params, latest, tt.want, cmp.AllowUnexported(context{}))
		}
		for i := range 100 { // the last one counts, however fast they come
			v.request("1", "ui/update-model-context", `{"content":[{"type":"text","text":"`+strings.Repeat("x", i)+`"}]}`)
			v.want("{}")
		}
		got := latest.content[0].(*mcp.TextContent).Text
		check.That(t, len(got) == 99, "got %q, want the last", got)
	})
}

// "Host MUST NOT switch the View to a display mode that does not appear in its
// appCapabilities.availableDisplayModes" and "MUST return the resulting mode".
func TestDisplayMode(t *testing.T) {
	for _, tt := range []struct {
		name, capabilities, ask string
		offered                 []string
		becomes                 string
		err                     error
		asked                   bool
		want                    string
	}{
		{"changed", `{"availableDisplayModes":["inline","fullscreen"]}`, "fullscreen", []string{"inline", "fullscreen"}, "fullscreen", nil, true, "fullscreen"},
		{"a view that does not say", `{}`, "fullscreen", []string{"inline", "fullscreen"}, "fullscreen", nil, true, "fullscreen"},
		{"not of the host", `{}`, "pip", []string{"inline", "fullscreen"}, "pip", nil, false, "inline"},
		{"not of the view", `{"availableDisplayModes":["inline"]}`, "fullscreen", []string{"inline", "fullscreen"}, "fullscreen", nil, false, "inline"},
		{"another became", `{"availableDisplayModes":["inline","fullscreen"]}`, "fullscreen", []string{"inline", "fullscreen", "pip"}, "pip", nil, true, "inline"},
		{"failed", `{}`, "fullscreen", []string{"inline", "fullscreen"}, "fullscreen", errors.New("no"), true, "inline"},
		{"as it is", `{}`, "inline", []string{"inline"}, "fullscreen", nil, false, "inline"},
		{"unknown", `{}`, "cinema", []string{"inline"}, "cinema", nil, false, "inline"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := false
				_, v := begun(t, &scripted{}, &host.Options{
					Context: host.HostContext{AvailableDisplayModes: tt.offered},
					DisplayMode: func(context.Context, string) (string, error) {
						asked = true
						return tt.becomes, tt.err
					},
				}, tt.capabilities)
				v.request("1", "ui/request-display-mode", `{"mode":"`+tt.ask+`"}`)
				got := map[string]bool{v.said(): true}
				if tt.want != "inline" {
					got[v.said()] = true
					check.That(t, got[`ui/notifications/host-context-changed {"displayMode":"`+string(tt.want)+`"}`],
						"got %v, want the view told of the mode", got)
				}
				check.That(t, got[`{"mode":"`+string(tt.want)+`"}`] && asked == tt.asked, "got %v, asked %v", got, asked)
			})
		})
	}
}

func TestSetContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, v := begun(t, &scripted{}, &host.Options{Context: host.HostContext{Theme: "dark", TimeZone: "Europe/Rome"}}, `{"availableDisplayModes":["inline"]}`)
		<-s.Ready()
		check.Fails(t, s.SetContext(host.HostContext{Theme: "dark", TimeZone: "Europe/Rome", DisplayMode: "fullscreen"}), "a mode that the view has not")
		check.NoError(t, s.SetContext(host.HostContext{Theme: "dark", TimeZone: "Europe/Rome"}))
		v.silent("without a change")
		check.NoError(t, s.SetContext(host.HostContext{Theme: "light", Platform: "web"}))
		v.want(`ui/notifications/host-context-changed {"platform":"web","theme":"light"}`)
	})
}
