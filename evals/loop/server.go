package main

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"github.com/mcpchain/mcpchain/evals/bench/rig"
)

// place is a cell for one framework, with the server of its tool.
type place struct {
	cell
	reader io.ReadCloser // messages of an MCP server; nil if the tool is native
	writer io.WriteCloser
	ran    atomic.Int64 // calls of the tool

	requests io.Closer // the server's end of the pipe
	serving  sync.WaitGroup
	err      error // error of the server, after serving
}

func newPlace(c cell) *place {
	p := &place{cell: c}
	if c.kind == static {
		requests, fromClient := io.Pipe()
		toClient, answers := io.Pipe()
		p.reader, p.writer, p.requests = toClient, fromClient, requests
		p.serving.Go(func() { p.err = p.respond(requests, answers) })
	}
	return p
}

// tool is the work of the tool: it counts its calls.
func (p *place) tool() string {
	p.ran.Add(1)
	return toolResult
}

// close ends the server, after the framework has closed its client.
func (p *place) close() error {
	if p.kind == native {
		return nil
	}
	err := errors.Join(p.reader.Close(), p.writer.Close(), p.requests.Close())
	p.serving.Wait()
	if err = errors.Join(err, p.err); errors.Is(err, io.ErrClosedPipe) {
		return nil // the client was first
	}
	return err
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
func (p *place) respond(r io.Reader, w io.Writer) error {
	return rig.Serve(r, w, 64<<10, func(line []byte) (id, rest []byte) {
		if id = value(line, `"id":`); id == nil {
			return nil, nil
		}
		method := value(line, `"method":`)
		if string(method) == `"tools/call"` {
			p.tool()
		}
		if rest = replies[string(method)]; rest == nil {
			rest = refused
		}
		return id, rest
	})
}

// value returns the scalar behind a key. The compared clients send no such key
// before that of the envelope, and no space behind it.
func value(line []byte, key string) []byte {
	i := bytes.Index(line, []byte(key))
	if i < 0 {
		return nil
	}
	line = line[i+len(key):]
	return line[:bytes.IndexAny(line, ",}\n")]
}
