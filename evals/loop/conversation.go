package main

import "fmt"

// The texts of every run. The model calls the tool in ten turns and answers in one more.
const (
	turns       = 10
	question    = "go"
	toolName    = "echo"
	toolPurpose = "Returns ok."
	arguments   = `{"x":1}`
	toolResult  = "ok"
	answer      = "done"
)

// input holds the arguments of the tool.
type input struct {
	X int `json:"x"`
}

// script holds the replies of the model, the same in each run. Each framework has a
// model of its own type that asks the script for its next reply.
type script struct {
	ids [][]string // ids of the calls, turn by turn
	at  int
}

// newScript returns a script with the given number of turns, and of calls in each.
func newScript(turns, calls int) *script {
	s := &script{ids: make([][]string, turns)}
	for turn := range s.ids {
		for i := range calls {
			s.ids[turn] = append(s.ids[turn], fmt.Sprintf("call_%d_%d", turn, i))
		}
	}
	return s
}

// next returns the ids of the calls in the model's next reply. It is empty for the answer.
func (s *script) next() []string {
	at := s.at
	if at == len(s.ids) {
		s.at = 0
		return nil
	}
	s.at++
	return s.ids[at]
}

// historyText is the text of messages of a history.
const historyText = "The weather in the mountains is fine, and the roads that lead there are dry."

// history returns n messages, which repeat four: one of the user, a call, its result, and one
// of the model. exchange makes a call and its result, with this id.
func history[M any](n int, user, model M, exchange func(id string) (call, result M)) (messages []M) {
	for i := 0; len(messages) < n; i++ {
		call, result := exchange(fmt.Sprint("old_", i))
		messages = append(messages, user, call, result, model)
	}
	return messages[:n]
}
