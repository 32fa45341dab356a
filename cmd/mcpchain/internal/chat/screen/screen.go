// Package screen defines what the chatbot shows to a person and asks a person, independent of what draws it.
package screen

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
)

// Style is the look of a text.
type Style int

// The styles of notes.
const (
	Plain  Style = iota
	Person       // text of the person
	Model        // text of the model
	Tool         // text of a server
	Faint        // less important
	Warn
	Fail
	Removed // line of a diff
	Added   // line of a diff
)

// Screen shows the conversation and asks the person. Its methods may be called concurrently. Callers pass the texts of
// servers and models as they are: a screen escapes what could control a terminal.
type Screen interface {
	// Attended reports whether there is a person to ask.
	Attended() bool

	// Note shows a note of one or more lines, which is not part of an answer.
	Note(style Style, format string, args ...any)

	// List shows a line of a command's result.
	List(style Style, format string, args ...any)

	// Deliver shows a text as the answer of a turn.
	Deliver(text string)

	// Progress shows a line at most until the next one, an event of a turn, or Question.
	Progress(format string, args ...any)

	// Question waits for the next question of the person. The error is io.EOF at the end of the conversation, a
	// *LongLineError for a line that was skipped, or the cause of the context's end.
	Question(ctx context.Context) (string, error)

	// Begin and End enclose a turn, and Show shows its events. A second End changes nothing.
	Begin()
	Show(e agent.Event)
	End()

	// Choose has the person choose an answer. Keys that were typed before the question do not count. The errors of
	// Choose, Write, Secret and Fill include io.EOF at the end of the input, and the cause of the context's end.
	Choose(ctx context.Context, q *Choice) (key byte, err error)

	// Write has the person write a text, which may be empty. Keys that were typed before do not
	// count. If the person goes back, Write returns the text so far and ErrLeft.
	Write(ctx context.Context, d *Draft) (string, error)

	// Secret has the person write one line that is neither shown nor kept.
	Secret(ctx context.Context, prompt string) (string, error)

	// Fill has the person fill in a form, and returns "accept", "decline" or "cancel". If it is
	// accepted, its Values are those of the person.
	Fill(ctx context.Context, f *Form) (action string, err error)

	// Close ends the screen. The error says that something for the caller of the program could not be shown.
	Close() error
}

// Failing is implemented by a [Screen] that takes the error of a turn in addition to the note about it.
type Failing interface {
	Failed(err error)
}

// MarkFailed gives a screen the error of a turn, if the screen is a [Failing].
func MarkFailed(s Screen, err error) {
	if f, ok := s.(Failing); ok {
		f.Failed(err)
	}
}

// Windowed is implemented by a [Screen] that shows how much of a model's context window is used.
type Windowed interface {
	// Window sets the size of the window; 0 means that it is not known.
	Window(tokens int64)
}

// Linking is implemented by a [Screen] on which a person can follow links, and can be asked while writing a question.
type Linking interface {
	// Link shows a line that ends with an address of the program. The address is not broken into lines.
	Link(style Style, text, address string)

	// Suggest puts a text into the empty line of the next question. It reports false if the line is not empty.
	Suggest(text string) bool
}

// Choice is a question with a few answers.
type Choice struct {
	Heading  string   // the program's words
	Text     string   // what a server or a model says; its lines are indented
	Changes  []Line   // the diff of an edit
	Link     string   // an address without control characters, which is not broken into lines
	Warnings []string // about Link
	Question string
	Answers  []Answer
}

// Notes returns the lines to show before the question.
func (q *Choice) Notes() (lines []Line) {
	if q.Heading != "" {
		lines = append(lines, Line{Style: Warn, Text: q.Heading})
	}
	if q.Text != "" {
		lines = append(lines, Line{Style: Tool, Text: q.Text})
	}
	lines = append(lines, q.Changes...)
	if q.Link != "" {
		lines = append(lines,
			Line{Style: Warn, Text: "The page:"},
			Line{Style: Tool, Text: "  " + q.Link, Unbroken: true},
		)
	}
	for _, warning := range q.Warnings {
		lines = append(lines, Line{Style: Fail, Text: "  Warning: " + warning + "."})
	}
	return lines
}

// Answer is one of the answers of a [Choice].
type Answer struct {
	Key   byte
	Label string // begins with the key; an explanation follows a colon
}

// Word returns the label without its explanation.
func (a Answer) Word() string {
	word, _, _ := strings.Cut(a.Label, ":")
	return word
}

// Draft is a text for the person to write or change.
type Draft struct {
	Prompt string
	Text   string                  // the initial text
	Check  func(text string) error // refuses a text, which the person then corrects; nil accepts every text
	Back   bool                    // the person can go back to the previous question
}

// ErrLeft means that the person went back to the previous question.
var ErrLeft = errors.New("went back to the previous question")

// Form is a form that the person fills in for a server.
type Form struct {
	Server   string
	Heading  string // says who asks, and for what
	Message  string // the server's words
	Fields   []*forms.Field
	Values   map[string]any // by the names of fields, changed by the person
	Mistakes []error        // in prepared values, shown above the fields
}

// MaxShown bounds the text of a question, in characters. Callers cut a longer text, with a note.
const MaxShown = 4000

// LongLineError reports that a line of input was skipped.
type LongLineError struct{ Max int }

func (e *LongLineError) Error() string {
	return fmt.Sprintf("a line of input has more than %d bytes and was skipped", e.Max)
}

// Completion has the ways to complete the text before the cursor.
type Completion struct {
	From  int // offset in bytes of the part that an item replaces
	Items []Item
}

// Item is one completion.
type Item struct {
	Text  string // without control characters
	About string // shown beside it
	Open  bool   // no space is added, because more text follows
}

// Completer completes the text before the cursor. It returns when its context ends.
type Completer func(ctx context.Context, before string) Completion

// Completing is implemented by a [Screen] whose editor completes what is typed.
type Completing interface {
	CompleteBy(Completer)
}

// Narrow returns the items that contain part in any case: first those that begin with it.
func (c Completion) Narrow(part string) (found []Item) {
	part = strings.ToLower(part)
	var within []Item
	for _, item := range c.Items {
		switch text := strings.ToLower(item.Text); {
		case strings.HasPrefix(text, part):
			found = append(found, item)
		case strings.Contains(text, part):
			within = append(within, item)
		}
	}
	return append(found, within...)
}
