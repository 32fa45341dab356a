package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/evals/bench/rig"
)

// kind specifies where the tool is.
type kind string

const (
	native kind = "native" // a Go function
	static kind = "static" // a tool of an MCP server that answers with prepared bytes
)

// cell describes a run. Behind a history there are two cells: a run of ten
// turns, and a run that is one model call, the answer.
type cell struct {
	kind
	calls   int // parallel calls in each turn
	turns   int // turns before the answer
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

func cells() (all []cell) {
	for _, k := range []kind{native, static} {
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

// framework is one of the compared agents.
type framework struct {
	name string
	can  func(cell) bool // reports whether it takes part in a cell

	// open makes an agent with the tool of the subject. It sets the subject's end if there is something to close.
	open func(context.Context, *subject) (runner, error)
}

func (f framework) String() string { return f.name }

// runner asks an agent the question in a new session, and returns the answer.
type runner func(context.Context) (string, error)

// subject is one framework in one cell, with the server of its tool. Its agent lives while the cell is measured.
type subject struct {
	cell
	run    runner
	end    func() error  // closes the agent's connection to the server; nil: it has none
	ran    atomic.Int64  // calls of the tool
	reader io.ReadCloser // the pipe to an MCP server; nil if the tool is native
	writer io.WriteCloser
}

func newSubject(ctx context.Context, f framework, c cell) (_ *subject, err error) {
	s := &subject{cell: c}
	if c.kind == static {
		s.reader, s.writer = rig.Pipe(s.respond)
	}
	if s.run, err = f.open(ctx, s); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// tool is the work of the tool: it counts its calls.
func (s *subject) tool() string {
	s.ran.Add(1)
	return toolResult
}

func (s *subject) close() error {
	if s.end == nil {
		return nil
	}
	return s.end()
}

// Names of frameworks.
const (
	oursName        = "ours"
	storedName      = "ours-stored"
	freshName       = "ours-fresh"
	einoName        = "eino"
	langchaingoName = "langchaingo"
)

var frameworks = []framework{
	{oursName, everywhere, func(ctx context.Context, s *subject) (runner, error) { return openOurs(ctx, s, s.history, nil) }},
	{storedName, withoutHistory, func(ctx context.Context, s *subject) (runner, error) { return openOurs(ctx, s, 0, record.NewMemory()) }},
	{freshName, func(c cell) bool { return c.history > 0 && c.turns > 0 }, func(ctx context.Context, s *subject) (runner, error) { return openOurs(ctx, s, 0, nil) }},
	{einoName, everywhere, openEino},
	{langchaingoName, func(c cell) bool { return c.kind == native && c.history == 0 }, openLangchainGo},
}

func everywhere(cell) bool       { return true }
func withoutHistory(c cell) bool { return c.history == 0 }

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

// replies holds the answers of the server by method, from the comma behind the id. It speaks 2025-11-25 only, so that
// all clients speak the same revision.
var replies = map[string][]byte{
	`"initialize"`: []byte(`,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"responder","version":"1.0.0"}}}` + "\n"),
	`"tools/list"`: []byte(`,"result":{"tools":[{"name":"` + toolName + `","description":"` + toolPurpose + `","inputSchema":{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"],"additionalProperties":false},"annotations":{"readOnlyHint":true}}]}}` + "\n"),
	`"tools/call"`: []byte(`,"result":{"content":[{"type":"text","text":"` + toolResult + `"}]}}` + "\n"),
}

var refused = []byte(`,"error":{"code":-32601,"message":"Method not found"}}` + "\n")

// respond is an MCP server with the tool.
func (s *subject) respond(r io.Reader, w io.Writer) error {
	return rig.Serve(r, w, 64<<10, func(line []byte) (id, rest []byte) {
		if id = rig.Value(line, `"id":`); id == nil {
			return nil, nil
		}
		method := rig.Value(line, `"method":`)
		if string(method) == `"tools/call"` {
			s.tool()
		}
		if rest = replies[string(method)]; rest == nil {
			rest = refused
		}
		return id, rest
	})
}
