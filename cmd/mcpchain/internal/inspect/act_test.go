package inspect

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// A server does what it is asked for, and its answer reaches the terminal without the characters that a terminal obeys.
func TestAct(t *testing.T) {
	both := servers(demo, odd)
	const refusedForm = "\"elicitation/create\" cannot be sent while serving a request on protocol version 2026-07-28: return an InputRequests map instead (multi round-trip requests, SEP-2322)\n"
	const shown = "two\nlines\\x1b[2J\\u009b31m\\u202e\n"
	for name, tt := range map[string]struct {
		file        string
		args        []string
		status      int
		out, stderr string
	}{
		"tool":             {both, []string{"FILE", "-server", "demo", "-call", "add", `{"a":1,"b":2}`}, statusFine, "1 + 2 = 3\n", ""},
		"the only server":  {servers(demo), []string{"-call", "add", "FILE", `{"a":1,"b":2}`}, statusFine, "1 + 2 = 3\n", ""},
		"progress":         {both, []string{"FILE", "-server", "demo", "-call", "count", `{"to":1}`}, statusFine, "counted to 1\n", "mcpchain: progress: 1/1 counted to 1"},
		"failing tool":     {both, []string{"-server", "odd", "-call", "shout"}, statusFailed, shown, "the server reports an error"},
		"tool that asks":   {servers(`"w":{"command":"SELF","env":{"MCPCHAIN_INSPECT_ROLE":"wedge"}}`), []string{"-call", "picky"}, statusFailed, refusedForm, `connect with 2025-11-25, by -revision or "revision" in the file`},
		"tool that cannot": {servers(`"w":{"command":"SELF","env":{"MCPCHAIN_INSPECT_ROLE":"wedge"}}`), []string{"FILE", "-call", "picky", `{"fail":true}`}, statusFailed, "", `connect with 2025-11-25, by -revision or "revision" in the file)`},
		"unknown tool":     {both, []string{"-server", "demo", "-call", "ad"}, statusMissing, "", `there is no tool "ad" to use (did you mean "add"?); there are "add", `},
		"unusable tool":    {both, []string{"-server", "odd", "-call", "foreign"}, statusMissing, "", `tool "foreign" cannot be used: `},
		"excluded tool":    {strings.Replace(servers(demo), `"env"`, `"excludeTools":["add"],"env"`, 1), []string{"-call", "add"}, statusMissing, "", `there is no tool "add" to use`},
		"resource":         {both, []string{"-server", "odd", "-read", "odd://text"}, statusFine, "odd://text:\n" + shown + "odd://\\x1b[2J:\n[x/\\x1b[2J, 3 bytes; -json has them]\n", ""},
		"no answer":        {both, []string{"-server", "odd", "-read", "odd://none"}, statusMissing, "", "came to its end: exit status 2; it wrote to stderr:"},
		"no resource":      {both, []string{"-server", "demo", "-read", "demo://none"}, statusFailed, "", "the server refused: read resource"},
		"prompt":           {both, []string{"FILE", "-server", "odd", "-prompt", "say", "what=a=b "}, statusFine, "user:\n  a=b two\n  lines\\x1b[2J\\u009b31m\\u202e\n", ""},
		"missing":          {both, []string{"FILE", "-server", "demo", "-prompt", "evening"}, statusUsage, "", "the prompt evening needs city, as in city=…"},
		"mistyped":         {both, []string{"FILE", "-server", "odd", "-prompt", "say", "wat=a"}, statusUsage, "", `the prompt say has no argument "wat" (did you mean "what"?)`},
		"two servers":      {both, []string{"-call", "add"}, statusUsage, "", `-server: name one of "demo", "odd"`},
		"two, one broken":  {servers(odd, typo), []string{"-read", "odd://text"}, statusUsage, "", `-server: name one of "odd", "typo"`},
		"one enabled":      {servers(demo, `"off":{"command":"x","disabled":true}`), []string{"FILE", "-call", "add", `{"a":1,"b":2}`}, statusFine, "1 + 2 = 3\n", ""},
		"task":             {servers(`"w":{"command":"SELF","env":{"MCPCHAIN_INSPECT_ROLE":"tasks"}}`), []string{"-call", "research"}, statusFine, "found\n", ""},
		"no server":        {servers(), []string{"-call", "add"}, statusMissing, "", "no server of the file is enabled"},
		"wrong server":     {servers(typo), []string{"-call", "add"}, statusMissing, "", "unknown key"},
		"missing server":   {servers(gone), []string{"-call", "add"}, statusMissing, "", `server "gone"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, out, stderr := inspectFile(t, tt.file, tt.args...)
			check.That(t, status == tt.status && out == tt.out && strings.Contains(stderr, tt.stderr) && (tt.stderr != "" || stderr == ""),
				"got %d, %q and %q, want %d, %q and %q", status, out, stderr, tt.status, tt.out, tt.stderr)
		})
	}
}

// The arguments of a call are sent as they were written: a long number is not rounded.
func TestLongNumber(t *testing.T) {
	const arguments = `{"id":9007199254740993}`
	o := check.Value(parse([]string{"mcp.json", "-call", "add", arguments}, func(string) string { return "" }, io.Discard))(t)
	check.Equal(t, "", string(check.Value(json.Marshal(o.arguments))(t)), arguments)
	for _, wrong := range []string{`[1]`, `null`, `{"a":1`, ``} {
		check.That(t, check.Err(parse([]string{"mcp.json", "-call", "add", wrong}, func(string) string { return "" }, io.Discard)) != nil, "%q: got no error", wrong)
	}
}

// As JSON, the answer is whole.
func TestActJSON(t *testing.T) {
	t.Parallel()
	_, out, _ := inspectFile(t, servers(odd), "-json", "-read", "odd://text")
	var r struct{ Contents []struct{ Text, Blob string } }
	err := json.Unmarshal([]byte(out), &r)
	check.That(t, err == nil && len(r.Contents) == 2 && r.Contents[0].Text == hostile && r.Contents[1].Blob == "YWJj", "got %s, %v, want both parts", out, err)
	check.That(t, !strings.ContainsAny(out, "\x1b\u009b\u202e"), "got %q, want nothing that a terminal obeys", out)
}

// The timeout of the file and the flags bound the silence of whatever is asked, and a call.
func TestTimeouts(t *testing.T) {
	t.Parallel()
	const file, plain = `"w":{"command":"SELF","timeout":"50ms","env":{"MCPCHAIN_INSPECT_ROLE":"wedge"}}`, `"w":{"command":"SELF","env":{"MCPCHAIN_INSPECT_ROLE":"wedge"}}`
	const idle = "neither an answer nor progress within 50ms; -idle-timeout gives it longer, or the server's \"timeout\" in the file"
	for _, tt := range []struct{ server, flags, want string }{
		{file, "-call wedge", idle}, {file, "-read wedge://x", idle}, {file, "-prompt wedge", idle},
		{plain, "-call wedge -idle-timeout 50ms", idle}, {plain, "-call wedge -call-timeout 50ms", "no answer within 50ms; -call-timeout gives it longer"},
	} {
		status, out, stderr := inspectFile(t, servers(tt.server), strings.Fields(tt.flags)...)
		check.That(t, status == statusMissing && out == "" && stderr == "mcpchain: "+tt.want+"\n",
			"%s: got %d, %s%s\nwant %s", tt.flags, status, out, stderr, tt.want)
	}
	status, out, stderr := inspectFile(t, servers(plain), "-prompt", "fine", "-idle-timeout", "3s") // of the list, too, which the server never sends
	check.That(t, status == statusFine && out == "user:\n  fine\n" && stderr == "", "got %d, %s%s, want the prompt", status, out, stderr)
}

// TestBreaches shows what a server does wrong in a call, and with -server-log what it logs.
func TestBreaches(t *testing.T) {
	t.Parallel()
	file := servers(`"w":{"command":"SELF","env":{"MCPCHAIN_INSPECT_ROLE":"breaches"}}`)
	const logged = "mcpchain: log of the server \"w\", db: warning: {\"slow\":\"\\u001b[2J\"}\n"
	status, out, stderr := inspectFile(t, file, "-call", "any", "-server-log", "info")
	check.That(t, status == statusFine && out == "done\n" && strings.Contains(stderr, logged), "got %d, %q and %s, want the answer, and %s", status, out, stderr, logged)
	status, out, stderr = inspectFile(t, file, "-call", "any")
	check.That(t, status == statusFine && out == "done\n" && !strings.Contains(stderr, "slow"), "got %d, %q and %s, want the answer alone", status, out, stderr)
	for _, want := range []string{"response to a request that was never sent", "99", "refused a malformed request of the server", "method=elicitation/create", "requested schema"} {
		check.Contains(t, "", stderr, want)
	}
}

// TestFile finds the file as a word, as the flag of other commands, and in the person's configuration.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("HOME", dir)
	none := func(string) string { return "" }
	check.Text(t, check.Err(parse(nil, none, io.Discard)), "want a file", "mcp.json: there is no ")
	own := cli.Place("mcp.json")
	check.Must(t, os.MkdirAll(filepath.Dir(own), 0o700))
	check.Must(t, os.WriteFile(own, []byte("{}"), 0o600))
	for line, want := range map[string]string{"": own, "a.json": "a.json", "-config b.json": "b.json", `-config b.json -call x {}`: "b.json", "-call x {}": own, "-prompt x a=b/c": own, "-prompt x ./a=b c=d": "./a=b"} {
		o, err := parse(strings.Fields(line), none, io.Discard)
		check.That(t, err == nil && o.file == want, "%q: got %+v, %v, want %s", line, o, err, want)
	}
}

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
		r, err := q.Elicit(t.Context(), &mcp.ElicitParams{Mode: mcp.ElicitURL, Message: hostile, URL: "https://me:secret@example.com/a?key=secret"})
		check.That(t, err == nil && r.Action == "decline", "got %+v, %v, want it declined", r, err)
	}
	text := shown.String()
	if n := strings.Count(text, `asks you to visit https://example.com/a: two lines\x1b[2J\u009b31m\u202e`); n != maxQuestions ||
		strings.Contains(text, "secret") || !q.ElicitationCapability().URL || !strings.HasSuffix(text, "mcpchain: further questions are not shown\n") || q.declined() != 2*maxQuestions {
		t.Errorf("got %d times in %s, want %d and then the end", n, text, maxQuestions)
	}
}
