package agenteval

import (
	"os"
	"regexp"
	"strings"

	"github.com/mcpchain/mcpchain/evals/agent/results"
	"github.com/mcpchain/mcpchain/evals/agent/tape"
	"github.com/mcpchain/mcpchain/evals/agent/world"
)

// secretNames matches the names of variables with secrets.
var secretNames = regexp.MustCompile(`(?i)key|token|secret|passw|credential|auth`)

func (p *player) filter() *tape.Filter {
	known := []string{p.Model.Endpoint.Key}
	for _, s := range p.suite.Servers {
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
	file := tape.File(p.Model.Cassette, p.suite.Name, p.task.ID, p.n)
	switch {
	case p.Model.Record:
		if err := tape.Clear(file); err != nil {
			return err
		}
		p.tape = tape.Recorder(p.task.ID, file, p.filter())
	case p.Model.Mode == results.Recorded:
		p.tape, err = tape.Player(p.task.ID, file, p.filter())
	}
	return err
}

// keepFiles records the files about which the task has claims, or restores recorded ones: those of servers that do not
// run in process.
func (p *player) keepFiles() error {
	if p.tape == nil || p.Model.Record == p.Model.Servers {
		return nil // neither recorded nor played
	}
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	files := map[string]string{}
	if p.Model.Servers {
		if files, err = p.tape.Files(); err != nil {
			return err
		}
	}
	for _, s := range p.task.Expect.State {
		label, _, _ := strings.Cut(strings.TrimSuffix(s.File, ".json"), "/")
		if server := p.suite.Servers[label]; server != nil && server.InProcess != "" {
			continue
		}
		if text, ok := files[s.File]; ok {
			if err := world.Put(root, s.File, text); err != nil {
				return err
			}
		} else if data, err := root.ReadFile(s.File); err == nil && p.Model.Record {
			files[s.File] = string(data)
		}
	}
	if p.Model.Record {
		return p.tape.KeepFiles(files)
	}
	return nil
}

func removeSecrets(l *results.Line, f *tape.Filter) {
	l.Reason = f.Text(l.Reason)
	for i := range l.Scores {
		l.Scores[i].Why = f.Text(l.Scores[i].Why)
	}
	for i := range l.Transcript {
		l.Transcript[i].Text = f.Text(l.Transcript[i].Text)
	}
}
