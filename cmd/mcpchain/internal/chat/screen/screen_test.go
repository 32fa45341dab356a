package screen

import (
	"strings"
	"testing"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
)

func TestCleanInput(t *testing.T) {
	for typed, want := range map[string]string{
		"Anna\x1b[D\x1b[Dx": "Annax", "\x1b[A\x1bOPhi": "hi", "a\tb\nc\r": "a\tb\nc",
		"\x1b]0;title\x07größe 漢字 🚀": "größe 漢字 🚀", "\x1b[200~pasted\x1b[201~": "pasted", "x\x00\x7f\u009b31my": "x31my",
		"\x1b": "", "\x9eena, how are you?": "\ufffdena, how are you?", // Windows-1250, not the beginning of a message to the terminal
	} {
		check.Equal(t, typed, CleanInput(typed), want)
	}
}

func FuzzCleanInput(f *testing.F) {
	f.Add("a\x1b[31mb\x9b\u009d\x1b]8;;x\x07")
	f.Fuzz(func(t *testing.T, typed string) {
		got := CleanInput(typed)
		i := strings.IndexFunc(got, func(r rune) bool { return unicode.Is(unicode.Cc, r) && r != '\n' && r != '\t' })
		check.That(t, i < 0, "%q: got %q, want no control characters", typed, got)
		check.Equal(t, typed, CleanInput(got), got)
	})
}

func TestNarrow(t *testing.T) {
	c := Completion{Items: []Item{{Text: "remember"}, {Text: "Member"}, {Text: "other"}}}
	for part, want := range map[string][]Item{"mem": {{Text: "Member"}, {Text: "remember"}}, "x": nil, "": c.Items} {
		check.Same(t, part, c.Narrow(part), want)
	}
}

// A problem is described without the name of the field, which may be long.
func TestWrong(t *testing.T) {
	for want, field := range map[string]forms.Field{
		"want a whole number":            {Name: strings.Repeat("age", 1000), Kind: forms.KindInteger},
		`want text, matching "^[0-9]+$"`: {Name: "code", Kind: forms.KindString, Pattern: "^[0-9]+$"},
		`want digits\x1b[2J`:             {Name: "code", Kind: forms.KindString, Pattern: "^[0-9]+$", Description: "digits\x1b[2J"},
	} {
		_, err := field.Parse("x")
		check.Equal(t, "", FieldProblem(&field, err), want)
	}
}

func TestEventNote(t *testing.T) {
	for want, e := range map[string]agent.Event{
		"":                      &agent.Replied{Question: &run.Question{Server: "old"}, Reply: run.Reply{Action: run.ActionAccept}}, // agent.Elicited follows
		"  answer to x: accept": &agent.Replied{Question: &run.Question{Server: "x", ServerKey: "1"}, Reply: run.Reply{Action: run.ActionAccept}},
		"the model or its provider refused to answer, or to say more": &agent.Output{StopReason: agent.StopOutput, FinishReason: model.FinishRefusal},
	} {
		_, got := EventNote(e, "")
		check.Equal(t, "", got, want)
	}
}

// The answers to a question look the same with and without colours.
func TestAnswers(t *testing.T) {
	answers := []Answer{{Key: 'y', Label: "yes: it"}, {Key: '?', Label: "?"}}
	check.Equal(t, "", (Paint{}).Answers(answers, ", "), "[y]es, [?]")
	got := Paint{colours: true}.Answers(answers, ", ")
	check.That(t, ansi.Strip(got) == "[y]es, [?]" && strings.HasPrefix(got, "\x1b[") && strings.Contains(got, "mes, \x1b["), "got %q, want coloured keys", got)
}

func TestNoteLines(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"words":        {"the quick brown fox", "the quick\n  brown\n  fox"},
		"lines":        {"one\n\ntwo three four\n", "one\n\n  two\n  three\n  four\n"},
		"indented":     {"    - one two", "    - one\n    two"},
		"wide":         {"größe 漢字 漢字", "größe 漢字\n  漢字"},
		"long word":    {"a " + strings.Repeat("x", 18) + " b", "a\n  xxxxxxxx\n  xxxxxxxx\n  xx b"},
		"hyphens":      {"use the -a-b", "use the\n  -a-b"},
		"placeholders": {"\ue000", `\ue000`},
		"tabs":         {"\tx", "    x"},
		"joined":       {strings.Repeat("👩\u200d", 6) + "👩bot ›", "👩\u200d👩\u200d👩\u200d👩\u200d👩\u200d\n  👩\u200d👩bot\n  ›"},
		"skin tones":   {strings.Repeat("👍🏽", 4), "👍🏽👍🏽👍\n  🏽👍🏽"},
		"selectors":    {strings.Repeat("❤\ufe0f", 7), strings.Repeat("❤\ufe0f", 5) + "\n  ❤\ufe0f❤\ufe0f"},
		"much space":   {strings.Repeat(" ", 50) + "x", "     x"},
	} {
		check.Equal(t, name, strings.Join(NoteLines(tt.text, 11), "\n"), tt.want)
	}
	check.Equal(t, "any width", strings.Join(NoteLines("the quick brown fox\nbot ›", 0), "\n"), "the quick brown fox\n  bot ›")
}
