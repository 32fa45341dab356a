package anthropicmodel

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/chat"
)

// refusesThoughts reports whether the host refuses the signatures of thoughts, for example because another key made them.
func refusesThoughts(err error) bool {
	e, ok := errors.AsType[*chat.Error](err)
	return ok && e.Status == http.StatusBadRequest && strings.Contains(e.Message, "signature")
}

// refused is the set of thoughts in a conversation that its host refuses, by their signatures.
type refused map[string]bool

// add adds all thoughts of a history to the set. It reports whether there were any.
func (r refused) add(history []run.Message) (found bool) {
	for i := range history {
		for j := range history[i].Parts {
			if p := &history[i].Parts[j]; p.Type == run.PartReasoning && hasThought(p) {
				r[signatureOf(p)], found = true, true
			}
		}
	}
	return found
}

// without returns the history without refused thoughts. It does not change history.
func (r refused) without(history []run.Message) []run.Message {
	if len(r) == 0 {
		return history
	}
	isRefused := func(p run.Part) bool { return p.Type == run.PartReasoning && r[signatureOf(&p)] }
	out := slices.Clone(history)
	for i := range out {
		if slices.ContainsFunc(out[i].Parts, isRefused) {
			out[i].Parts = slices.DeleteFunc(slices.Clone(out[i].Parts), isRefused)
		}
	}
	return out
}

// signatureOf returns a string that identifies a thought.
func signatureOf(p *run.Part) string {
	return string(p.Provider[signatureKey]) + string(p.Provider[redactedKey]) + string(p.Provider[blockKey])
}
