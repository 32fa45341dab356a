package cli

import (
	"log/slog"
	"strings"

	"github.com/mcpchain/mcpchain/hosttext"
)

// maxWarnings is the most warnings that a logger shows.
const maxWarnings = 50

// Warnings returns a logger that shows a person what a client tolerates of servers, such as lines that
// are not messages. show gets each line once: a server that is started twice, to find out which
// revision it speaks, may print the same twice.
func Warnings(show func(line string)) *slog.Logger {
	return slog.New(slog.NewTextHandler(&warnings{show, map[string]bool{}}, &slog.HandlerOptions{
		Level: slog.LevelWarn,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
				return slog.Attr{}
			}
			return a
		},
	}))
}

// warnings shows different lines of a log, up to maxWarnings.
type warnings struct {
	show func(line string)
	seen map[string]bool
}

// Write implements [io.Writer]. The handler calls it with one line at a time.
func (w *warnings) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line))
	if len(w.seen) > maxWarnings || w.seen[text] {
		return len(line), nil
	}
	w.seen[text] = true
	if len(w.seen) > maxWarnings {
		text = "more of this is not shown"
	}
	w.show("warning: " + hosttext.Line(text, 500))
	return len(line), nil
}
