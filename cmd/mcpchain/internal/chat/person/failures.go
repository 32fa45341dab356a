package person

import (
	"sync/atomic"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
)

// Failures counts what decides on the exit status of a script. It may be used concurrently.
type Failures struct {
	Unreachable atomic.Int64 // servers, if none can be reached
	Failed      atomic.Int64 // turns and commands, which were reported before
	Ran, Denied atomic.Int64 // tool calls; they are denied if there is no person to ask
	Declined    atomic.Int64 // forms that prepared answers did not complete
}

// Report shows each kind of failure on a line, and reports whether there are any.
func (f *Failures) Report(s screen.Screen) bool {
	var lines []string
	if n := f.Unreachable.Load(); n > 0 {
		lines = append(lines, "no server could be reached, of "+screen.Plural(int(n), "server"))
	}
	if n := f.Denied.Load(); n > 0 && f.Ran.Load() == 0 {
		lines = append(lines, "no tool ran: "+screen.Plural(int(n), "call")+" denied, because no person could be asked; start with -yes to allow them")
	}
	if n := f.Declined.Load(); n > 0 {
		lines = append(lines, screen.Plural(int(n), "form")+" declined, because no person could be asked and -answer did not complete it; see above")
	}
	for _, line := range lines {
		s.Note(screen.Fail, "mcpchain: %s", line)
	}
	return len(lines) > 0 || f.Failed.Load() > 0
}
