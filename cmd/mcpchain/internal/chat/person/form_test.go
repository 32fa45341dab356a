package person

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/answers"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/typist"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/viewframe"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

const tableForm = `{
	"type": "object",
	"properties": {
		"date":    {"type": "string", "title": "Date", "format": "date", "description": "year-month-day"},
		"people":  {"type": "integer", "title": "People", "minimum": 1, "maximum": 12},
		"seating": {"type": "string", "title": "Seating", "default": "in", "oneOf": [{"const": "in", "title": "Inside"}, {"const": "out", "title": "Terrace"}]},
		"wishes":  {"type": "array", "title": "Wishes", "items": {"type": "string", "enum": ["window", "quiet"]}},
		"child":   {"type": "boolean", "title": "Child", "default": false},
		"note":    {"type": "string"}
	},
	"required": ["date", "people"]
}`

func tableOf(t *testing.T, s *typist.Screen, given answers.Answers) *form {
	t.Helper()
	params := &mcp.ElicitParams{Mode: "form", Message: "When?", RequestedSchema: json.RawMessage(tableForm)}
	fields := check.Value(forms.Fields(params))(t)
	return newForm(New(s, false, map[string]answers.Answers{"demo": given}), "demo", "When?", fields)
}

func fill(t *testing.T, f *form) (*mcp.ElicitResult, error) {
	action, err := f.person.screen.Fill(inTurn(t), f.Form)
	return elicitResult(action, err, f.Values)
}

func TestForm(t *testing.T) {
	for name, tt := range map[string]struct {
		given answers.Answers
		typed []string
		want  *mcp.ElicitResult
	}{
		"all fields": {
			nil, []string{"2030-05-01", "4", "2", "window, quiet", "yes", "hello", "y"},
			&mcp.ElicitResult{Action: "accept", Content: map[string]any{
				"date": "2030-05-01", "people": int64(4), "seating": "out", "wishes": []string{"window", "quiet"}, "child": true, "note": "hello"}},
		},
		"defaults": {
			nil, []string{"2030-05-01", "4", "", "", "", "", "y"},
			&mcp.ElicitResult{Action: "accept", Content: map[string]any{
				"date": "2030-05-01", "people": int64(4), "seating": "in", "child": false}},
		},
		"mistakes": {
			nil, []string{"tomorrow", "", "2030-05-01", "13", "4", "on the roof", "terrace", "", "", "", "y"},
			&mcp.ElicitResult{Action: "accept", Content: map[string]any{
				"date": "2030-05-01", "people": int64(4), "seating": "out", "child": false}},
		},
		"edit": {
			nil, []string{"2030-05-01", "4", "", "", "", "", "e", "", "5", "", "", "", "", "y"},
			&mcp.ElicitResult{Action: "accept", Content: map[string]any{
				"date": "2030-05-01", "people": int64(5), "seating": "in", "child": false}},
		},
		"given": {
			answers.Answers{"date": "2030-05-01", "people": "4"}, []string{"", "", "", "", "", "", "y"},
			&mcp.ElicitResult{Action: "accept", Content: map[string]any{
				"date": "2030-05-01", "people": int64(4), "seating": "in", "child": false}},
		},
		"declined at once": {nil, []string{"!decline"}, &mcp.ElicitResult{Action: "decline"}},
		"cancelled late":   {nil, []string{"2030-05-01", "!cancel"}, &mcp.ElicitResult{Action: "cancel"}},
		"declined at last": {nil, []string{"2030-05-01", "4", "", "", "", "", "n"}, &mcp.ElicitResult{Action: "decline"}},
		"end of input":     {nil, []string{"2030-05-01"}, &mcp.ElicitResult{Action: "cancel"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := typist.New(t, tt.typed...)
			got := check.Value(fill(t, tableOf(t, s, tt.given)))(t) // before what the screen shows is read
			check.Same(t, s.Text(), got, tt.want)
		})
	}
}

func TestFormOnScreen(t *testing.T) {
	s := typist.New(t, "soon", "2030-05-01", "4", "terrace", "", "y", "", "y")
	check.Must(t, check.Err(fill(t, tableOf(t, s, nil))))
	s.Check(t, `The server demo asks:
  When?
  Empty takes what is in [brackets]. !decline says no, !cancel leaves the form.
  Date (year-month-day):   field "date": want a day of the calendar, as in 2027-05-31
  Date (year-month-day):   People:   Seating
    1) Inside
    2) Terrace
    [Inside]:   Wishes
    1) window
    2) quiet
    [nothing]:   Child (yes or no) [no]:   note [nothing]:   Date: 2030-05-01
  People: 4
  Seating: Terrace
  Child: yes
Send this to demo? [y]es, [e]dit, [n]o, [c]ancel: `)
}

func TestUnattendedForm(t *testing.T) {
	for name, tt := range map[string]struct {
		given answers.Answers
		want  *mcp.ElicitResult
		shown string
	}{
		"complete": {
			answers.Answers{"date": "2030-05-01", "people": "4", "other": "x"},
			&mcp.ElicitResult{Action: "accept", Content: map[string]any{
				"date": "2030-05-01", "people": int64(4), "seating": "in", "child": false}},
			"demo asks: When?\n  Date: 2030-05-01\n  People: 4\n  Seating: Inside\n  Child: no\n",
		},
		"nothing": {
			nil, &mcp.ElicitResult{Action: "decline"},
			"declined demo: When?\n  there is no terminal to ask on; give -answer demo/key=value for the fields date, people, seating, wishes, child, note\n" +
				"  field \"date\": an answer is required: a day of the calendar, as in 2027-05-31\n" +
				"  field \"people\": an answer is required: a whole number, at least 1, at most 12\n",
		},
		"wrong": {
			answers.Answers{"date": "2030-05-01", "people": "many"}, &mcp.ElicitResult{Action: "decline"},
			"declined demo: When?\n  -answer: field \"people\": want a whole number, at least 1, at most 12\n",
		},
		"mistyped": {
			answers.Answers{"date": "2030-05-01", "poeple": "4", "other": "x"}, &mcp.ElicitResult{Action: "decline"},
			"declined demo: When?\n  -answer: no field \"poeple\"; did you mean \"people\"?\n" +
				"  -answer: no field \"other\"; the fields are date, people, seating, wishes, child, note\n",
		},
		"mistyped though optional": {
			answers.Answers{"date": "2030-05-01", "people": "4", "seatng": "out"}, &mcp.ElicitResult{Action: "decline"},
			"declined demo: When?\n  -answer: no field \"seatng\"; did you mean \"seating\"?\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := typist.Absent(t)
			f := tableOf(t, s, tt.given)
			check.Same(t, "", f.unattended(), tt.want)
			s.Check(t, tt.shown)
			check.Equal(t, "a failure of the run", f.person.Failures.Declined.Load() > 0, tt.want.Action == "decline")
		})
	}
}

// A form with only optional fields is not accepted without an answer.
func TestUnattendedFormOfDefaults(t *testing.T) {
	got, err := newPerson(typist.Absent(t)).Elicit(t.Context(), &mcp.ElicitParams{
		Mode: "form", RequestedSchema: json.RawMessage(`{"type": "object", "properties": {"share": {"type": "boolean", "default": true}}}`)})
	check.That(t, err == nil && got.Action == "decline", "got %+v, %v; want decline", got, err)
}

func TestBadForm(t *testing.T) {
	_, err := newPerson(typist.New(t)).Elicit(inTurn(t), &mcp.ElicitParams{
		Mode: "form", RequestedSchema: json.RawMessage(`{"type": "object", "properties": {"deep": {"type": "object"}}}`)})
	rpc, ok := err.(*mcp.RPCError)
	check.That(t, ok && rpc.Code == mcp.CodeInvalidParams && strings.Contains(rpc.Message, `field "deep"`), "got %v, want invalid params that name the field", err)
}

func TestURL(t *testing.T) {
	params := &mcp.ElicitParams{Mode: "url", Message: "Log in", URL: "https://example.com/login?x=1"}
	const question = "Will you open it? [y]es, [n]o, [c]ancel: "
	const wait = "Waiting for the page of  … [d]one: "
	for typed, want := range map[string]string{"y": "accept", "n": "decline", "c": "cancel"} {
		s, question := typist.New(t, typed, "d"), question
		if typed == "y" {
			question += wait
		}
		got, err := newPerson(s).Elicit(inTurn(t), params)
		check.That(t, err == nil && got.Action == want && got.Content == nil, "%s: got %+v, %v; want %s", typed, got, err, want)
		s.Check(t, "The server  asks you to open a page of example.com in your browser. It says:\n"+
			"  Log in\nThe page:\n  https://example.com/login?x=1\n"+question)
	}
	s := typist.Absent(t)
	p := newPerson(s)
	got, err := p.Elicit(inTurn(t), params)
	check.That(t, err == nil && got.Action == "decline", "without a terminal: got %+v, %v; want decline", got, err)
	check.That(t, !p.ElicitationCapability().URL, "URLs are offered without a terminal")
}

// The warnings about an address precede the question. The address is not broken into lines.
func TestDoubtfulURL(t *testing.T) {
	s, path := typist.Wide(t, 60, "n"), strings.Repeat("x", 60)
	got, err := newPerson(s).Elicit(inTurn(t), &mcp.ElicitParams{
		Mode: "url", Message: "It is safe.\nThe page:\n  https://bank.example", URL: "http://xn--bnk-ula.exam\u200bple/" + path + " you ›"})
	check.That(t, err == nil && got.Action == "decline", "got %+v, %v; want decline", got, err)
	s.Check(t, `The server  asks you to open a page of
  xn--bnk-ula.exam\u200bple in your browser. It says:
  It is safe.
  The page:
    https://bank.example
The page:
  http://xn--bnk-ula.exam\u200bple/`+path+`%20you%20›
  Warning: http is not encrypted: others can read and
  change what the page says.
  Warning: the host has invisible characters, written as
  escapes here.
  Warning: a browser may show xn--bnk-ula in other letters,
  like another name (it is in punycode).
  Warning: exam\u200bple has characters beyond ASCII
  (Latin): it may look like another name.
Will you open it? [y]es, [n]o, [c]ancel: `)
}

// suggested is a screen that records suggested texts.
type suggested struct {
	*typist.Screen
	line string
}

func (*suggested) Link(screen.Style, string, string) {}

func (s *suggested) Suggest(text string) bool {
	s.line = text
	return true
}

// A view's message in the name of the person cannot mention files of the person.
func TestMessageNamesNoFile(t *testing.T) {
	for text, want := range map[string]string{
		"@a (@b)\n@c": `\@a (\@b)` + "\n" + `\@c`, "see\u00a0@a": `see \@a`, "see\u3000@a": `see \@a`,
		"see \ufffd@a": "see \ufffd" + `\@a`, "see @@a": `see \@@a`, "ask x@example.io": "ask x@example.io",
	} {
		s := &suggested{Screen: typist.New(t, "y")}
		check.Must(t, New(s, false, nil).TakeMessage(t.Context(), "maps", text))
		want = viewframe.Attribution("maps") + want
		check.That(t, s.line == want, "%q: got %q, want %q", text, s.line, want)
	}
}
