// Package screen is what the chatbot shows a person and asks of a person,
// whatever draws it.
package screen

import (
	"context"
	"errors"
	"fmt"
	"image"
	"strings"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
)

// Style is the look of a text.
type Style int

// The styles of notes.
const (
	Plain  Style = iota
	Person       // what the person said
	Model        // what the model said
	Tool         // of a server
	Faint        // on the side
	Warn
	Fail
	Removed // of a diff
	Added
)

// Screen shows the conversation and asks the person. Its methods may be called
// concurrently. Texts of servers and models need no care: a screen escapes what
// could control a terminal.
type Screen interface {
	// Attended reports whether there is a person to ask.
	Attended() bool

	// Note shows lines on the side.
	Note(style Style, format string, args ...any)

	// List shows a line of a command's result.
	List(style Style, format string, args ...any)

	// Deliver shows a text as the answer of a turn.
	Deliver(text string)

	// Progress shows a line that the next one replaces.
	Progress(format string, args ...any)

	// Question waits for what the person says. The error is io.EOF at the end of the
	// conversation, *LongLineError for a line that was skipped, or the context's.
	Question(ctx context.Context) (string, error)

	// Begin and End enclose a turn, and Show shows its events.
	Begin()
	Show(e agent.Event)
	End()

	// Choose has the person choose an answer. What was typed before does not count.
	Choose(ctx context.Context, q *Choice) (key byte, err error)

	// Await waits until the person says that something is done elsewhere, or its context ends.
	Await(ctx context.Context, what string) error

	// Write has the person write a text, which may be empty. What was typed before does
	// not count. The error is ErrLeft, beside the text so far, if the person goes back.
	Write(ctx context.Context, d *Draft) (string, error)

	// Secret has the person write one line that is not shown, and is kept nowhere.
	Secret(ctx context.Context, prompt string) (string, error)

	// Fill has the person fill in a form. Values are the person's if the action is
	// to accept.
	Fill(ctx context.Context, f *Form) (action string, err error)
}

// Failing is a [Screen] that takes the error of a turn beside the note about it.
type Failing interface {
	Failed(err error)
}

// Sized is a [Screen] that knows how large it is.
type Sized interface {
	// Size is 0, 0 if it is not known.
	Size() (columns, rows int)
}

// Windowed is a [Screen] that shows how much of a model's context is used.
type Windowed interface {
	// Window is how many tokens the model takes; 0 is unknown.
	Window(tokens int64)
}

// Drawing is a [Screen] that draws pictures if its terminal can.
type Drawing interface {
	Draw(picture image.Image)
}

// Linking is a [Screen] on which a person can follow a link, and be asked at any time: also while the
// person writes a question.
type Linking interface {
	// Link shows a line that ends with an address of the program, in one piece.
	Link(style Style, text, address string)

	// Suggest puts a text into the line of the next question. It is false if the line is not empty.
	Suggest(text string) bool
}

// Choice is a question with a few answers.
type Choice struct {
	Heading  string   // the program's words
	Text     string   // of a server or a model, as lines that are indented
	Changes  []Line   // what an edit changes
	Link     string   // a safe address, shown in one piece
	Warnings []string // about the address
	Question string
	Answers  []Answer
}

// Answer is one that a person may choose.
type Answer struct {
	Key   byte
	Label string // begins with the key

	// Quiet answers are shown without their label if the row is too short.
	Quiet bool
}

// Word is the label up to a colon. The rest explains it.
func (a Answer) Word() string {
	word, _, _ := strings.Cut(a.Label, ":")
	return word
}

// Draft is a text that the person writes, or changes.
type Draft struct {
	Prompt string
	Text   string                  // what there is before
	Check  func(text string) error // says what is wrong, and the person continues; nil takes every text
	Back   bool                    // the person can go back to the question before
}

// ErrLeft says that the person went back.
var ErrLeft = errors.New("went back to the question before")

// Form is a form that the person fills in for a server.
type Form struct {
	Server   string
	Heading  string // says who asks, and for what
	Message  string // the server's words
	Fields   []*forms.Field
	Values   map[string]any // by the names of fields; the person changes them
	Mistakes []error        // in the values that were prepared
}

// MaxShown bounds the text of a question, in characters. A longer text is cut,
// with a note.
const MaxShown = 4000

// LongLineError says that a line of input was skipped.
type LongLineError struct{ Max int }

func (e *LongLineError) Error() string {
	return fmt.Sprintf("a line of input has more than %d bytes and was skipped", e.Max)
}
