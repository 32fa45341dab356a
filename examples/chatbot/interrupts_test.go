package main

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"
)

func newInterrupts(t *testing.T) (context.Context, *interrupts) {
	t.Helper()
	ctx, quit := context.WithCancelCause(t.Context())
	return ctx, &interrupts{con: newScreen(t, "", "", "").console, quit: quit, talking: true}
}

func TestFirstInterruptEndsTheTurn(t *testing.T) {
	program, i := newInterrupts(t)
	start := time.Now()

	first, done := i.turn(program)
	i.take(os.Interrupt, start)
	if err := context.Cause(first); !errors.Is(err, errInterrupted) {
		t.Errorf("turn: got %v, want %v", err, errInterrupted)
	}
	done()

	second, done := i.turn(program)
	defer done()
	i.take(os.Interrupt, start.Add(twice))
	if err := context.Cause(second); !errors.Is(err, errInterrupted) {
		t.Errorf("next turn: got %v, want %v", err, errInterrupted)
	}
	if program.Err() != nil {
		t.Errorf("program: got %v, want no end", context.Cause(program))
	}
}

func TestSecondInterruptEndsTheProgram(t *testing.T) {
	for name, then := range map[string]func(program context.Context, i *interrupts, start time.Time){
		"later, between turns": func(_ context.Context, i *interrupts, start time.Time) {
			i.take(os.Interrupt, start.Add(time.Hour))
		},
		"at once, in the next turn": func(program context.Context, i *interrupts, start time.Time) {
			_, done := i.turn(program)
			defer done()
			i.take(os.Interrupt, start.Add(twice-1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			program, i := newInterrupts(t)
			start := time.Now()
			_, done := i.turn(program)
			i.take(os.Interrupt, start)
			done()
			then(program, i, start)
			quit, ok := errors.AsType[*quitError](context.Cause(program))
			if !ok || quit.signal != syscall.SIGINT {
				t.Errorf("got %v, want the end by an interrupt", context.Cause(program))
			}
		})
	}
}

// While the program starts, and with a single question, there is no
// conversation to continue.
func TestOneInterruptEndsTheProgramOutsideOfConversations(t *testing.T) {
	program, i := newInterrupts(t)
	i.talking = false
	i.take(os.Interrupt, time.Now())
	if quit, ok := errors.AsType[*quitError](context.Cause(program)); !ok || quit.signal != syscall.SIGINT {
		t.Errorf("got %v, want the end by an interrupt", context.Cause(program))
	}
}

func TestOtherSignalsEndTheProgram(t *testing.T) {
	program, i := newInterrupts(t)
	turn, done := i.turn(program)
	defer done()
	i.take(syscall.SIGTERM, time.Now())
	quit, ok := errors.AsType[*quitError](context.Cause(turn))
	if !ok || quit.signal != syscall.SIGTERM {
		t.Errorf("got %v, want the end by SIGTERM", context.Cause(turn))
	}
}
