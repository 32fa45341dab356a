package viewing

import (
	"slices"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/viewframe"
	"github.com/mcpchain/mcpchain/mcpclient/apps/host"
)

// Bounds of what views want models to know.
const (
	maxTold    = 8  // views of a conversation, each with viewframe.MaxText bytes
	maxToldAll = 32 // views of a user
)

// told is what a view wants the model to know before the next question. It outlives its view: a
// reloaded page tears its views down, and in the specification only another context replaces
// one.
type told struct {
	at   place
	text string
}

// place is the call whose result a view shows.
type place struct {
	conversation string
	turn         int
	call         string
}

func (v *view) place() place { return place{v.call.Conversation, v.call.Turn, v.call.Call} }

// takeContext returns a function that replaces what a view wants the model to know. If there is too much, the oldest is
// forgotten.
func (s *Service) takeContext(user string, v *view) func(*host.ModelContext) error {
	return func(c *host.ModelContext) error {
		text, err := viewframe.Told(c)
		if err != nil {
			return err
		}
		at := v.place()
		s.mu.Lock()
		defer s.mu.Unlock()
		all := slices.DeleteFunc(s.told[user], func(t *told) bool { return t.at == at })
		if text != "" {
			all = append(all, &told{at, viewframe.From(v.call.Server) + text})
		}
		if beside := toldIn(at.conversation, all); len(beside) > maxTold {
			all = slices.DeleteFunc(all, func(t *told) bool { return t == beside[0] })
		}
		s.keepLocked(user, all[max(0, len(all)-maxToldAll):])
		return nil
	}
}

// toldIn returns what the views of a conversation want the model to know.
func toldIn(conversation string, all []*told) (out []*told) {
	for _, t := range all {
		if t.at.conversation == conversation {
			out = append(out, t)
		}
	}
	return out
}

// Ask asks a user's question by say, preceded by what the views of the conversation want the
// model to know. The model is told once; if say fails, it is told with the next question.
func (s *Service) Ask(user, conversation string, say func(before ...string) error) error {
	s.mu.Lock()
	telling := toldIn(conversation, s.told[user])
	s.mu.Unlock()
	var texts []string
	for _, t := range telling {
		texts = append(texts, t.text)
	}
	if err := say(texts...); err != nil {
		return err
	}
	s.forget(user, func(t *told) bool { return slices.Contains(telling, t) }) // but not what arrived meanwhile
	return nil
}

// forget removes what views of a user want the model to know.
func (s *Service) forget(user string, which func(*told) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keepLocked(user, slices.DeleteFunc(s.told[user], which))
}

// keepLocked replaces all that the views of a user want models to know.
func (s *Service) keepLocked(user string, all []*told) {
	s.told[user] = all
	if len(all) == 0 {
		delete(s.told, user)
	}
}
