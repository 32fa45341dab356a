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
	maxPictureColumns = 80
	maxPictureRows    = 20

	// pictureWait bounds the wait for the terminal to say whether it shows pictures. Nearly all
	// terminals answer immediately.
	pictureWait = 10 * time.Second
)

// canvas says how the terminal shows pictures. The first picture has askCanvas ask the terminal.
type canvas struct {
	once     sync.Once
	answers  chan capabilities // buffered
	protocol picture.Protocol
	cell     picture.Cell
}

// capabilities are what a terminal says about itself.
type capabilities struct {
	cell  picture.Cell
	sixel bool
}

const (
	sixelAttribute = 4  // the device attribute of terminals that show Sixel pictures
	reportCellSize = 16 // the window operation by which a terminal reports the size of a cell
)

// setCapabilities handles a part of the terminal's answer. The device attributes come last.
func (m *model) setCapabilities(msg tea.Msg) {
	switch msg := msg.(type) {
	case uv.CellSizeEvent:
		m.capabilities.cell = picture.Cell{Width: msg.Width, Height: msg.Height}
	case uv.PrimaryDeviceAttributesEvent:
		m.capabilities.sixel = slices.Contains(msg, sixelAttribute)
		select {
		case m.terminal.canvas.answers <- m.capabilities:
		default: // nobody asked
		}
	}
}

// askCanvas asks the terminal once for the size of a cell and for its attributes, which end the answer. They decide on
// the protocol unless the environment names it.
func (t *Terminal) askCanvas() {
	t.canvas.once.Do(func() {
		protocol, known := picture.Detect(os.Getenv)
		t.send(tea.Raw(ansi.WindowOp(reportCellSize) + ansi.RequestPrimaryDeviceAttributes)())
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
	rows := min(maxPictureRows, int(t.height.Load())/2-1)
	if t.canvas.protocol == picture.None || rows < 1 {
		return
	}
	columns := min(maxPictureColumns, t.columns()-4) // with an indent of 2, and 2 free columns at the end
	sequence, rows, err := t.canvas.protocol.Draw(img, t.canvas.cell, columns, rows)
	if err != nil {
		return // its file is saved in any case
	}
	t.endAnswerLocked()
	// Blank rows are printed first, so that nothing scrolls while the picture is drawn. The
	// sequence is printed in the row below them, because the renderer erases what is right of the
	// cursor.
	space := strings.Repeat("\n", rows)
	place := ansi.SaveCursor + ansi.CursorUp(rows) + ansi.CursorForward(2)
	t.send(tea.Println(space + place + sequence + ansi.RestoreCursor)())
}
