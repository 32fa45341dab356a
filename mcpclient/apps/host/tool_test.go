package host_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/apps/host"
)

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
