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
	open := Open(s)
	for _, q := range open {
		h.Questions = append(h.Questions, q.ID)
	}
	h.OpenQuestions = questionsOf(open)
	return h
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

// questionsOf returns Head.OpenQuestions.
func questionsOf(open []*run.Question) json.RawMessage {
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
