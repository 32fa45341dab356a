package trial

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/mcpchain/mcpchain/evals/agent/model"
	"github.com/mcpchain/mcpchain/evals/agent/results"
	"github.com/mcpchain/mcpchain/evals/agent/tape"
)

// secretNames matches the names of variables with secrets.
var secretNames = regexp.MustCompile(`(?i)key|token|secret|passw|credential|auth`)

// filter returns the filter for what is kept of the trial.
func (j *job) filter() *tape.Filter {
	known := []string{j.Model.Endpoint.Key}
	for _, s := range j.Servers {
		for name, value := range s.Env {
			if secretNames.MatchString(name) {
				known = append(known, value)
			}
		}
	}
	return tape.NewFilter(known...)
}

// models opens the models of the trial, and its tape if it has one.
func (j *job) models() (*model.Session, error) {
	s := &model.Session{Spec: j.Model, Task: j.Task}
	if j.Tape == "" {
		return s, nil
	}
	if j.Model.Record {
		s.Tape = tape.Recorder(j.Task.ID, j.Tape, j.filter())
		return s, nil
	}
	var err error
	s.Tape, err = tape.Player(j.Task.ID, j.Tape, filepath.Join(j.Dir, "used"), j.filter())
	return s, err
}

// keepFiles records the files about which the task has claims, or restores recorded ones.
// In-process servers have their own.
func (p *player) keepFiles() error {
	if p.tape == nil || p.Model.Record == p.Model.Servers {
		return nil // neither recorded nor played
	}
	root, err := os.OpenRoot(p.Dir)
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
	for _, s := range p.Task.Expect.State {
		if p.inProcess(s.File) {
			continue
		}
		if text, ok := files[s.File]; ok {
			if err := seed(p.Dir, s.File, text); err != nil {
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

// inProcess reports whether a file belongs to an in-process server.
func (p *player) inProcess(file string) bool {
	label, _, _ := strings.Cut(strings.TrimSuffix(file, ".json"), "/")
	s := p.Servers[label]
	return s != nil && s.InProcess != ""
}

// scrub removes secrets from a line.
func scrub(l *results.Line, f *tape.Filter) {
	l.Reason = f.Text(l.Reason)
	for i := range l.Scores {
		l.Scores[i].Why = f.Text(l.Scores[i].Why)
	}
	for i := range l.Transcript {
		l.Transcript[i].Text = f.Text(l.Transcript[i].Text)
	}
}
