package talk

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/typist"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/models"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// skilled serves a server with a skill. It calls listing before it lists the skill.
func skilled(in io.Reader, out io.Writer, listing func()) {
	answers := map[string]string{
		"server/discover": `{"supportedVersions":["2026-07-28"],"capabilities":{"resources":{},"extensions":{"io.modelcontextprotocol/skills":{}}}}`,
		"skills/list":     `{"skills":[{"uri":"skill://pdf/SKILL.md","frontmatter":{"name":"pdf","description":"Fills forms."},"resources":[{"uri":"skill://pdf/SKILL.md","digest":"sha256:0000000000000000000000000000000000000000000000000000000000000000","size":1}]}]}`,
	}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(lines.Bytes(), &m) == nil && m.ID != nil {
			if m.Method == "skills/list" {
				listing()
			}
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, cmp.Or(answers[m.Method], "{}"))
		}
	}
}

// A person who interrupts the list of skills does not make servers lose theirs.
func TestSkillsThatAreInterrupted(t *testing.T) {
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	go skilled(fromClient, toClient, func() {})
	tools, err := adapter.Open(t.Context(), []adapter.Server{{Name: "office", Transport: &mcpclient.IO{Reader: fromServer, Writer: toServer}}}, nil)
	check.Must(t, err)
	defer tools.Close()
	screen := typist.New(t)
	i := &instructions{screen: screen, connections: &connections{toolset: tools}}
	check.Must(t, check.Err(i.openSkills(t.Context())))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errInterrupted)
	check.Is(t, check.Err(i.openSkills(ctx)), errInterrupted)
	check.Equal(t, "skills", len(i.skills), 1)
	check.That(t, !strings.Contains(screen.Text(), "left out"), "got %s", screen.Text())
}

// A person who interrupts a command while it lists skills is told so.
func TestCommandThatIsInterrupted(t *testing.T) {
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	screen, interrupts := typist.New(t), new(Interrupts)
	interrupts.begin(screen)
	go skilled(fromClient, toClient, interrupts.Interrupt)
	tools, err := adapter.Open(t.Context(), nil, nil)
	check.Must(t, err)
	defer tools.Close()
	office := adapter.Server{Name: "office", Transport: &mcpclient.IO{Reader: fromServer, Writer: toServer}}
	s := newSession(Config{
		Screen: screen, Interrupts: interrupts, Servers: &Servers{Good: []adapter.Server{office}},
		Model: &Model{current: models.Model{Name: "m", BaseURL: "http://model.test/v1"}},
	})
	s.connections.toolset = tools
	check.Is(t, s.command(t.Context(), "/servers restart office"), errInterrupted)
	check.Contains(t, "screen", screen.Text(), "interrupted; Ctrl-C again leaves")
}
