package main

import (
	"context"
	"errors"
	"io"
	"sync/atomic"

	"github.com/mcpchain/mcpchain/evals/bench/rig"
)

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
