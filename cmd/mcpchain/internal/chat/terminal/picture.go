package terminal

import (
	"image"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/picture"
)

const (
	pictureColumns = 80 // at most
	pictureRows    = 20

	// pictureWait is how long a terminal has to say whether it shows pictures. Nearly every terminal
	// answers, and a busy machine may take its time.
	pictureWait = 10 * time.Second
)

// canvas is what the terminal shows of pictures. It is asked at the first picture.
type canvas struct {
	once     sync.Once
	answers  chan capabilities // has room for one
	protocol picture.Protocol
	cell     picture.Cell
}

// capabilities is what a terminal says of itself.
type capabilities struct {
	cell  picture.Cell
	sixel bool
}

// sixelAttribute says in the answer to a request that a terminal shows Sixel.
const sixelAttribute = 4

// noteCapabilities takes a part of the terminal's answer. The attributes come last.
func (m *model) noteCapabilities(msg tea.Msg) {
	switch msg := msg.(type) {
	case uv.CellSizeEvent:
		m.capabilities.cell = picture.Cell{Width: msg.Width, Height: msg.Height}
	case uv.PrimaryDeviceAttributesEvent:
		m.capabilities.sixel = slices.Contains(msg, sixelAttribute)
		select {
		case m.terminal.canvas.answers <- m.capabilities:
		default: // it was not asked
		}
	}
}

// askCanvas asks the terminal once for the size of a cell and, unless the environment says it, for
// what it shows.
func (t *Terminal) askCanvas() {
	t.canvas.once.Do(func() {
		protocol, known := picture.Detect(os.Getenv)
		t.send(tea.Raw(ansi.WindowOp(16) + ansi.RequestPrimaryDeviceAttributes)())
		select {
		case a := <-t.canvas.answers:
			t.canvas.cell = a.cell
			if !known && a.sixel {
				protocol = picture.Sixel
			}
		case <-time.After(pictureWait):
		case <-t.done:
		}
		t.canvas.protocol = protocol
	})
}

// Draw implements [screen.Drawing].
func (t *Terminal) Draw(img image.Image) {
	t.askCanvas()
	t.mu.Lock()
	defer t.mu.Unlock()
	rows := min(pictureRows, int(t.height.Load())/2-1)
	if t.canvas.protocol == picture.None || rows < 1 {
		return
	}
	sequence, rows, err := t.canvas.protocol.Draw(img, t.canvas.cell, min(pictureColumns, t.columns()-4), rows)
	if err != nil {
		return // the person has its file
	}
	t.endAnswerLocked()
	// The rows are there before the picture, so that nothing scrolls while it is drawn. The row
	// with the sequence is below it, as the renderer erases what is right of the cursor.
	space := strings.Repeat("\n", rows)
	t.send(tea.Println(space + ansi.SaveCursor + ansi.CursorUp(rows) + ansi.CursorForward(2) + sequence + ansi.RestoreCursor)())
}
