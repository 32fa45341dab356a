package host_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mcpchain/mcpchain/mcpclient/apps/host"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// The arguments come once, partial ones before them only, and the result after them.
func TestToolInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, v := begun(t, &scripted{}, nil, `{}`)
		<-s.Ready()
		if err := s.ToolResult(result("early")); err == nil {
			t.Error("a result before the arguments: got no error")
		}
		for _, partial := range []string{`{"a":"x"}`, `{"a":"xy"}`} {
			if err := s.ToolInputPartial(json.RawMessage(partial)); err != nil {
				t.Error(err)
			}
			v.want(`ui/notifications/tool-input-partial {"arguments":` + partial + `}`)
		}
		if err := s.ToolInput(nil); err != nil {
			t.Error(err)
		}
		v.want(`ui/notifications/tool-input {"arguments":{}}`)
		if err := s.ToolInputPartial(json.RawMessage(`{"late":1}`)); err != nil {
			t.Error(err)
		}
		if err := s.ToolInput(nil); err == nil {
			t.Error("arguments again: got no error")
		}
		if err := s.ToolResult(result("hi")); err != nil {
			t.Error(err)
		}
		v.want("ui/notifications/tool-result " + wireResult)
		if s.ToolResult(result("hi")) == nil || s.ToolCancelled("x") == nil {
			t.Error("an outcome again: got no error")
		}
		v.silent("after the result")
	})
}

func TestToolCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, v := open(t, &scripted{}, nil)
		if err := s.ToolInputPartial(json.RawMessage(`{"a":1}`)); err != nil {
			t.Error(err)
		}
		if err := s.ToolCancelled("the user stopped it"); err != nil {
			t.Error(err)
		}
		v.greet(`{}`)
		v.want(`ui/notifications/tool-cancelled {"reason":"the user stopped it"}`)
		if s.ToolInput(nil) == nil || s.ToolResult(result("x")) == nil {
			t.Error("after the end: got no error")
		}
		v.silent("after the cancellation")
	})
}

func TestToolInputRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := begun(t, &scripted{}, &host.Options{Limits: host.Limits{Outgoing: 100}}, `{}`)
		for _, arguments := range []string{`[]`, `{`, `null`, `{"a":"` + strings.Repeat("x", 100) + `"}`} {
			if s.ToolInput(json.RawMessage(arguments)) == nil || s.ToolInputPartial(json.RawMessage(arguments)) == nil {
				t.Errorf("%.20s: got no error", arguments)
			}
		}
		if err := s.ToolInput(nil); err != nil {
			t.Error(err)
		}
		if err := s.ToolResult(result(strings.Repeat("x", 100))); err == nil {
			t.Error("a result that is too large: got no error")
		}
		if err := s.ToolCancelled("the result is too large"); err != nil {
			t.Errorf("then: got %v, want the view told", err)
		}
	})
}

// What a slow view did not read is replaced by the latest.
func TestSlowViewGetsTheLatest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, v := open(t, &scripted{}, nil)
		for i := range 1000 {
			if err := s.ToolInputPartial(json.RawMessage(`{"n":` + strings.Repeat("1", 1+i%9) + `}`)); err != nil {
				t.Fatal(err)
			}
			if err := s.SetContext(host.Context{Locale: strings.Repeat("x", 1+i%7)}); err != nil {
				t.Fatal(err)
			}
			s.ServerResourcesChanged()
		}
		v.ask("0", "ui/initialize", `{"protocolVersion":"2026-01-26","appInfo":{"name":"v","version":"1"},"appCapabilities":{}}`)
		for i := range 1000 {
			_ = s.SetContext(host.Context{Locale: strings.Repeat("y", 1+i%7)})
			s.ServerToolsChanged()
			s.ServerResourcesChanged()
		}
		v.notify("ui/notifications/initialized", `{}`)
		v.want(`ui/notifications/tool-input-partial {"arguments":{"n":1}}`, `ui/notifications/host-context-changed {"locale":"yyyyyy"}`,
			"notifications/tools/list_changed ", "notifications/resources/list_changed ")
		v.silent("after the latest")
	})
}

// A view with tools of its own is asked for them, within bounds.
func TestToolsOfTheView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		changed := make(chan bool, 1)
		s, v := begun(t, &scripted{}, &host.Options{OnToolsChanged: func() { changed <- true }, Limits: host.Limits{Tools: 2}}, `{"tools":{"listChanged":true}}`)
		<-s.Ready()
		v.notify("notifications/tools/list_changed", `{}`)
		<-changed
		answer := func(result string) {
			m := v.next()
			v.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,` + result + `}`)
		}
		list := func(pages ...string) ([]*mcp.Tool, error) {
			go func() {
				for _, page := range pages {
					answer(`"result":` + page)
				}
			}()
			return s.Tools(t.Context())
		}
		page := func(name, cursor string) string {
			return `{"tools":[{"name":"` + name + `","inputSchema":{}}],"nextCursor":"` + cursor + `"}`
		}
		if got, err := list(page("a", "1"), page("b", "")); err != nil || len(got) != 2 || got[1].Name != "b" {
			t.Errorf("got %v and %v", got, err)
		}
		for _, pages := range [][]string{{page("a", "1"), page("b", "2"), page("c", "")}, {`{"tools":[],"nextCursor":"1"}`}, {page("", "")}, {`{"tools":[null]}`}, {`{"tools":[{"name":"a"}]}`}, {`{"tools":7}`}, {`7`}} {
			if got, err := list(pages...); err == nil {
				t.Errorf("%v: got %v, want an error", pages, got)
			}
		}
		go answer(`"result":{"content":[{"type":"text","text":"moved"}]}`)
		if res, err := s.CallTool(t.Context(), "a", json.RawMessage(`{"x":1}`)); err != nil || res.Text() != "moved" {
			t.Errorf("got %v and %v", res, err)
		}
		go answer(`"result":7`)
		if _, err := s.CallTool(t.Context(), "a", nil); err == nil {
			t.Error("a malformed result: got no error")
		}
		if _, err := s.CallTool(t.Context(), "slow", nil); err == nil {
			t.Error("a view that does not answer: got no error")
		}
		go func() { v.next(); v.next(); _ = v.conn.Close() }()
		if _, err := s.CallTool(t.Context(), "a", nil); err == nil {
			t.Error("a view that has gone: got no error")
		}
		if _, err := s.Tools(t.Context()); err == nil {
			t.Error("the tools of a view that has gone: got no error")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s, _ := begun(t, &scripted{}, nil, `{}`)
		<-s.Ready()
		_, err := s.Tools(t.Context())
		if _, also := s.CallTool(t.Context(), "a", nil); err == nil || also == nil {
			t.Error("a view without tools: got no error")
		}
	})
}
