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

// errInterrupted is why Ctrl-C ended a turn.
var errInterrupted = errors.New("interrupted")

// QuitError means that a signal ended the program.
type QuitError struct{ Signal syscall.Signal }

func (e *QuitError) Error() string { return fmt.Sprintf("ended by signal: %v", e.Signal) }

// doubleInterrupt is the time within which a second Ctrl-C ends the program, even if another turn
// has begun. A later one counts as a first one.
const doubleInterrupt = 2 * time.Second

// Interrupts ends turns and the program by signals. The first Ctrl-C ends the turn or the questions outside of a turn,
// a second one within doubleInterrupt the program. Other signals end the program at once, and so does Ctrl-C before the
// conversation.
type Interrupts struct {
	quit    context.CancelCauseFunc
	signals chan os.Signal
	wg      sync.WaitGroup

	mu      sync.Mutex              // guards the fields below
	screen  screen.Screen           // of the conversation; nil: it has not begun
	endTurn context.CancelCauseFunc // nil: there is no turn
	last    time.Time               // of the last Ctrl-C that did not end the program

	questions map[context.Context]context.CancelCauseFunc // end the questions to the person outside of a turn
}

// WatchSignals starts to watch for signals. The returned context is cancelled when a signal ends the program.
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

// Interrupt handles a Ctrl-C that the terminal read as a key.
func (i *Interrupts) Interrupt() { i.handle(os.Interrupt, time.Now()) }

// begin begins the conversation on a screen.
func (i *Interrupts) begin(s screen.Screen) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.screen = s
}

// handle ends what a signal ends, and tells the person without the mutex: a screen may wait.
func (i *Interrupts) handle(s os.Signal, now time.Time) {
	if tell := i.end(s, now); tell != nil {
		tell()
	}
}

// end ends the program, the turn, or the questions outside of a turn. It returns a function that
// tells the person, nil if there is nothing to tell.
func (i *Interrupts) end(s os.Signal, now time.Time) (tell func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	ui := i.screen
	if s != os.Interrupt || i.screen == nil || now.Sub(i.last) < doubleInterrupt {
		number, _ := s.(syscall.Signal)
		i.quit(&QuitError{number})
		return nil
	}
	i.last = now
	switch {
	case i.endTurn != nil:
		i.endTurn(errInterrupted)
		return nil
	case len(i.questions) > 0:
		for _, end := range i.questions {
			end(errInterrupted)
		}
		return func() { ui.Note(screen.Warn, "refused; Ctrl-C again leaves") }
	}
	return func() { ui.Note(screen.Faint, "press Ctrl-C again, or Ctrl-D, to leave") }
}

// beginTurn returns the context of a turn, during which the person may be asked to sign in, and a
// function that ends it.
func (i *Interrupts) beginTurn(parent context.Context) (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(signin.Asking(parent))
	i.mu.Lock()
	defer i.mu.Unlock()
	i.endTurn = cancel
	return ctx, func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.endTurn = nil
		cancel(nil)
	}
}

// interruptible returns the context of a question outside of a turn, and a function that releases
// it. Ctrl-C ends the context if there is no turn.
func (i *Interrupts) interruptible(parent context.Context) (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(parent)
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.questions == nil {
		i.questions = map[context.Context]context.CancelCauseFunc{}
	}
	i.questions[ctx] = cancel
	return ctx, func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		delete(i.questions, ctx)
		cancel(nil)
	}
}
