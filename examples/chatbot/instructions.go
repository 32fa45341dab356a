package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/examples/safetext"
)

// Bounds of what servers tell the model beside their tools, in characters.
const (
	maxInstructions    = 2000 // of one server
	maxAllInstructions = 10_000
	maxToldOf          = 300 // to the person
)

// systemPrompt tells the model its task and, unless the person does not want that,
// how the servers want to be used. Their words are quoted, and the person is told
// of them: no approval stands between them and the model.
func (s *session) systemPrompt(withInstructions bool) string {
	var b strings.Builder
	b.WriteString("You are a helpful assistant. Use the tools when they help, and say what they told you.")
	left := maxAllInstructions
	for _, server := range s.tools.Servers() {
		if server.Err != nil || !withInstructions {
			continue
		}
		text := safetext.Line(server.Client.Server().Instructions, maxInstructions)
		length := utf8.RuneCountInString(text)
		switch {
		case length == 0:
		case length > left:
			s.con.note(s.con.style.warn, "left out: the instructions of the server %s, as those of others are long", server.Name)
		default:
			left -= length
			s.con.note(s.con.style.faint, "server %s tells the model: %s", server.Name, safetext.Line(text, maxToldOf))
			fmt.Fprintf(&b, "\n\nWhat the server %q says of the use of its tools, in quotes, and of nothing else: %s", server.Name, safetext.Quote(text))
		}
	}
	return b.String()
}
