package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/mcpchain/mcpchain/evals/agent/results"
)

// tell writes what came of a trial that did not pass.
func tell(notes io.Writer, l *results.Line, from string) {
	if l.Outcome != results.Pass {
		fmt.Fprintf(notes, "%s %s/%s %d%s: %s\n", l.Outcome, l.Suite, l.Task, l.Trial, from, l.Reason)
	}
}

// kept says which lines are of earlier commands: they say nothing of the servers of today.
func (s *agentSettings) kept(lines []*results.Line, notes io.Writer) {
	var old []*results.Line
	for _, l := range lines {
		if !s.ran[l.Key()] {
			old = append(old, l)
		}
	}
	if len(old) == 0 {
		return
	}
	first, last := old[0].Date, old[0].Date
	for _, l := range old {
		tell(notes, l, " (from "+filepath.Base(s.results)+")")
		if l.Date.Before(first) {
			first = l.Date
		}
		if l.Date.After(last) {
			last = l.Date
		}
	}
	dates := first.Format("2006-01-02")
	if to := last.Format("2006-01-02"); to != dates {
		dates += " to " + to
	}
	fmt.Fprintf(notes, "%d of %d trials are from %s of %s; -anew runs them again\n", len(old), len(lines), s.results, dates)
}
