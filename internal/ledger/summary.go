package ledger

import (
	"encoding/json"
	"slices"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/mcpchain/mcpchain/agent/run"
)

// HeadOf returns the head of a state.
func HeadOf(s *State) run.Head {
	h := run.Head{
		Key: run.Key{Tenant: s.Tenant, ID: s.ID}, Agent: s.Agent.Name, Status: s.Status, Wake: s.Wake,
		Seq: s.Seq, Snapshot: s.Snapshot, Created: s.Created, Updated: s.Updated, Takeovers: s.Takeovers,
	}
	h.Questions, h.OpenQuestions = openIDs(nil, s), questionsOf(s)
	return h
}

// openAsks adds the ids of the open questions of a run and its sub-agents.
func openIDs(ids []string, s *State) []string {
	for _, q := range s.Questions {
		ids = append(ids, q.ID)
	}
	for _, c := range s.Calls {
		if c.Child != nil {
			ids = openIDs(ids, c.Child)
		}
	}
	return ids
}

// Open returns the open questions of a run and its sub-agents. They belong to the state: do not
// modify them.
func Open(s *State) []*run.Question {
	questions := slices.Clone(s.Questions)
	for _, c := range s.Calls {
		if c.Child != nil {
			questions = append(questions, Open(c.Child)...)
		}
	}
	return questions
}

// MaxQuestions bounds [Head].OpenQuestions in bytes, because each change of a run writes its
// head.
const MaxQuestions = 2 << 10

// questionsOf returns Head.OpenQuestions of a run.
func questionsOf(s *State) json.RawMessage {
	open := Open(s)
	size := 0
	for _, q := range open {
		size += len(q.Arguments) + len(q.URL)
	}
	if len(open) == 0 || size > MaxQuestions {
		return nil
	}
	data, err := jsonv2.Marshal(open, format)
	if err != nil || len(data) > MaxQuestions {
		return nil
	}
	return data
}
