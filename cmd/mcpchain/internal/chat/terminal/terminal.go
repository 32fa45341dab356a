// Package terminal shows the conversation on a terminal that can move its cursor, with an editor for questions.
//
// Finished text is printed into the terminal's own scrollback. The frame below it has the unfinished part of an answer,
// the calls that are under way, a status line, and the editor or a dialog.
package terminal

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/term"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/hosttext"
)

// Options configure [Open].
type Options struct {
	In, Out *os.File

	// Interrupt is called for Ctrl-C, unless Ctrl-C clears the line.
	Interrupt func()

	// History is the file with the history of the editor; "": the history is not kept.
	History string
}

const (
	prompt         = "you ›"
	answerPrompt   = "bot ›"
	promptWidth    = 6   // columns of the prompt with a space
	defaultColumns = 80  // if the width of the terminal is not known
	maxNotice      = 200 // characters of a line of progress
	maxLinkText    = 400 // characters before a link

	// maxFrameWait bounds the wait for a frame that the renderer may leave out.
	maxFrameWait = time.Second
)

// Terminal is a [screen.Screen] on a terminal. Its methods may be called concurrently.
type Terminal struct {
	ctx        context.Context // for requests for completions
	cancel     context.CancelFunc
	program    *tea.Program
	output     *output
	paint      screen.Paint
	entered    chan entry
	asking     chan struct{} // buffered; has a value while the person is asked
	width      atomic.Int64
	height     atomic.Int64
	complete   atomic.Pointer[screen.Completer]
	frame      frameHeight
	printer    chan *printer  // buffered; has the printer while nothing is printed
	goroutines sync.WaitGroup // requests for completions
	done       chan struct{}  // closed when program has ended
	programErr error          // set before done is closed

	thinking screen.Thinking // used by Show alone
}

// entry is a text that the person entered, or the end of the input.
type entry struct {
	text   string
	queued bool // it was entered before the wait for it, under a prompt that accepts no input
	err    error
}

// Open starts to draw on the terminal, until Close. The end of ctx ends only an external editor and
// requests for completions, so that the end of the conversation is still shown.
func Open(ctx context.Context, o Options) *Terminal {
	t := &Terminal{
		paint:   screen.NewPaint(o.Out),
		entered: make(chan entry, 1),
		asking:  make(chan struct{}, 1),
		printer: make(chan *printer, 1),
		done:    make(chan struct{}),
	}
	t.ctx, t.cancel = context.WithCancel(ctx)
	t.output = &output{File: o.Out, drawn: make(chan struct{}), busy: make(chan struct{}, 1)}
	t.frame.written = t.output.frames.Load
	// The library reports the size only after the first frame.
	if width, height, err := term.GetSize(o.Out.Fd()); err == nil {
		t.width.Store(int64(width))
		t.height.Store(int64(height))
	}
	t.program = tea.NewProgram(newModel(t, o),
		tea.WithInput(o.In), tea.WithOutput(t.output), tea.WithoutSignalHandler())
	go func() {
		defer close(t.done)
		_, t.programErr = t.program.Run()
	}()
	select { // lines printed before the first frame would be lost
	case <-t.output.drawn:
	case <-t.done:
	}
	t.printer <- &printer{terminal: t}
	return t
}

// Close stops drawing, after what was to be shown, and restores the terminal.
func (t *Terminal) Close() error {
	t.send(tea.Quit())
	<-t.done
	t.cancel()
	t.goroutines.Wait()
	if t.programErr != nil {
		return fmt.Errorf("terminal: %w", t.programErr)
	}
	return nil
}

// CompleteBy implements [screen.Completing].
func (t *Terminal) CompleteBy(complete screen.Completer) { t.complete.Store(&complete) }

// completer returns the completer, nil if none is set.
func (t *Terminal) completer() screen.Completer {
	if complete := t.complete.Load(); complete != nil {
		return *complete
	}
	return nil
}

// Attended implements [screen.Screen].
func (t *Terminal) Attended() bool { return true }

// Note implements [screen.Screen].
func (t *Terminal) Note(style screen.Style, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	t.do(func(p *printer) { p.note(style, text) })
}

// List implements [screen.Screen].
func (t *Terminal) List(style screen.Style, format string, args ...any) {
	t.Note(style, format, args...)
}

// Deliver implements [screen.Screen].
func (t *Terminal) Deliver(text string) {
	t.AddAnswer(text)
	t.EndAnswer()
}

// AddAnswer implements [screen.Output].
func (t *Terminal) AddAnswer(text string) { t.do(func(p *printer) { p.addAnswer(text) }) }

// EndAnswer implements [screen.Output].
func (t *Terminal) EndAnswer() { t.do((*printer).endAnswer) }

// Link implements [screen.Linking].
func (t *Terminal) Link(style screen.Style, text, address string) {
	text = "  " + hosttext.Line(text, maxLinkText)
	t.do(func(p *printer) { p.link(style, text, address) })
}

// Suggest implements [screen.Linking].
func (t *Terminal) Suggest(text string) bool {
	accepted := make(chan bool, 1)
	t.send(suggestMsg{text, accepted})
	select {
	case ok := <-accepted:
		return ok
	case <-t.done:
		return false
	}
}

// Progress implements [screen.Screen].
func (t *Terminal) Progress(format string, args ...any) {
	t.send(noticeMsg(hosttext.Line(fmt.Sprintf(format, args...), maxNotice)))
}

// Question implements [screen.Screen].
func (t *Terminal) Question(ctx context.Context) (string, error) {
	t.send(waitMsg(true))
	select {
	case e := <-t.entered:
		if !e.queued {
			t.awaitBusyFrame()
		}
		if e.err == nil {
			t.do(func(p *printer) { p.printQuestion(e.text) })
		}
		return e.text, e.err
	case <-ctx.Done():
		t.send(waitMsg(false))
		return "", context.Cause(ctx)
	case <-t.done:
		return "", io.EOF
	}
}

// awaitBusyFrame waits for a frame with busyPrompt. Lines are printed immediately, but frames are
// drawn later, so a short turn could end above a prompt that accepts no input.
func (t *Terminal) awaitBusyFrame() {
	select {
	case <-t.output.busy:
	case <-time.After(maxFrameWait):
	case <-t.done:
	}
}

// Window implements [screen.Windowed].
func (t *Terminal) Window(tokens int64) { t.send(windowMsg(tokens)) }

// Begin implements [screen.Screen].
func (t *Terminal) Begin() { t.send(beginMsg{}) }

// End implements [screen.Screen].
func (t *Terminal) End() {
	t.EndAnswer()
	t.send(endMsg{})
}

// Show implements [screen.Screen].
func (t *Terminal) Show(e agent.Event) {
	t.send(eventMsg{e})
	t.thinking.Show(t, e)
}

// columns returns the width of the terminal, or defaultColumns.
func (t *Terminal) columns() int {
	if width := int(t.width.Load()); width > 0 {
		return width
	}
	return defaultColumns
}

// do calls a function with the printer, after earlier calls. After the end of the program, nothing is done.
func (t *Terminal) do(work func(*printer)) {
	select {
	case p := <-t.printer:
		work(p)
		t.printer <- p
	case <-t.done:
	}
}

// send sends a message to the model after everything that was shown before.
func (t *Terminal) send(m tea.Msg) { t.do(func(p *printer) { p.send(m) }) }

var _ screen.Linking = (*Terminal)(nil)
