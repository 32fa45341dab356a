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
	"github.com/mcpchain/mcpchain/mcpclient"
)

// skilled serves a server with a skill.
func skilled(in io.Reader, out io.Writer) {
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
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, cmp.Or(answers[m.Method], "{}"))
		}
	}
}

// A person who interrupts the list of skills does not make servers lose theirs.
func TestSkillsThatAreInterrupted(t *testing.T) {
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	go skilled(fromClient, toClient)
	tools, err := adapter.Open(t.Context(), []adapter.Server{{Name: "office", Transport: &mcpclient.IO{Reader: fromServer, Writer: toServer}}}, nil)
	check.Must(t, err)
	defer tools.Close()
	screen := typist.New(t)
	s := &Session{Config: Config{Screen: screen}, tools: tools}
	check.Must(t, check.Err(s.openSkills(t.Context())))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errInterrupted)
	check.Is(t, check.Err(s.openSkills(ctx)), errInterrupted)
	check.Equal(t, "skills", len(s.skills), 1)
	if strings.Contains(screen.Text(), "left out") {
		t.Errorf("got %s", screen.Text())
	}
}
