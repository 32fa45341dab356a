package terminal

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/charmbracelet/x/ansi"
)

// The renderer counts columns, and counts none for a tab. So each column of a tab is printed as a placeholder, and
// output turns placeholders back into tabs: code that is copied from the terminal keeps its tabs. Placeholders are
// private-use characters, which are escaped in peers' texts.
const (
	tabBegin = '\ue000' // the first column of a tab
	tabMore  = '\ue001' // another column of a tab
	tabStop  = 8
)

// fitLine replaces tabs by placeholders, and appends a space to a line that fills its last row: the renderer would
// count a row too many, and clear the last column.
func fitLine(line string, width int) string {
	if strings.Contains(line, "\t") {
		var b strings.Builder
		column := 0
		for i, piece := range strings.Split(line, "\t") {
			if i > 0 {
				n := tabStop - column%width%tabStop
				if column%width+n >= width { // a tab does not wrap to the next row
					b.WriteString(strings.Repeat(" ", n))
				} else {
					b.WriteString(string(tabBegin) + strings.Repeat(string(tabMore), n-1))
				}
				column += n
			}
			b.WriteString(piece)
			column += ansi.StringWidth(piece)
		}
		line = b.String()
	}
	if w := ansi.StringWidth(line); w > 0 && w%width == 0 {
		line += " "
	}
	return line
}

// output is the terminal as the renderer writes to it.
type output struct {
	*os.File
	frames atomic.Int64  // frames that were written
	drawn  chan struct{} // closed after the first frame
	once   sync.Once     // closes drawn
	busy   chan struct{} // buffered; has a value after a frame with busyPrompt
}

// firstFrame is a sequence that only the first frame has: it turns on bracketed paste.
const firstFrame = "\x1b[?2004h"

// Write writes a frame.
func (o *output) Write(p []byte) (int, error) {
	n, err := o.WriteString(string(p))
	o.frames.Add(1)
	if bytes.Contains(p, []byte(firstFrame)) {
		o.once.Do(func() { close(o.drawn) })
	}
	if bytes.Contains(p, []byte(busyPrompt)) {
		select {
		case o.busy <- struct{}{}:
		default:
		}
	}
	return n, err
}

// WriteString writes lines above the frame.
func (o *output) WriteString(s string) (int, error) {
	if _, err := o.File.WriteString(tabs.Replace(s)); err != nil {
		return 0, err
	}
	return len(s), nil
}

var tabs = strings.NewReplacer(string(tabBegin), "\t", string(tabMore), "")
