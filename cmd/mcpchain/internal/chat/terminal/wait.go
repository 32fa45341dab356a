package terminal

import (
	"context"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/hosttext"
)

// Await implements [screen.Screen].
func (t *Terminal) Await(ctx context.Context, what string) error {
	return t.ask(ctx, &waitDialog{paint: t.paint, what: what, since: time.Now(), completion: newCompletion()})
}

// waitDialog waits until the person presses Enter, and shows for how long.
type waitDialog struct {
	completion

	paint screen.Paint
	what  string
	since time.Time
}

func (w *waitDialog) init(int, int) tea.Cmd { return nil }
func (w *waitDialog) clear() bool           { return false }

func (w *waitDialog) update(msg tea.Msg) tea.Cmd {
	if k, ok := msg.(tea.KeyPressMsg); ok && k.String() == "enter" && !w.over {
		w.finish()
	}
	return nil
}

func (w *waitDialog) view(width int, _ bool) (string, *tea.Cursor) {
	text := fmt.Sprintf("waiting for %s (%s; Enter = done, Ctrl-C = stop)", hosttext.Line(w.what, 100), formatSeconds(time.Since(w.since)))
	text = wordwrap(text, width)
	return w.paint.Text(screen.Warn, text), cursorAfter(text)
}
