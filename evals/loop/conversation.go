package main

import (
	"fmt"
	"strconv"
)

// What every run says. The model asks for the tool in ten turns and answers in
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

// input is what the tool takes.
type input struct {
	X int `json:"x"`
}

// script is what the model does in run after run. Each framework has a model of
// its own type, which asks the script for its next reply.
type script struct {
	ids [][]string // of the calls, turn by turn
	at  int
}

// newScript has so many turns, with so many calls in each.
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

// A history repeats four messages: a person's, a call, its result, the model's
// text.
const historyText = "The weather in the mountains is fine, and the roads that lead there are dry."

// historyID is the id of a message's call, which its result has, too.
func historyID(i int) string { return "old_" + strconv.Itoa(i/4) }
