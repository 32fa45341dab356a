package trial

import (
	"regexp"

	"github.com/mcpchain/mcpchain/evals/agent/results"
	"github.com/mcpchain/mcpchain/evals/agent/tape"
)

// secretNames matches the names of variables with secrets.
var secretNames = regexp.MustCompile(`(?i)key|token|secret|passw|credential|auth`)

// filter returns the filter for secrets in what the trial stores.
func (p *player) filter() *tape.Filter {
	known := []string{p.Model.Endpoint.Key}
	for _, s := range p.Suite.Servers {
		for name, value := range s.Env {
			if secretNames.MatchString(name) {
				known = append(known, value)
			}
		}
	}
	return tape.NewFilter(known...)
}

// openTape opens the tape of a trial whose model is recorded or played. A recording starts from the beginning.
func (p *player) openTape() (err error) {
	file := tape.File(p.Model.Cassette, p.Suite.Name, p.Task.ID, p.N)
	switch {
	case p.Model.Record:
		if err := tape.Clear(file); err != nil {
			return err
		}
		p.tape = tape.Recorder(p.Task.ID, file, p.filter())
	case p.Model.Mode == results.Recorded:
		p.tape, err = tape.Player(p.Task.ID, file, p.filter())
	}
	return err
}

// removeSecrets removes secrets from a line.
func removeSecrets(l *results.Line, f *tape.Filter) {
	l.Reason = f.Text(l.Reason)
	for i := range l.Scores {
		l.Scores[i].Why = f.Text(l.Scores[i].Why)
	}
	for i := range l.Transcript {
		l.Transcript[i].Text = f.Text(l.Transcript[i].Text)
	}
}
