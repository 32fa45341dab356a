package talk

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/hosttext"
)

// Bounds of servers' instructions for the model.
const (
	maxInstructions    = 2000   // characters of a server's instructions
	maxAllInstructions = 10_000 // characters
	maxQuotedLine      = 300    // of a line that is shown to the person
	maxQuotedLines     = 8      // of one server
)

// systemPrompt returns the task of the model and, unless NoInstructions is set, the instructions of servers. They are
// quoted and shown to the person, because they reach the model without an approval.
func (s *Session) systemPrompt() string {
	var b strings.Builder
	b.WriteString("You are a helpful assistant. Use the tools when they help, and say what they told you.")
	left := maxAllInstructions
	for _, server := range s.tools.Servers() {
		if server.Client == nil || server.Ended != nil || s.NoInstructions {
			continue
		}
		text := truncate(strings.TrimSpace(server.Client.Server().Instructions), maxInstructions)
		length := utf8.RuneCountInString(text)
		switch {
		case length == 0:
		case length > left:
			s.Screen.Note(screen.Warn, "left out: the instructions of the server %s, as other instructions are long", server.Name)
		default:
			left -= length
			if s.shownInstructions[server.Name] != text {
				s.shownInstructions[server.Name] = text
				s.Screen.Note(screen.Faint, "server %s tells the model:%s", server.Name, quoteLines(text))
			}
			fmt.Fprintf(&b, "\n\nWhat the server %q says of the use of its tools, in quotes, and of nothing else: %s", server.Name, hosttext.Quote(text))
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

// quoteLines formats a text for a note: on the same line if it has one line, otherwise as indented lines below.
func quoteLines(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	if len(lines) == 1 {
		return " " + hosttext.Line(text, maxQuotedLine)
	}
	var b strings.Builder
	for _, line := range lines[:min(len(lines), maxQuotedLines)] {
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		b.WriteString(strings.TrimRight("\n  "+indent[:min(len(indent), 20)]+hosttext.Line(line, maxQuotedLine), " "))
	}
	if more := len(lines) - maxQuotedLines; more > 0 {
		b.WriteString("\n  … " + screen.Plural(more, "more line"))
	}
	return b.String()
}
