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

func (t *trial) filter() *tape.Filter {
	known := []string{t.Model.Endpoint.Key}
	for _, s := range t.suite.Servers {
		for name, value := range s.Env {
			if secretNames.MatchString(name) {
				known = append(known, value)
			}
		}
	}
	return tape.NewFilter(known...)
}

// openTape opens the tape of a trial whose model is recorded or played. A recording starts from the beginning.
func (t *trial) openTape() (err error) {
	file := tape.File(t.Model.Cassette, t.suite.Name, t.task.ID, t.n)
	switch {
	case t.Model.Record:
		if err := tape.Clear(file); err != nil {
			return err
		}
		t.tape = tape.Recorder(t.task.ID, file, t.filter())
	case t.Model.Mode == results.Recorded:
		t.tape, err = tape.Player(t.task.ID, file, t.filter())
	}
	return err
}

// keepFiles records the files about which the task has claims, or restores recorded ones: those of servers that do not
// run in process.
func (t *trial) keepFiles() error {
	if t.tape == nil || t.Model.Record == t.Model.Servers {
		return nil // neither recorded nor played
	}
	root, err := os.OpenRoot(t.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	files := map[string]string{}
	if t.Model.Servers {
		if files, err = t.tape.Files(); err != nil {
			return err
		}
	}
	for _, s := range t.task.Expect.State {
		label, _, _ := strings.Cut(strings.TrimSuffix(s.File, ".json"), "/")
		if server := t.suite.Servers[label]; server != nil && server.InProcess != "" {
			continue
		}
		if text, ok := files[s.File]; ok {
			if err := world.Put(root, s.File, text); err != nil {
				return err
			}
		} else if data, err := root.ReadFile(s.File); err == nil && t.Model.Record {
			files[s.File] = string(data)
		}
	}
	if t.Model.Record {
		return t.tape.Keep(tape.Line{Files: files})
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
