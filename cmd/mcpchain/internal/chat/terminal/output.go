package terminal

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/charmbracelet/x/ansi"
)

// The renderer counts columns and takes a tab for none. So a tab is printed as stand-ins
// for its columns, and becomes a tab again on its way to the terminal: code that is
// copied from there has its tabs. The stand-ins are for private use, and peers' texts
// have none, as they are escaped.
const (
	tabBegin = '\ue000' // the first column of a tab
	tabMore  = '\ue001' // another one
	tabStop  = 8
)

// fitLine puts stand-ins for tabs into a line. It avoids lines that fill their last row: the renderer
// counts a row too many for them, and then clears the rest of the row, with which a terminal clears
// the last column.
func fitLine(line string, width int) string {
	if strings.Contains(line, "\t") {
		var b strings.Builder
		column := 0
		for i, piece := range strings.Split(line, "\t") {
			if i > 0 {
				n := tabStop - column%width%tabStop
				if column%width+n >= width { // a terminal's tab stays in its row
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

// output is the terminal behind the renderer.
type output struct {
	*os.File
	frames atomic.Int64  // that were written
	drawn  chan struct{} // closed after the first frame
	once   sync.Once
	busy   chan struct{} // has a value after a frame with the prompt of an editor that waits
}

// firstFrame is a part of the first frame only.
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
