package mcpchain

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/signin"
	"github.com/mcpchain/mcpchain/mcpclient/config"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// TestTerminal asks each kind of question, with each possible answer of a person.
func TestTerminal(t *testing.T) {
	visit := &run.Question{ID: "q", Kind: run.QuestionURL, Server: "shop", Elicit: &mcp.ElicitParams{Message: "Pay\u200b", URL: "https://pay.example.com/x"}}
	signIn := &run.Question{ID: "q", Kind: run.QuestionSignIn, Server: "shop", URL: "http://auth.example.com/x"}
	doubt := &run.Question{ID: "q", Kind: run.QuestionDoubt, Server: "shop", Tool: "buy", Arguments: json.RawMessage(`{"n":1}`)}
	approval := &run.Question{ID: "q", Kind: run.QuestionApproval, Server: "shop", Tool: "run\u3164", Arguments: json.RawMessage("{\"a\": \"\U000e0041\"}")}
	native := &run.Question{ID: "q", Kind: run.QuestionApproval, Tool: "now", Arguments: json.RawMessage(`{}`)}
	script := &run.Question{ID: "q", Kind: run.QuestionURL, Server: "shop", Elicit: &mcp.ElicitParams{URL: "javascript:alert(1)"}}
	for name, tt := range map[string]struct {
		q     *run.Question
		typed string
		want  run.Reply // the zero value: none
		shown string
	}{
		"visited":        {visit, "y\n", run.Reply{Question: "q", Action: run.ActionAccept}, "\"shop\" asks you: \"Pay\\u200b\"\nat pay.example.com:\n\n  https://pay.example.com/x\n\n"},
		"not visited":    {visit, "no\n", run.Reply{Question: "q", Action: run.ActionDecline}, ""},
		"nobody visits":  {visit, "", run.Reply{Question: "q", Action: run.ActionCancel}, ""},
		"not a page":     {script, "", run.Reply{Question: "q", Action: run.ActionDecline}, "declined: "},
		"signed in":      {signIn, "y\n", run.Reply{Question: "q", Action: run.ActionAccept}, "Warning: http is not encrypted"},
		"it ran":         {doubt, "y\n", run.Reply{Question: "q", Action: run.ActionRan}, `It is not known whether "buy" on "shop" ran with {"n":1}. Did it?`},
		"it did not run": {doubt, "what\nn\n", run.Reply{Question: "q", Action: run.ActionNotRun}, ""},
		"nobody knows":   {doubt, "", run.Reply{}, ""},
		"allowed":        {approval, "y\n", run.Reply{Question: "q", Action: run.ActionAllow}, `Run "run\u3164" on "shop" with {"a":"\udb40\udc41"}?`},
		"in full":        {native, "Yes\n", run.Reply{Question: "q", Action: run.ActionAllow}, ""},
		"denied":         {native, "NO\n", run.Reply{Question: "q", Action: run.ActionDeny, Reason: "the user said no"}, ""},
		"for always":     {native, "a\n", run.Reply{Question: "q", Action: run.ActionAllow, Scope: run.ScopeTool}, `Run "now" with {}?`},
		"asked again":    {native, "\nok\ny\n", run.Reply{Question: "q", Action: run.ActionAllow}, "Please type y, n or a: Please type y, n or a: "},
		"nobody allows":  {native, "", run.Reply{Question: "q", Action: run.ActionDeny, Reason: ErrInputEnded.Error()}, ""},
	} {
		var shown strings.Builder
		got := check.Value((&Terminal{In: strings.NewReader(tt.typed), Out: &shown}).Reply(t.Context(), tt.q))(t)
		check.Same(t, name, got, tt.want)
		check.Contains(t, name+": the person saw", shown.String(), tt.shown)
	}
}

// TestFormShowsWhatIsMeant checks that the defaults of a form are shown as its options are, and that a refused
// value is answered by what the field takes.
func TestFormShowsWhatIsMeant(t *testing.T) {
	form := &run.Question{ID: "q", Kind: run.QuestionForm, Server: "shop", Elicit: &mcp.ElicitParams{Message: "Order", RequestedSchema: json.RawMessage(`{
		"type": "object", "properties": {
			"size": {"title": "Size", "type": "string", "oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}], "default": "l"},
			"with": {"title": "With", "type": "array", "items": {"anyOf": [{"const": "1", "title": "Salt"}, {"const": "2", "title": "Oil"}]}, "default": ["1", "2"]},
			"note": {"title": "Note", "type": "string", "default": "nothing"},
			"gift": {"title": "A gift", "type": "boolean", "default": true},
			"n": {"title": "How many", "type": "integer", "default": 1}
		}}`)}}
	var shown strings.Builder
	got := check.Value((&Terminal{In: strings.NewReader("\n\n\nperhaps\n\n\n"), Out: &shown}).Reply(t.Context(), form))(t)
	check.Equal(t, "the content", string(got.Content), `{"gift":true,"n":1,"note":"nothing","size":"l","with":["1","2"]}`)
	want := `"shop" asks: "Order"
  "Size" 1="Small" 2="Large" ["Large"]:   "With" 1="Salt" 2="Oil" ["Salt, Oil"]:   "Note" ["nothing"]: ` +
		`  "A gift", yes or no ["yes"]:   want yes or no
  "A gift", yes or no ["yes"]:   "How many" ["1"]: `
	check.Same(t, "the person saw", shown.String(), want)
}

// TestLongMessage bounds what a server shows, so that it cannot push earlier lines off the screen.
func TestLongMessage(t *testing.T) {
	long := strings.Repeat("x ", 1<<16)
	for kind, asked := range map[run.QuestionKind]*mcp.ElicitParams{
		run.QuestionURL:  {Message: long, URL: "https://example.com/"},
		run.QuestionForm: {RequestedSchema: json.RawMessage(`{"type": "object", "properties": {"a": {"type": "string", "title": "` + long + `"}}}`)},
	} {
		var shown strings.Builder
		q := &run.Question{ID: "q", Kind: kind, Server: "shop", Elicit: asked}
		check.Must(t, check.Err((&Terminal{In: strings.NewReader("n\n"), Out: &shown}).Reply(t.Context(), q)))
		check.That(t, shown.Len() <= 2*maxShown, "%s: got %d bytes, want at most %d", kind, shown.Len(), 2*maxShown)
	}
}

// TestQuestionThatEnds checks that the line typed after a cancelled question answers the next one.
func TestQuestionThatEnds(t *testing.T) {
	in, typed := io.Pipe()
	defer typed.Close()
	var shown strings.Builder
	you := &Terminal{In: in, Out: &shown}
	ctx, cancel := context.WithCancelCause(t.Context())
	over := errors.New("it is over")
	cancel(over)
	check.Is(t, check.Err(you.ReadLine(ctx, "first:")), over, "the cause of the end")
	go func() { _, _ = io.WriteString(typed, "a line\n") }()
	check.Equal(t, "second", check.Value(you.ReadLine(t.Context(), "second:"))(t), "a line")
	check.Equal(t, "the person saw", shown.String(), "first: \nsecond: ")
}

// TestQuestionThatWaitsForAnother checks that a question whose turn does not come ends with its context.
func TestQuestionThatWaitsForAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, typed := io.Pipe()
		defer typed.Close()
		you := &Terminal{In: in, Out: io.Discard}
		first := make(chan error, 1)
		go func() { first <- check.Err(you.ReadLine(t.Context(), "first:")) }()
		synctest.Wait()
		over := errors.New("it is over")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, over)
		defer cancel()
		check.Is(t, check.Err(you.ReadLine(ctx, "second:")), over, "the cause of the end")
		you.note(ctx, "not shown") // so that Close of a host need not wait for a line
		_, _ = io.WriteString(typed, "a line\n")
		check.NoError(t, <-first)
	})
}

// TestLongLine has a person paste a text, which does not end the input; the last line has no line break.
func TestLongLine(t *testing.T) {
	long := strings.Repeat("text ", 50_000) + "."
	you := &Terminal{In: strings.NewReader(long + "\r\nlast"), Out: io.Discard}
	for _, want := range []string{long, "last"} {
		got := check.Value(you.ReadLine(t.Context(), "question:"))(t)
		check.That(t, got == want, "got %d bytes, want %d", len(got), len(want))
	}
	check.Is(t, check.Err(you.ReadLine(t.Context(), "question:")), ErrInputEnded, "the end of the input")
}

// TestInputOfTheFile asks for an input of an mcp.json.
func TestInputOfTheFile(t *testing.T) {
	you := &Terminal{In: strings.NewReader("value\n"), Out: io.Discard}
	check.Equal(t, "the value", check.Value(you.askInput(t.Context(), &config.Input{ID: "key"}))(t), "value")
	check.Equal(t, "nobody is there", check.Err(you.askInput(t.Context(), &config.Input{ID: "key"})), ErrInputEnded)
}

// TestVisit completes a sign-in with the address of its last page, and stops one.
func TestVisit(t *testing.T) {
	link := &signin.Visit{URL: "https://auth.example.com/a", Link: linkOf(t, "https://auth.example.com/a")}
	var shown strings.Builder
	you := &Terminal{In: strings.NewReader("n\nhttp://127.0.0.1/?code=c\ns\nn\n Stop\n"), Out: &shown}
	check.Equal(t, "the last page", check.Value(you.visit(t.Context(), "mail", link))(t), "http://127.0.0.1/?code=c")
	check.Contains(t, "the person saw", shown.String(), "The server \"mail\" wants you to sign in at auth.example.com:\n\n  https://auth.example.com/a\n")
	for _, when := range []string{"before", "after"} {
		check.Equal(t, when+" the page is open", check.Err(you.visit(t.Context(), "mail", link)), signin.ErrDeclined)
	}
}
