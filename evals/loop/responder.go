package main

import (
	"bytes"
	"io"

	"github.com/mcpchain/mcpchain/evals/bench/rig"
)

// replies has the answers of the responder by method, from the comma behind the id. It speaks 2025-11-25 only, so that
// all clients speak the same revision.
var replies = map[string][]byte{
	`"initialize"`: []byte(`,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"responder","version":"1.0.0"}}}` + "\n"),
	`"tools/list"`: []byte(`,"result":{"tools":[{"name":"` + toolName + `","description":"` + toolPurpose + `","inputSchema":{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"],"additionalProperties":false},"annotations":{"readOnlyHint":true}}]}}` + "\n"),
	`"tools/call"`: []byte(`,"result":{"content":[{"type":"text","text":"` + toolResult + `"}]}}` + "\n"),
}

var refused = []byte(`,"error":{"code":-32601,"message":"Method not found"}}` + "\n")

// respond is an MCP server that counts its calls.
func respond(r io.Reader, w io.Writer, count func()) error {
	return rig.Serve(r, w, 64<<10, func(line []byte) (id, rest []byte) {
		if id = value(line, `"id":`); id == nil {
			return nil, nil
		}
		method := value(line, `"method":`)
		if string(method) == `"tools/call"` {
			count()
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
