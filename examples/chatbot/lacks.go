package main

import (
	"sync/atomic"
)

// lacks are what a script has to learn from the exit status, because it does
// not read along. They may be counted concurrently.
type lacks struct {
	unreachable atomic.Int64 // servers, when there is no other
	failed      atomic.Int64 // turns and commands, which were reported one by one
	ran, denied atomic.Int64 // tool calls; denied because nobody could be asked
	declined    atomic.Int64 // forms that nobody could be asked about and -answer did not complete
}

// report says what is missing, a line each, and returns errReported if
// anything is.
func (l *lacks) report(con *console) error {
	var lines []string
	if n := l.unreachable.Load(); n > 0 {
		lines = append(lines, "no server could be reached, of "+plural(int(n), "server"))
	}
	if n := l.denied.Load(); n > 0 && l.ran.Load() == 0 {
		lines = append(lines, "no tool ran: "+plural(int(n), "call")+" denied, because nobody could be asked; start with -yes to allow them")
	}
	if n := l.declined.Load(); n > 0 {
		lines = append(lines, plural(int(n), "form")+" declined, because nobody could be asked and -answer did not complete it; see above")
	}
	for _, line := range lines {
		con.note(con.style.fail, "chatbot: %s", line)
	}
	if len(lines) > 0 || l.failed.Load() > 0 {
		return errReported
	}
	return nil
}
