package chat

import (
	"bytes"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hinshun/vt10x"

	"github.com/mcpchain/mcpchain/internal/check"
)

// TestPicture holds the picture of the README against a conversation. With -update it is drawn again.
func TestPicture(t *testing.T) {
	t.Parallel()
	cmd := command(t)
	cmd.Env = append(cmd.Env, "NO_COLOR=")
	m := openScreenOf(t, cmd)
	m.enter("you ›", "How is the weather in Oslo?\r", "[y]es", "a", "The tool weather says")
	m.enter("you ›\n", "Book a table for 4\r", "[y]es", "y", "Enter continues", "2030-02-30\r", "want a day of", ctrlC)
	m.until("the field is empty", func(s string) bool { return !strings.Contains(s, "2030-02-30") })
	m.typed("2030-05-01\r", "┃ Time", "19:30\r")
	for _, field := range []string{"Number", "Where", "With children", "Note"} {
		m.enter("┃ "+field, "\r")
	}
	m.enter("Send this to demo?  [y]es", "y", "Booked: a table")
	m.await("you ›\n")
	path := filepath.Join("..", "..", "..", "..", "docs", "chatbot.svg")
	if *update {
		put(t, path, string(m.picture()), 0o600)
	}
	want := check.Value(os.ReadFile(path))(t)
	m.until("the screen is that of "+path, func(string) bool { return bytes.Equal(m.picture(), want) })
	m.leave()
}

const cellWidth, cellHeight = 8.4, 18

// picture is the screen as SVG, with a window around it.
func (m *emulator) picture() []byte {
	m.vt.Lock()
	defer m.vt.Unlock()
	columns, _ := m.vt.Size()
	rows := m.vt.Cursor().Y + 1
	width, height := float64(columns)*cellWidth+32, rows*cellHeight+52
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d" viewBox="0 0 %.0f %d" role="img">`+"\n", width, height, width, height)
	fmt.Fprintln(&b, `<title>The chatbot: sums and the weather after an approval, and a form of a server</title>`)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="8" fill="#16181d"/>`+"\n")
	for i, dot := range []string{"#ff5f57", "#febc2e", "#28c840"} {
		fmt.Fprintf(&b, `<circle cx="%d" cy="18" r="5" fill="%s"/>`+"\n", 20+18*i, dot)
	}
	fmt.Fprintln(&b, `<g font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14">`)
	for y := range rows {
		for x := 0; x < columns; {
			first := m.vt.Cell(x, y)
			text, from := "", x
			for ; x < columns; x++ {
				c := m.vt.Cell(x, y)
				if c.FG != first.FG || c.Mode != first.Mode {
					break
				}
				text += string(max(c.Char, ' '))
			}
			if text = strings.TrimRight(text, " "); text != "" {
				text = strings.ReplaceAll(text, " ", "\u00a0") // browsers drop other spaces at the beginning, and stretch the rest
				fmt.Fprintf(&b, `<text x="%.1f" y="%d" textLength="%.1f" fill="%s"%s>%s</text>`+"\n", 16+float64(from)*cellWidth, 48+y*cellHeight,
					float64(len([]rune(text)))*cellWidth, colour(first.FG), weight(first), html.EscapeString(text))
			}
		}
	}
	b.WriteString("</g>\n</svg>\n")
	return b.Bytes()
}

// palette is the 16 colours of terminals.
var palette = strings.Fields("#3b4048 #e06c75 #98c379 #e5c07b #61afef #c678dd #56b6c2 #c8ccd4 #7f848e #e06c75 #98c379 #e5c07b #61afef #c678dd #56b6c2 #ffffff")

func colour(c vt10x.Color) string {
	if int(c) < len(palette) {
		return palette[c]
	}
	return "#c8ccd4"
}

// weight is bold for the emulator's mode of that name.
func weight(g vt10x.Glyph) string {
	if g.Mode&4 != 0 {
		return ` font-weight="bold"`
	}
	return ""
}
