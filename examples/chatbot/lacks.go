package main

import (
	"sync/atomic"
)

// lacks counts the failures for the exit status of a script. It may be used
// concurrently.
type lacks struct {
	unreachable atomic.Int64 // servers, if no other can be reached
	failed      atomic.Int64 // turns and commands; each was reported
	ran, denied atomic.Int64 // tool calls; denied for lack of a person
	declined    atomic.Int64 // forms that -answer did not complete, without a person
}

// report shows each failure on a line, and returns errReported if there is any.
func (l *lacks) report(con *console) error {
	var lines []string
	if n := l.unreachable.Load(); n > 0 {
		lines = append(lines, "no server could be reached, of "+plural(int(n), "server"))
	}
	if n := l.denied.Load(); n > 0 && l.ran.Load() == 0 {
		lines = append(lines, "no tool ran: "+plural(int(n), "call")+" denied, because no person could be asked; start with -yes to allow them")
	}
	if n := l.declined.Load(); n > 0 {
		lines = append(lines, plural(int(n), "form")+" declined, because no person could be asked and -answer did not complete it; see above")
	}
	for _, line := range lines {
		con.note(con.style.fail, "chatbot: %s", line)
	}
	if len(lines) > 0 || l.failed.Load() > 0 {
		return errReported
	}
	return nil
}
