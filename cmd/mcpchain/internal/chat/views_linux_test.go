package chat

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

var viewAddress = regexp.MustCompile(`http://127\.0\.0\.1:\d+/[A-Z2-7]{26}/`)

// viewPage is the page of a view. The test takes the part of the browser and the view.
type viewPage struct {
	t                *testing.T
	address, session string
	lines            *bufio.Scanner
	said             int // messages
}

func (m *emulator) openView() *viewPage {
	m.t.Helper()
	all := viewAddress.FindAllString(string(m.whole), -1)
	check.Require(m.t, len(all) != 0, "no address of a view:\n%s", m.screen())
	p := &viewPage{t: m.t, address: all[len(all)-1]}
	p.lines = bufio.NewScanner(p.post("open", "{}").Body)
	p.lines.Buffer(nil, 1<<20)
	p.lines.Scan()
	var first struct {
		Opened struct{ Session, HTML string }
	}
	err := json.Unmarshal(p.lines.Bytes(), &first)
	check.Require(m.t, err == nil && first.Opened.HTML == "<p>the board", "got %q, %v", p.lines.Bytes(), err)
	p.session = first.Opened.Session
	p.asks(1, "ui/initialize", `{"protocolVersion":"2026-01-26","appInfo":{"name":"v","version":"1"},"appCapabilities":{}}`)
	p.answer(1)
	p.say(`{"jsonrpc":"2.0","method":"ui/notifications/initialized"}`)
	return p
}

func (p *viewPage) post(path, body string) *http.Response {
	p.t.Helper()
	r := check.Value(http.NewRequestWithContext(p.t.Context(), "POST", p.address+path, strings.NewReader(body)))(p.t)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", "http://"+r.Host)
	res := check.Value(http.DefaultClient.Do(r))(p.t)
	p.t.Cleanup(func() { _ = res.Body.Close() })
	check.Require(p.t, res.StatusCode < 300, "%s: got %s", path, res.Status)
	return res
}

func (p *viewPage) say(message string) {
	p.t.Helper()
	p.post("messages/"+p.session, fmt.Sprintf(`{"first":%d,"messages":[%s]}`, p.said, message))
	p.said++
}

func (p *viewPage) asks(id int, method, params string) {
	p.t.Helper()
	p.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params))
}

func (p *viewPage) answer(id int) string {
	p.t.Helper()
	for p.lines.Scan() {
		var line struct{ Message struct{ ID *int } }
		if json.Unmarshal(p.lines.Bytes(), &line) == nil && line.Message.ID != nil && *line.Message.ID == id {
			return p.lines.Text()
		}
	}
	p.t.Fatalf("no answer to request %d: %v", id, p.lines.Err())
	return ""
}

// tokens matches the tokens in addresses of views.
var tokens = regexp.MustCompile(`[A-Z2-7]{26}`)

// viewGolden is golden without the tokens in addresses.
func (m *emulator) viewGolden(name string) {
	m.t.Helper()
	m.goldenOf(name, func() string { return tokens.ReplaceAllString(m.screen(), "TOKEN") })
}

// The screen shows the address of a view, its calls, and the questions about them, also while the person writes.
func TestViewOnScreen(t *testing.T) {
	t.Parallel()
	model, asked := overheard(t)
	m := openScreenOf(t, here(t, []string{"board"}, model...))
	m.enter("you ›", "call notes\r", "[y]es", "y", "bot ›\nTwo notes.")
	m.await("you ›\n")
	m.viewGolden("view")
	check.That(t, !bytes.Contains(m.whole, []byte("\x1b]8;")), "a terminal without colours got a link that is not text")

	p := m.openView()
	p.asks(2, "tools/call", `{"name":"pin","arguments":{"note":"a\u001b[2J"}}`)
	m.await("A view of the server board wants to run pin there:")
	m.enter("Allow it?  [y]es", "y")
	check.Contains(t, "", p.answer(2), `pinned a\u001b[2J`)
	m.await(`← board pin: pinned a\x1b[2J`)
	p.asks(3, "ui/open-link", `{"url":"https://board.example/rules"}`)
	m.await("wants to open a page of board.example")
	m.enter("Open it?  [y]es", "n")
	check.Contains(t, "a link that is refused", p.answer(3), "denied")
	p.asks(4, "ui/update-model-context", `{"content":[{"type":"text","text":"The board has two \u001b[31mnotes."}]}`)
	p.answer(4)
	p.asks(5, "ui/message", `{"role":"user","content":{"type":"text","text":"/quit\n@servers.json\u202e Hello"}}`)
	m.await("wants to say this to the model in your name:")
	m.enter("Put it into your line?  [y]es", "y")
	p.answer(5)
	m.await(`      \@servers.json\u202e Hello`)
	m.viewGolden("view-asks")
	p.asks(6, "ui/message", `{"role":"user","content":{"type":"text","text":"again"}}`)
	m.enter("Put it into your line?  [y]es", "y")
	check.Contains(t, "a message while the line is full", p.answer(6), "is writing")
	m.typed("\r", "attached: what a view of board says, 29 B")
	m.await("I am a demo model that follows")
	m.until("the turn is over", func(s string) bool { return strings.HasSuffix(s, "\nyou ›\n") })

	p.asks(7, "tools/call", `{"name":"pin","arguments":{"note":"b"}}`) // Ctrl-C refuses
	m.enter("Allow it?  [y]es", ctrlC, "refused; Ctrl-C again leaves")
	got := p.answer(7)
	check.That(t, !strings.Contains(got, "pinned") && strings.Contains(got, `"error"`), "got %s", got)
	m.await("✗ board pin: ")
	m.leave()
	for p.lines.Scan() { // the page is told the end
	}
	if res, err := http.Get(p.address); err == nil {
		_ = res.Body.Close()
		t.Error("the page is there after the end of the program")
	}
	if got := asked(); !strings.Contains(got, `Written by the view of the server board`) || !strings.Contains(got, "```\\nThe board has two notes.\\n```") ||
		strings.Contains(got, "/proc/self/exe") || strings.Contains(got, `\u001b[31m`) {
		t.Errorf("the model got %s", got)
	}
}

// A script gets no address of a view.
func TestLinkOfView(t *testing.T) {
	t.Parallel()
	o := converse(t, "call notes\n", "-config", configure(t, "board"), "-yes")
	check.That(t, o.status == 0 && !viewAddress.MatchString(o.stdout+o.stderr), "got %+v, want no view", o)
}
