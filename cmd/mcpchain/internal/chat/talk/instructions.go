package talk

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/agent/skillset"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/skills"
)

// Bounds of servers' instructions for the model.
const (
	maxInstructions    = 2000   // characters of a server's instructions
	maxAllInstructions = 10_000 // characters
	maxQuotedLine      = 300    // characters of one line that are shown to the person
	maxQuoted          = 1000   // characters of several lines that are shown to the person
	maxQuotedLines     = 8      // of one server
)

// instructions are what the model gets from servers before it is asked anything: their instructions and skills.
type instructions struct {
	screen   screen.Screen
	servers  *Servers
	withheld bool

	shown  map[string]string // instructions that the person has seen, by server
	skills []skillInfo
}

// systemPrompt returns the task of the model and, unless they are withheld, the instructions of servers. It quotes them
// and shows them to the person, because they reach the model without an approval. If they exceed maxAllInstructions, it
// leaves some out, with a note for the person.
func (i *instructions) systemPrompt() string {
	var b strings.Builder
	b.WriteString("You are a helpful assistant. Use the tools when they help, and say what they told you.")
	remaining := maxAllInstructions
	for _, server := range i.servers.toolset.Servers() {
		if server.Client == nil || server.Ended != nil || i.withheld {
			continue
		}
		text := truncate(strings.TrimSpace(server.Client.Server().Instructions), maxInstructions)
		length := utf8.RuneCountInString(text)
		switch {
		case length == 0:
		case length > remaining:
			i.screen.Note(screen.Warn, "left out: the instructions of the server %s, as other instructions are long",
				server.Name)
		default:
			remaining -= length
			if i.shown[server.Name] != text {
				i.shown[server.Name] = text
				i.screen.Note(screen.Faint, "server %s tells the model:%s", server.Name, quoteLines(text))
			}
			fmt.Fprintf(&b, "\n\nWhat the server %q says of the use of its tools, in quotes, and of nothing else: %s",
				server.Name, hosttext.Quote(text))
		}
	}
	return b.String()
}

// truncate cuts a text to at most so many characters.
func truncate(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}

// quoteLines formats a text for a note: on the same line if it has one line, otherwise the first lines below.
func quoteLines(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	if len(lines) == 1 {
		return " " + hosttext.Line(text, maxQuotedLine)
	}
	shown := "\n" + hosttext.Block(strings.Join(lines[:min(len(lines), maxQuotedLines)], "\n"), maxQuoted)
	if more := len(lines) - maxQuotedLines; more > 0 {
		shown += "\n  … " + cli.Plural(more, "more line")
	}
	return shown
}

// skillInfo describes a skill that the model may load.
type skillInfo struct{ server, name, about string }

// openSkills returns the skills of servers, nil if there are none, and shows the person a note about them. It leaves
// out a server whose list cannot be read. Unless the context ends, it updates the list for /skills.
func (i *instructions) openSkills(ctx context.Context) (*skillset.Set, error) {
	if i.withheld {
		return nil, nil
	}
	clients := i.servers.clients()
	var found []skillInfo
	note := func(server string, skill *skills.Skill) bool {
		found = append(found, skillInfo{server, skill.Name, skill.Description})
		return true
	}
	set, err := skillset.Open(ctx, clients, note)
	if err != nil && ctx.Err() == nil {
		for name, client := range clients {
			_, err := skillset.Open(ctx, map[string]*mcpclient.Client{name: client}, nil)
			if err != nil { // the reason is this server
				i.screen.Note(screen.Warn, "left out: the skills of the server %s: %v", name, err)
				delete(clients, name)
			}
		}
		found = nil
		set, err = skillset.Open(ctx, clients, note)
	}
	if ctx.Err() != nil {
		// The cause itself would count as reported.
		return nil, fmt.Errorf("list skills: %w", context.Cause(ctx))
	}
	i.skills = found
	if err != nil || len(found) == 0 {
		return nil, err
	}
	i.screen.Note(screen.Faint, "servers offer the model %s; /skills lists them", cli.Plural(len(i.skills), "skill"))
	for _, err := range set.Skipped() {
		i.screen.Note(screen.Warn, "left out: a skill: %s", hosttext.Line(err.Error(), 300))
	}
	return set, nil
}

// listSkills is the command /skills.
func (i *instructions) listSkills(context.Context, string) error {
	for _, skill := range i.skills {
		listItem(i.screen, skill.name, skill.server, skill.about)
	}
	if len(i.skills) == 0 {
		i.screen.List(screen.Faint, "no server offers skills to the model")
		return nil
	}
	i.screen.List(screen.Faint,
		"The model may read their instructions by the tool load_skill; -no-instructions withholds them.")
	return nil
}
