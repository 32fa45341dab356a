package trial

import (
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/evals/agent/grade"
	"github.com/mcpchain/mcpchain/evals/agent/results"
	"github.com/mcpchain/mcpchain/evals/agent/suite"
	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// Bounds of a transcript. Later entries are left out, and longer texts cut.
const (
	maxEntries = 500
	maxText    = 8 << 10 // bytes of an entry
)

// transcript returns the dialog: system prompt, messages and error of the run, then the calls of in-process servers.
func transcript(t *suite.Task, e *grade.Evidence) (all []results.Entry) {
	add := func(entry results.Entry) {
		if len(entry.Text) > maxText {
			entry.Text = entry.Text[:excerpt.Before(entry.Text, maxText)] + "…"
		}
		if len(all) < maxEntries {
			all = append(all, entry)
		}
	}
	if t.System != "" {
		add(results.Entry{Who: "system", Kind: "text", Text: t.System})
	}
	for _, m := range e.State.History {
		for _, p := range m.Parts {
			entry := results.Entry{
				Who:   string(m.Role),
				Kind:  string(p.Type),
				Name:  p.Name,
				Text:  p.Text,
				Error: p.IsError,
			}
			if p.Type == run.PartCall {
				entry.Text = p.Arguments
			}
			add(entry)
		}
	}
	if e.State.Error != "" {
		add(results.Entry{Who: "run", Kind: "error", Text: e.State.Error, Error: true})
	}
	for _, l := range e.Ledger {
		add(results.Entry{
			Who:   l.Server,
			Kind:  "reached",
			Name:  l.Tool,
			Text:  string(l.Arguments),
			Error: l.Failed,
		})
	}
	return all
}
