package mcpchain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/signin"
	"github.com/mcpchain/mcpchain/mcpclient/config"
	"github.com/mcpchain/mcpchain/mcpclient/oauth"
)

// ErrInputEnded means that nobody could be asked, because the input of the [Terminal] has ended.
var ErrInputEnded = errors.New("nobody could be asked: the input has ended")

// Terminal asks a person questions, one at a time, and reads one line for each. The zero value reads standard input and
// writes to standard error. Texts of servers and models are escaped ([hosttext]): they cannot control the terminal, and
// cannot be mistaken for the program's own output.
//
// After the end of the input everything is refused: no call is allowed, no form filled in. If the context of a question
// ends before a line is read, the next question gets the next line. A terminal reads ahead of the line, so the program
// must not read In itself, and must not copy the value. What is typed for a secret input of the file is not shown,
// unless the context of the question before has ended. Methods may be called concurrently.
type Terminal struct {
	In  io.Reader // default: standard input
	Out io.Writer // default: standard error

	mu     sync.Mutex    // guards the fields below, and is held while a question is asked: one at a time
	lines  *signin.Lines // made at the first question
	nobody bool          // a question met the end of the input
}

// maxShown bounds an error and the text of a question, in characters.
const maxShown = 4000

func (t *Terminal) out() io.Writer {
	if t.Out == nil {
		return os.Stderr
	}
	return t.Out
}

// note shows a line. It escapes the values, which may be texts of a server.
func (t *Terminal) note(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintln(t.out(), hosttext.Line(fmt.Sprintf(format, args...), maxShown))
}

// showProblems shows the result of [Host.Problems].
func (t *Terminal) showProblems(left []adapter.ServerStatus) {
	for _, s := range left {
		if s.Err != nil {
			t.note("left out: %v", s.Err)
		}
		for _, name := range s.Unmatched {
			t.note("server %q has no tool %q, which the file allows or leaves out", s.Name, name)
		}
	}
}

// foundNobody reports whether a question met the end of the input.
func (t *Terminal) foundNobody() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.nobody
}

// ReadLine asks the person for a line, such as the next question for the model. It returns
// [ErrInputEnded] at the end of the input, and the cause of ctx if it ends first.
func (t *Terminal) ReadLine(ctx context.Context, prompt string) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.askLocked(ctx, "%s", prompt)
}

// askLocked asks a question, and returns the typed line.
func (t *Terminal) askLocked(ctx context.Context, format string, args ...any) (string, error) {
	line, err := t.linesLocked().Ask(ctx, fmt.Sprintf(format, args...)+" ")
	return strings.TrimSpace(line), t.answerErrorLocked(err)
}

// linesLocked returns what reads the answers.
func (t *Terminal) linesLocked() *signin.Lines {
	if t.lines == nil {
		t.lines = &signin.Lines{In: t.In, Out: t.out(), Open: oauth.OpenBrowser}
		if t.In == nil {
			t.lines.In = os.Stdin
		}
	}
	return t.lines
}

// answerErrorLocked returns the error of a question, and remembers the end of the input.
func (t *Terminal) answerErrorLocked(err error) error {
	if errors.Is(err, signin.ErrNoAnswer) {
		t.nobody = true
		return ErrInputEnded
	}
	return err
}

// askInput asks for a value that the file refers to as an input.
func (t *Terminal) askInput(ctx context.Context, in *config.Input) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	value, err := t.linesLocked().Input(ctx, in)
	return value, t.answerErrorLocked(err)
}

// visit asks the person to open the page of a sign-in. It returns the address that the person
// pastes, if the last page does not load.
func (t *Terminal) visit(ctx context.Context, server string, v *signin.Visit) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	pasted, err := t.linesLocked().Visit(ctx, server, v)
	return strings.TrimSpace(pasted), t.answerErrorLocked(err)
}
