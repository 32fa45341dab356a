package talk

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/script"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/typist"
	"github.com/mcpchain/mcpchain/internal/check"
)

func newInterrupts(t *testing.T) (context.Context, *Interrupts) {
	t.Helper()
	ctx, quit := context.WithCancelCause(t.Context())
	return ctx, &Interrupts{screen: typist.New(t, "", "", ""), quit: quit}
}

func TestFirstInterruptEndsTheTurn(t *testing.T) {
	program, i := newInterrupts(t)
	start := time.Now()
	for n := range 2 {
		turn, done := i.beginTurn(program)
		i.handle(os.Interrupt, start.Add(time.Duration(n)*doubleInterrupt))
		check.Is(t, context.Cause(turn), errInterrupted, n)
		done()
	}
	check.That(t, program.Err() == nil, "program: got %v, want no end", context.Cause(program))
}

// The object of a command that Ctrl-C ended says so, and has what the command has shown.
func TestInterruptedTurnOfAScript(t *testing.T) {
	var out strings.Builder
	w := script.New(&out, typist.New(t))
	w.List(screen.Tool, "add")
	check.Is(t, (&Session{Config: Config{Screen: w}}).report(errInterrupted), errInterrupted, "report")
	check.Must(t, w.Close())
	check.Contains(t, "the object", out.String(), `"answer":"add","stop_reason":"error","error":"interrupted"`)
}

func TestSecondInterruptEndsTheProgram(t *testing.T) {
	for _, inTurn := range []bool{false, true} {
		program, i := newInterrupts(t)
		start := time.Now()
		_, done := i.beginTurn(program)
		i.handle(os.Interrupt, start)
		done()
		if inTurn {
			_, done := i.beginTurn(program)
			defer done()
		}
		i.handle(os.Interrupt, start.Add(doubleInterrupt-1))
		quit, ok := errors.AsType[*QuitError](context.Cause(program))
		check.That(t, ok && quit.Signal == syscall.SIGINT, "in the next turn: %v: got %v, want the end by an interrupt", inTurn, context.Cause(program))
	}
}

// noting is a screen with a function for notes.
type noting struct {
	screen.Screen
	onNote func()
}

func (n noting) Note(screen.Style, string, ...any) { n.onNote() }

// A note is written while no mutex is held: the screen may wait for a slow terminal. A Ctrl-C long after another one does
// not end the program.
func TestNoteWithoutTheMutex(t *testing.T) {
	program, i := newInterrupts(t)
	notes, free := 0, true
	i.screen = noting{nil, func() {
		notes++
		if free = free && i.mu.TryLock(); free {
			i.mu.Unlock()
		}
	}}
	start := time.Now()
	i.handle(os.Interrupt, start)
	_, done := i.interruptible(program)
	defer done()
	i.handle(os.Interrupt, start.Add(doubleInterrupt))
	check.That(t, notes == 2 && free && program.Err() == nil, "got %d notes, mutex free: %v, %v", notes, free, context.Cause(program))
}
