package chat

import (
	"fmt"
	"strings"
	"testing"
)

// Lines without blanks that are wider than the window are printed completely, and once.
func TestLongWords(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := range 12 {
		line := fmt.Sprintf(`{"NAME_%02d":"`, i)
		for j := range 30 {
			line += fmt.Sprintf("%02d.%03d/", i, j)
		}
		lines = append(lines, line+`"}`)
	}
	for _, size := range [][2]int{{60, 40}, {80, 24}} {
		t.Run(fmt.Sprint(size[0], "x", size[1]), func(t *testing.T) {
			text := "The result:\n" + strings.Join(lines, "\n") + "\n\n```\n" + strings.Repeat("x", size[0]-1) + "y\n```\n"
			m := openScreenSized(t, size[0], size[1], command(t, answering(t, text)...))
			m.enter("you ›", "Show me\r")
			m.await("NAME_11")
			m.await("xx")
			m.await("you ›\n")
			shown := strings.ReplaceAll(m.screen(), "\n", "")
			for _, line := range append(lines[8:], strings.Repeat("x", size[0]-1)+"y") {
				if n := strings.Count(shown, line); n != 1 {
					t.Errorf("got %d times %s:\n%s", n, line, m.screen())
				}
			}
			m.leave()
		})
	}
}
