package main

import (
	"fmt"
	"strconv"
)

// The texts of every run. The model calls the tool in ten turns and answers in
// one more.
const (
	turns       = 10
	question    = "go"
	toolName    = "echo"
	toolPurpose = "Returns ok."
	arguments   = `{"x":1}`
	toolResult  = "ok"
	answer      = "done"
)

// input has the arguments of the tool.
type input struct {
	X int `json:"x"`
}

// script has the replies of the model, the same in each run. Each framework has a
// model of its own type that asks the script for its next reply.
type script struct {
	ids [][]string // of the calls, turn by turn
	at  int
}

// newScript returns a script with so many turns, and so many calls in each.
func newScript(turns, calls int) *script {
	s := &script{ids: make([][]string, turns)}
	for turn := range s.ids {
		for i := range calls {
			s.ids[turn] = append(s.ids[turn], fmt.Sprintf("call_%d_%d", turn, i))
		}
	}
	return s
}

// next returns the ids of the calls in the model's next reply. It is empty for
// the answer.
func (s *script) next() []string {
	at := s.at
	if at == len(s.ids) {
		s.at = 0
		return nil
	}
	s.at++
	return s.ids[at]
}

// historyText is the text of a history. A history repeats four messages: one of the
// user, a call, its result, and one of the model.
const historyText = "The weather in the mountains is fine, and the roads that lead there are dry."

// historyID returns the id of a call in a history, which its result has, too.
func historyID(i int) string { return "old_" + strconv.Itoa(i/4) }
