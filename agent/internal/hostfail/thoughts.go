package hostfail

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/chat"
)

// Thoughts are the thoughts of a model that its host wants back. The host may refuse them, for
// example because another key made them.
type Thoughts struct {
	ID      func(*run.Part) string // identifies a thought; "" for other parts
	Refuses func(*chat.Error) bool // reports whether a status 400 is about thoughts
}

// refusals is the set of thoughts in a conversation that its host refuses, by their ids.
type refusals map[string]bool

// Ask asks without thoughts that were refused before. If the host refuses thoughts, Ask asks again
// without any. If that helps, it remembers them in the Scratch of the request.
func (t Thoughts) Ask(r *model.Request, ask func(*model.Request) (*model.Response, error)) (*model.Response, error) {
	known := refusals{}
	if r.Scratch != nil {
		if kept, ok := (*r.Scratch).(refusals); ok {
			known = kept
		}
		*r.Scratch = known
	}
	asked := *r
	asked.Messages = t.withoutRefused(r.Messages, known)
	reply, err := ask(&asked)
	e, ok := errors.AsType[*chat.Error](err)
	if !ok || e.Status != http.StatusBadRequest || !t.Refuses(e) {
		return reply, err
	}
	refused := maps.Clone(known)
	for _, m := range asked.Messages {
		for i := range m.Parts {
			if id := t.ID(&m.Parts[i]); id != "" {
				refused[id] = true
			}
		}
	}
	if len(refused) == len(known) {
		return nil, err
	}
	asked.Messages = t.withoutRefused(r.Messages, refused)
	if reply, err = ask(&asked); err == nil {
		maps.Copy(known, refused)
		reply.Warning = strings.TrimSuffix(refusedWarning+"; "+reply.Warning, "; ")
	}
	return reply, err
}

const refusedWarning = "the host refused the model's earlier thoughts, so they were left out: they belong to another key, model or history"

// withoutRefused returns the history without known thoughts. It does not change history.
func (t Thoughts) withoutRefused(history []run.Message, known refusals) []run.Message {
	if len(known) == 0 {
		return history
	}
	isKnown := func(p run.Part) bool { return known[t.ID(&p)] }
	out := slices.Clone(history)
	for i := range out {
		if slices.ContainsFunc(out[i].Parts, isKnown) {
			out[i].Parts = slices.DeleteFunc(slices.Clone(out[i].Parts), isKnown)
		}
	}
	return out
}
