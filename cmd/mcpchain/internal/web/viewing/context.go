package viewing

import (
	"encoding/json"
	"slices"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/viewframe"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Bounds of what views want models to know.
const (
	maxContexts       = 8  // views of a conversation, each with viewframe.MaxText bytes
	maxContextsOfUser = 32 // views of a user
)

// modelContext is what a view wants the model to know before the next question. It outlives its view: a reloaded page
// ends its views, and in the specification only another context replaces one.
type modelContext struct {
	call shownCall
	text string
}

// shownCall identifies the call whose result a view shows.
type shownCall struct {
	conversation string
	turn         int
	call         string
}

func (v *view) shownCall() shownCall { return shownCall{v.call.Conversation, v.call.Turn, v.call.Call} }

// setContext replaces what the view wants the model to know. If there are too many contexts, it drops the oldest.
func (a *access) setContext(content []mcp.Content, structured json.RawMessage) error {
	text, err := viewframe.ContextText(content, structured)
	if err != nil {
		return err
	}
	s, call, user := a.service, a.view.shownCall(), a.view.user()
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.DeleteFunc(s.contexts[user], func(t *modelContext) bool { return t.call == call })
	if text != "" {
		all = append(all, &modelContext{call, viewframe.Attribution(a.view.call.Server) + text})
	}
	if sameConversation := contextsIn(call.conversation, all); len(sameConversation) > maxContexts {
		all = slices.DeleteFunc(all, func(t *modelContext) bool { return t == sameConversation[0] })
	}
	s.setContextsLocked(user, all[max(0, len(all)-maxContextsOfUser):])
	return nil
}

// contextsIn returns what the views of a conversation want the model to know.
func contextsIn(conversation string, all []*modelContext) (out []*modelContext) {
	for _, t := range all {
		if t.call.conversation == conversation {
			out = append(out, t)
		}
	}
	return out
}

// WithContexts calls say, which asks a user's question, with what the views of the conversation want the model to know.
// The model gets each text once; if say fails, it gets them with the next question.
func (s *Service) WithContexts(user, conversation string, say func(before ...string) error) error {
	s.mu.Lock()
	contexts := contextsIn(conversation, s.contexts[user])
	s.mu.Unlock()
	var texts []string
	for _, t := range contexts {
		texts = append(texts, t.text)
	}
	if err := say(texts...); err != nil {
		return err
	}
	s.forgetContexts(user, func(t *modelContext) bool { return slices.Contains(contexts, t) }) // not those that were set meanwhile
	return nil
}

// forgetContexts removes what views of a user want the model to know.
func (s *Service) forgetContexts(user string, which func(*modelContext) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setContextsLocked(user, slices.DeleteFunc(s.contexts[user], which))
}

// setContextsLocked replaces all that the views of a user want models to know.
func (s *Service) setContextsLocked(user string, all []*modelContext) {
	s.contexts[user] = all
	if len(all) == 0 {
		delete(s.contexts, user)
	}
}
