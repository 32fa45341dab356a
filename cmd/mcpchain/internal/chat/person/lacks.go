package person

import (
	"sync/atomic"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
)

// Failures counts the failures for the exit status of a script. It may be used
// concurrently.
type Failures struct {
	Unreachable atomic.Int64 // servers, if no other can be reached
	Failed      atomic.Int64 // turns and commands; each was reported
	Ran, Denied atomic.Int64 // tool calls; denied for lack of a person
	Declined    atomic.Int64 // forms that -answer did not complete, without a person
}

// Report shows each failure on a line, and is true if there is any.
func (l *Failures) Report(s screen.Screen) bool {
	var lines []string
	if n := l.Unreachable.Load(); n > 0 {
		lines = append(lines, "no server could be reached, of "+screen.Plural(int(n), "server"))
	}
	if n := l.Denied.Load(); n > 0 && l.Ran.Load() == 0 {
		lines = append(lines, "no tool ran: "+screen.Plural(int(n), "call")+" denied, because no person could be asked; start with -yes to allow them")
	}
	if n := l.Declined.Load(); n > 0 {
		lines = append(lines, screen.Plural(int(n), "form")+" declined, because no person could be asked and -answer did not complete it; see above")
	}
	for _, line := range lines {
		s.Note(screen.Fail, "mcpchain: %s", line)
	}
	return len(lines) > 0 || l.Failed.Load() > 0
}
