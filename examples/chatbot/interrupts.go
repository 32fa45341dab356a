package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// errInterrupted ends a turn.
var errInterrupted = errors.New("interrupted")

// quitError ends the program.
type quitError struct{ signal syscall.Signal }

func (e *quitError) Error() string { return fmt.Sprintf("ended by signal: %v", e.signal) }

// twice is the time for a second Ctrl-C to end the program, even after another
// turn has begun.
const twice = 2 * time.Second

// interrupts turns signals into the ends of turns and of the program: the first
// Ctrl-C ends the turn, the second the program. Any other signal ends the
// program at once, and before a conversation so does Ctrl-C.
type interrupts struct {
	con     *console
	quit    context.CancelCauseFunc
	signals chan os.Signal
	wg      sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	talking bool       // a conversation: Ctrl-C ends only the turn
	endTurn context.CancelCauseFunc
	first   time.Time // of the first Ctrl-C
	armed   bool      // no turn has begun since the first Ctrl-C
}

// watchSignals starts to watch. The context that it returns ends with the
// program.
func watchSignals(con *console) (context.Context, *interrupts) {
	ctx, quit := context.WithCancelCause(context.Background())
	i := &interrupts{con: con, quit: quit, signals: make(chan os.Signal, 8)}
	signal.Notify(i.signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	i.wg.Go(func() {
		for s := range i.signals {
			i.take(s, time.Now())
		}
	})
	return ctx, i
}

func (i *interrupts) stop() {
	signal.Stop(i.signals)
	close(i.signals)
	i.wg.Wait()
	i.quit(nil)
}

// converse notes the beginning of a conversation.
func (i *interrupts) converse() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.talking = true
}

func (i *interrupts) take(s os.Signal, now time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if s != os.Interrupt || !i.talking || i.armed || now.Sub(i.first) < twice {
		number, _ := s.(syscall.Signal)
		i.quit(&quitError{number})
		return
	}
	i.first, i.armed = now, true
	if i.endTurn != nil {
		i.endTurn(errInterrupted)
		return
	}
	i.con.note(i.con.style.faint, "press Ctrl-C again, or Ctrl-D, to leave")
}

// turn returns the context of a turn, and a function to call at its end.
func (i *interrupts) turn(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.endTurn, i.armed = cancel, false
	return ctx, func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.endTurn = nil
		cancel(nil)
	}
}
