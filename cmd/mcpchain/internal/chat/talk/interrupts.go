package talk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/internal/signin"
)

// errInterrupted ends a turn.
var errInterrupted = errors.New("interrupted")

// QuitError ends the program.
type QuitError struct{ Signal syscall.Signal }

func (e *QuitError) Error() string { return fmt.Sprintf("ended by signal: %v", e.Signal) }

// doubleInterrupt is the time for a second Ctrl-C to end the program, even after another turn has begun. A later one counts as
// a first one: the person may have thought on.
const doubleInterrupt = 2 * time.Second

// Interrupts turns signals into the ends of turns and of the program: the first
// Ctrl-C ends the turn, the second the program. Any other signal ends the
// program at once, and before a conversation so does Ctrl-C.
type Interrupts struct {
	quit    context.CancelCauseFunc
	signals chan os.Signal
	wg      sync.WaitGroup

	mu      sync.Mutex    // guards the fields below
	screen  screen.Screen // of a conversation, in which Ctrl-C ends only the turn
	endTurn context.CancelCauseFunc
	first   time.Time // of the first Ctrl-C
	asides  map[*aside]bool
}

// aside is something that asks the person and is no part of a turn.
type aside struct{ end context.CancelCauseFunc }

// WatchSignals starts to watch. The context that it returns ends with the
// program.
func WatchSignals() (context.Context, *Interrupts) {
	ctx, quit := context.WithCancelCause(context.Background())
	i := &Interrupts{quit: quit, signals: make(chan os.Signal, 8)}
	signal.Notify(i.signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	i.wg.Go(func() {
		for s := range i.signals {
			i.handle(s, time.Now())
		}
	})
	return ctx, i
}

// Stop ends the watch.
func (i *Interrupts) Stop() {
	signal.Stop(i.signals)
	close(i.signals)
	i.wg.Wait()
	i.quit(nil)
}

// Interrupt is a Ctrl-C that a terminal took as a key.
func (i *Interrupts) Interrupt() { i.handle(os.Interrupt, time.Now()) }

// converse notes the beginning of a conversation.
func (i *Interrupts) converse(s screen.Screen) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.screen = s
}

func (i *Interrupts) handle(s os.Signal, now time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if s != os.Interrupt || i.screen == nil || now.Sub(i.first) < doubleInterrupt {
		number, _ := s.(syscall.Signal)
		i.quit(&QuitError{number})
		return
	}
	i.first = now
	switch {
	case i.endTurn != nil:
		i.endTurn(errInterrupted)
		return
	case len(i.asides) > 0:
		for a := range i.asides {
			a.end(errInterrupted)
		}
		i.screen.Note(screen.Warn, "refused; Ctrl-C again leaves")
		return
	}
	i.screen.Note(screen.Faint, "press Ctrl-C again, or Ctrl-D, to leave")
}

// turn returns the context of a turn, in which the person may be asked to sign in, and a
// function to call at its end.
func (i *Interrupts) turn(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.endTurn = cancel
	return signin.Asking(ctx), func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.endTurn = nil
		cancel(nil)
	}
}

// aside returns the context of something that asks the person and is no part of a turn, and a function to call
// at its end. Ctrl-C ends it if there is no turn.
func (i *Interrupts) aside(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	a := &aside{cancel}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.asides == nil {
		i.asides = map[*aside]bool{}
	}
	i.asides[a] = true
	return ctx, func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		delete(i.asides, a)
		cancel(nil)
	}
}
