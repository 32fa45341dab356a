package adapter

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// events records the events of a toolset.
type events struct {
	mu  sync.Mutex
	all []Event
}

func (e *events) hear(event Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, event)
}

// take returns the events since its last call. It must be called in a bubble, and waits until that is idle.
func (e *events) take() []Event {
	synctest.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	out := e.all
	e.all = nil
	return out
}

func wantEvents(t *testing.T, e *events, want ...Event) {
	t.Helper()
	check.Same(t, "events", e.take(), want)
}

// listener is a modern server whose announcements a test controls. It declares changes of its tools and prompts.
type listener struct {
	conn transport.Conn
	way  mcpclient.Transport

	refuse, mute bool // subscriptions/listen: answers with an error, not at all
	listless     bool // tools/list: answers with an error

	mu     sync.Mutex
	heard  []string          // methods, and the requests that were cancelled
	listen []json.RawMessage // the ids of subscriptions
	filter string            // of the last one
	tools  []string
}

func newListener(t *testing.T, tools ...string) *listener {
	l := &listener{tools: tools}
	l.way, l.conn = answeredBy(t, func(m *testenv.Message) string { return l.answer(t, m) })
	return l
}

func (l *listener) answer(t *testing.T, m *testenv.Message) string {
	var params struct{ Notifications, RequestID json.RawMessage }
	if m.Params != nil {
		check.Must(t, json.Unmarshal(m.Params, &params))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heard = append(l.heard, m.Method+string(params.RequestID))
	switch m.Method {
	case "server/discover":
		return `"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"prompts":{"listChanged":true}}}`
	case "tools/list":
		if l.listless {
			return `"error":{"code":-32603,"message":"not yet"}`
		}
		list := []string{}
		for _, name := range l.tools {
			list = append(list, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name))
		}
		return `"result":{"resultType":"complete","ttlMs":3600000,"tools":[` + strings.Join(list, ",") + `]}`
	case "tools/call":
		return `"result":{"resultType":"complete","content":[{"type":"text","text":"done"}]}`
	case "subscriptions/listen":
		l.listen, l.filter = append(l.listen, m.ID), string(params.Notifications)
		if l.refuse {
			return `"error":{"code":-32601,"message":"not here"}`
		}
		if !l.mute {
			_ = l.agreeLocked(t)
		}
	}
	return ""
}

func (l *listener) send(t *testing.T, format string, args ...any) error {
	return l.conn.Send(t.Context(), fmt.Appendf(nil, format, args...))
}

// subscription returns the id of the last subscription.
func (l *listener) subscription() json.RawMessage {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.listen[len(l.listen)-1]
}

func (l *listener) agree(t *testing.T) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.agreeLocked(t)
}

func (l *listener) agreeLocked(t *testing.T) error {
	return l.send(t, `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{"toolsListChanged":true,"promptsListChanged":true}}}`, l.listen[len(l.listen)-1])
}

// tell announces a change of a list.
func (l *listener) tell(t *testing.T, list string) {
	t.Helper()
	check.NoError(t, l.send(t, `{"jsonrpc":"2.0","method":"notifications/%s/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`,
		list, l.subscription()))
}

// offer changes the tools without an announcement.
func (l *listener) offer(tools ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tools, l.listless = tools, false
}

// count returns the number of requests of a method.
func (l *listener) count(method string) int {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, m := range l.heard {
		if m == method {
			n++
		}
	}
	return n
}
