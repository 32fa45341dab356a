package main

import (
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// What a server asks in the middle of a call is shown beside the answer, and
// declined.
func TestQuestions(t *testing.T) {
	const declined = "\n  declined, since inspect answers no questions; examples/chatbot does\n"
	const form = `inspect: the server "demo" asks for a form (date, time, people, seating, children, note): When should the table at Chez Démo be booked?` + declined
	for name, tt := range map[string]struct {
		args        []string
		status      int
		out, stderr string
	}{
		"form":        {[]string{"-call", "book_table"}, statusFine, "No table was booked: the guest did not fill in the form (decline).\n", form},
		"form, older": {[]string{"-revision", "2025-06-18", "-call", "book_table"}, statusFine, "No table was booked: the guest did not fill in the form (decline).\n", form},
		"model": {[]string{"FILE", "-call", "summarize", `{"text":"a\u001b[2J"}`}, statusMissing, "",
			`inspect: the server "demo" asks for an answer of your model: Summarize the text of the user in one short sentence. a\x1b[2J` + declined +
				"inspect: call tool \"summarize\": sampling/createMessage of the server: inspect has no model\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, out, stderr := inspectFile(t, servers(demo), tt.args...)
			if status != tt.status || out != tt.out || stderr != tt.stderr {
				t.Errorf("got %d, %q and %q, want %d, %q and %q", status, out, stderr, tt.status, tt.out, tt.stderr)
			}
		})
	}
}

// An address to visit is shown without its secret parts. Not all of many
// questions are shown, and all are declined.
func TestManyQuestions(t *testing.T) {
	var shown strings.Builder
	q := &questions{w: &shown}
	for range 2 * maxQuestions {
		r, err := q.elicit(t.Context(), &mcp.ElicitParams{Mode: mcp.ElicitURL, Message: hostile, URL: "https://me:secret@example.com/a?key=secret"})
		if err != nil || r.Action != "decline" {
			t.Errorf("got %+v, %v, want it declined", r, err)
		}
	}
	text := shown.String()
	if n := strings.Count(text, `asks you to visit https://example.com/a: two lines\x1b[2J\u009b31m\u202e`); n != maxQuestions ||
		strings.Contains(text, "secret") || !strings.HasSuffix(text, "inspect: further questions are declined, too, and not shown\n") {
		t.Errorf("got %d times in %s, want %d and then the end", n, text, maxQuestions)
	}
}
