package inspect

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// What a server asks in the middle of a call is shown beside the answer. A form is
// answered if -answer completes it, and other questions are declined, by a status of their own.
func TestQuestions(t *testing.T) {
	const asks = `mcpchain: the server "demo" asks for a form (date, time, people, seating, children, note): When should the table at Chez Démo be booked?` + "\n  "
	const unfilled = "No table was booked: the guest did not fill in the form (decline).\n"
	const declined = "declined; give -answer key=value for the fields, as in -answer date=…\n"
	day, hour := []string{"-answer", "date=2030-05-01"}, []string{"-answer", "demo/time=19:30", "-answer", "people=4", "-answer", "seating=On the terrace"}
	for name, tt := range map[string]struct {
		args        []string
		status      int
		out, stderr string
	}{
		"form":        {[]string{"-call", "book_table"}, statusAsked, unfilled, asks + declined},
		"form, older": {[]string{"-revision", "2025-06-18", "-call", "book_table"}, statusAsked, unfilled, asks + declined},
		"answered": {slices.Concat([]string{"-call", "book_table"}, day, hour), statusFine,
			"Booked: a table for 4 on the terrace at Chez Démo on 2030-05-01 at 19:30.\n", asks + "accepted, with date=2030-05-01, time=19:30, people=4, seating=terrace, children=false\n"},
		"answered, and more": {slices.Concat([]string{"-call", "book_table", "-answer", "other=x"}, day, hour), statusFine,
			"Booked: a table for 4 on the terrace at Chez Démo on 2030-05-01 at 19:30.\n", asks + "accepted, with date=2030-05-01, time=19:30, people=4, seating=terrace, children=false; " +
				`-answer: no field "other"; the fields are date, time, people, seating, children, note` + "\n"},
		"mistyped": {slices.Concat([]string{"-call", "book_table", "-answer", "dat=2030-05-01", "-answer", "other=x"}, hour), statusAsked, unfilled,
			asks + `declined: -answer: no field "dat"; did you mean "date"?; -answer: no field "other"; the fields are date, time, people, seating, children, note` + "\n"},
		"model": {[]string{"FILE", "-call", "summarize", `{"text":"a\u001b[2J"}`}, statusAsked, "",
			`mcpchain: the server "demo" asks for an answer of your model: Summarize the text of the user in one short sentence. a\x1b[2J` + "\n  " + noAnswer +
				"\nmcpchain: call tool \"summarize\": sampling/createMessage of the server: inspect has no model: mcp: rejected by the user\n"},
		"for nothing":   {day, statusUsage, "", "mcpchain: -answer goes with -call, -read or -prompt; mcpchain inspect -help lists the flags\n"},
		"not an answer": {[]string{"-call", "add", "-answer", "x"}, statusUsage, "", `mcpchain: invalid value "x" for flag -answer: want key=value; mcpchain inspect -help`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, out, stderr := inspectFile(t, servers(demo), tt.args...)
			check.That(t, status == tt.status && out == tt.out && strings.HasPrefix(stderr, tt.stderr) && (status == statusUsage || stderr == tt.stderr),
				"got %d, %q and %q, want %d, %q and %q", status, out, stderr, tt.status, tt.out, tt.stderr)
		})
	}
}

// A tool that fails because its question was declined is told as such: the question is what a script has to answer.
func TestFailureForAQuestion(t *testing.T) {
	t.Parallel()
	status, out, stderr := inspectFile(t, servers(`"w":{"command":"SELF","revision":"2025-11-25","env":{"MCPCHAIN_INSPECT_ROLE":"wedge"}}`), "-call", "picky")
	check.That(t, status == statusAsked && out == "decline\n" && strings.Contains(stderr, "asks for a form (name)"),
		"got %d, %q and %s, want %d and the failure", status, out, stderr, statusAsked)
}

// An address to visit is shown without its secret parts. Not all of many questions are shown, and all are declined.
func TestManyQuestions(t *testing.T) {
	t.Parallel()
	var shown strings.Builder
	q := &questions{w: &shown}
	for range 2 * maxQuestions {
		r, err := q.elicit(t.Context(), &mcp.ElicitParams{Mode: mcp.ElicitURL, Message: hostile, URL: "https://me:secret@example.com/a?key=secret"})
		check.That(t, err == nil && r.Action == "decline", "got %+v, %v, want it declined", r, err)
	}
	text := shown.String()
	if n := strings.Count(text, `asks you to visit https://example.com/a: two lines\x1b[2J\u009b31m\u202e`); n != maxQuestions ||
		strings.Contains(text, "secret") || !strings.HasSuffix(text, "mcpchain: further questions are not shown\n") || q.declined() != 2*maxQuestions {
		t.Errorf("got %d times in %s, want %d and then the end", n, text, maxQuestions)
	}
}
