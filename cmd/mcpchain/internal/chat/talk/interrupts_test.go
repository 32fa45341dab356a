package talk

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/typist"
)

func newInterrupts(t *testing.T) (context.Context, *Interrupts) {
	t.Helper()
	ctx, quit := context.WithCancelCause(t.Context())
	return ctx, &Interrupts{screen: typist.New(t, "", "", ""), quit: quit}
}

func TestFirstInterruptEndsTheTurn(t *testing.T) {
	program, i := newInterrupts(t)
	start := time.Now()

	first, done := i.turn(program)
	i.handle(os.Interrupt, start)
	if err := context.Cause(first); !errors.Is(err, errInterrupted) {
		t.Errorf("turn: got %v, want %v", err, errInterrupted)
	}
	done()

	second, done := i.turn(program)
	defer done()
	i.handle(os.Interrupt, start.Add(doubleInterrupt))
	if err := context.Cause(second); !errors.Is(err, errInterrupted) {
		t.Errorf("next turn: got %v, want %v", err, errInterrupted)
	}
	if program.Err() != nil {
		t.Errorf("program: got %v, want no end", context.Cause(program))
	}
}

func TestSecondInterruptEndsTheProgram(t *testing.T) {
	for name, then := range map[string]func(program context.Context, i *Interrupts, start time.Time){
		"at once, between turns": func(_ context.Context, i *Interrupts, start time.Time) {
			i.handle(os.Interrupt, start.Add(doubleInterrupt-1))
		},
		"at once, in the next turn": func(program context.Context, i *Interrupts, start time.Time) {
			_, done := i.turn(program)
			defer done()
			i.handle(os.Interrupt, start.Add(doubleInterrupt-1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			program, i := newInterrupts(t)
			start := time.Now()
			_, done := i.turn(program)
			i.handle(os.Interrupt, start)
			done()
			then(program, i, start)
			quit, ok := errors.AsType[*QuitError](context.Cause(program))
			if !ok || quit.Signal != syscall.SIGINT {
				t.Errorf("got %v, want the end by an interrupt", context.Cause(program))
			}
		})
	}
}

// A Ctrl-C long after the first one does not end the program.
func TestLaterInterruptIsAFirstOne(t *testing.T) {
	program, i := newInterrupts(t)
	start := time.Now()
	i.handle(os.Interrupt, start)
	i.handle(os.Interrupt, start.Add(doubleInterrupt))
	if program.Err() != nil {
		t.Errorf("got %v, want no end", context.Cause(program))
	}
}
