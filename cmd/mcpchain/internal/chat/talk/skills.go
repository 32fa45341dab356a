package talk

import (
	"context"

	"github.com/mcpchain/mcpchain/agent/skillset"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/skills"
)

// skillInfo describes a skill that the model may load.
type skillInfo struct{ server, name, about string }

// openSkills returns the skills of servers, nil if there are none. A server whose list cannot be read is left out.
func (s *Session) openSkills(ctx context.Context) (*skillset.Set, error) {
	s.skills = nil
	if s.NoInstructions {
		return nil, nil
	}
	clients := s.openClients()
	note := &skillset.Options{Allow: func(server string, skill *skills.Skill) bool {
		s.skills = append(s.skills, skillInfo{server, skill.Name, skill.Description})
		return true
	}}
	set, err := skillset.Open(ctx, clients, note)
	if err != nil {
		for name, client := range clients {
			if _, err := skillset.Open(ctx, map[string]*mcpclient.Client{name: client}, nil); err != nil {
				s.Screen.Note(screen.Warn, "left out: the skills of the server %s: %v", name, err)
				delete(clients, name)
			}
		}
		s.skills = nil
		set, err = skillset.Open(ctx, clients, note)
	}
	if err != nil || len(s.skills) == 0 {
		return nil, err
	}
	s.Screen.Note(screen.Faint, "servers offer the model %s; /skills lists them", screen.Plural(len(s.skills), "skill"))
	for _, why := range set.Left() {
		s.Screen.Note(screen.Warn, "left out: a skill: %s", hosttext.Line(why.Error(), 300))
	}
	return set, nil
}

// listSkills is the command /skills.
func (s *Session) listSkills(context.Context, string) error {
	for _, skill := range s.skills {
		s.listItem(skill.name, skill.server, skill.about)
	}
	if len(s.skills) == 0 {
		s.Screen.List(screen.Faint, "no server offers skills to the model")
		return nil
	}
	s.Screen.List(screen.Faint, "The model may read their instructions by the tool load_skill; -no-instructions withholds them.")
	return nil
}
