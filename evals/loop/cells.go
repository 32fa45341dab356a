package main

import "fmt"

// kind says where the tool is.
type kind string

const (
	native kind = "native" // a Go function
	static kind = "static" // on an MCP server that answers with prepared bytes
	gosdk  kind = "go-sdk" // on an MCP server of the official SDK
)

// cell is what a run does. Behind a history there are two cells: a run of ten
// turns, and a run that is one model call, the answer.
type cell struct {
	kind
	calls   int // in each turn, side by side
	turns   int // before the answer
	history int // messages before the question
}

func (c cell) String() string {
	switch {
	case c.history > 0 && c.turns == 0:
		return fmt.Sprintf("answer/%d", c.history)
	case c.history > 0:
		return fmt.Sprintf("history/%d", c.history)
	}
	return fmt.Sprintf("%s/%d", c.kind, c.calls)
}

// cells returns all cells.
func cells() (all []cell) {
	for _, k := range []kind{native, static, gosdk} {
		for _, calls := range []int{1, 8, 64} {
			all = append(all, cell{kind: k, calls: calls, turns: turns})
		}
	}
	for _, history := range []int{1000, 10000} {
		for _, turns := range []int{turns, 0} {
			all = append(all, cell{kind: native, calls: 1, turns: turns, history: history})
		}
	}
	return all
}
