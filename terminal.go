package mcpchain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"

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
// ends before a line is read, the next question gets the next line. What is typed for a secret input of the file is not
// shown, unless that line was first read for an earlier question whose context has ended. A terminal reads ahead of the
// line: do not copy a Terminal, and do not read In yourself. Methods may be called concurrently.
type Terminal struct {
	In  io.Reader // default: standard input
	Out io.Writer // default: standard error

	prepared sync.Once     // guards lines and turn, which the first question makes
	lines    *signin.Lines // for the question that has the turn
	turn     chan struct{} // has a token while a question is asked: one at a time
	nobody   atomic.Bool   // a question met the end of the input
}

// begin waits for the turn of a question, which lasts until the caller calls end. Methods whose names end in Locked are
// called within a turn. A free turn is taken even if ctx has ended: then the question is shown, and [signin.Lines] ends it.
func (t *Terminal) begin(ctx context.Context) (end func(), err error) {
	t.prepared.Do(func() {
		t.lines = &signin.Lines{In: t.In, Out: t.out(), Open: oauth.OpenBrowser}
		if t.In == nil {
			t.lines.In = os.Stdin
		}
		t.turn = make(chan struct{}, 1)
	})
	end = func() { <-t.turn }
	select {
	case t.turn <- struct{}{}:
		return end, nil
	default:
	}
	select {
	case t.turn <- struct{}{}:
		return end, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// maxShown bounds an error and the text of a question, in characters.
const maxShown = 4000

func (t *Terminal) out() io.Writer {
	if t.Out == nil {
		return os.Stderr
	}
	return t.Out
}

// note shows a line, after the question that is being asked, unless ctx ends first. It escapes the values, which may be
// texts of a server.
func (t *Terminal) note(ctx context.Context, format string, args ...any) {
	end, err := t.begin(ctx)
	if err != nil {
		return
	}
	defer end()
	fmt.Fprintln(t.out(), hosttext.Line(fmt.Sprintf(format, args...), maxShown))
}

// showProblems shows the result of [Host.Problems].
func (t *Terminal) showProblems(ctx context.Context, left []adapter.ServerStatus) {
	for _, s := range left {
		if s.Err != nil {
			t.note(ctx, "left out: %v", s.Err)
		}
		for _, name := range s.Unmatched {
			t.note(ctx, "server %q has no tool %q, which the file allows or leaves out", s.Name, name)
		}
	}
}

// ReadLine asks the person for a line, such as the next question for the model. It returns
// [ErrInputEnded] at the end of the input, and the cause of ctx if it ends first.
func (t *Terminal) ReadLine(ctx context.Context, prompt string) (string, error) {
	end, err := t.begin(ctx)
	if err != nil {
		return "", err
	}
	defer end()
	return t.askLocked(ctx, "%s", prompt)
}

// askLocked asks a question, and returns the typed line.
func (t *Terminal) askLocked(ctx context.Context, format string, args ...any) (string, error) {
	line, err := t.lines.Ask(ctx, fmt.Sprintf(format, args...)+" ")
	return strings.TrimSpace(line), t.answerError(err)
}

// answerError returns the error of a question, and remembers the end of the input.
func (t *Terminal) answerError(err error) error {
	if errors.Is(err, signin.ErrNoAnswer) {
		t.nobody.Store(true)
		return ErrInputEnded
	}
	return err
}

// askInput asks for a value that the file refers to as an input.
func (t *Terminal) askInput(ctx context.Context, in *config.Input) (string, error) {
	end, err := t.begin(ctx)
	if err != nil {
		return "", err
	}
	defer end()
	value, err := t.lines.Input(ctx, in)
	return value, t.answerError(err)
}

// visit asks the person to open the page of a sign-in. It returns the address that the person
// pastes, if the last page does not load.
func (t *Terminal) visit(ctx context.Context, server string, v *signin.Visit) (string, error) {
	end, err := t.begin(ctx)
	if err != nil {
		return "", err
	}
	defer end()
	pasted, err := t.lines.Visit(ctx, server, v)
	return strings.TrimSpace(pasted), t.answerError(err)
}
