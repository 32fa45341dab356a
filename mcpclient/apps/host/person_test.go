package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/apps/host"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

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
