package mcpclient

import (
	"bytes"
	"fmt"
	"iter"
	"sync"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/mcpclient/internal/paramheader"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// maxKnownTools bounds the remembered tools, and maxKnownSchemas the bytes of their output
// schemas. Forgotten headers are found again when the server misses them; a result whose schema
// was forgotten is not checked.
const (
	maxKnownTools   = 1024
	maxKnownSchemas = 32 << 20
)

// knownTool is what the client remembers of a definition.
type knownTool struct {
	headers []paramheader.Param // that repeat its arguments
	output  *mcp.Tool           // its name and output schema, nil if its results are not checked
}

// toolRegistry remembers what the client needs of the tools that it has seen.
type toolRegistry struct {
	*peer
	schemas Schemas
	lists   *pageReader

	mu    sync.Mutex
	tools map[string]knownTool
	bytes int // total size of output schemas
}

func (k *toolRegistry) learn(name string, tool knownTool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.forgetLocked(name)
	if len(tool.headers) == 0 && tool.output == nil {
		return
	}
	if k.tools == nil {
		k.tools = map[string]knownTool{}
	}
	k.bytes += tool.size()
	for other := range k.tools {
		if len(k.tools) < maxKnownTools && k.bytes <= maxKnownSchemas {
			break
		}
		k.forgetLocked(other)
	}
	k.tools[name] = tool
}

func (k *toolRegistry) forgetLocked(name string) {
	k.bytes -= k.tools[name].size()
	delete(k.tools, name)
}

// size returns the size of the output schema.
func (t knownTool) size() int {
	if t.output == nil {
		return 0
	}
	return len(t.output.OutputSchema)
}

// of returns what is known about a tool.
func (k *toolRegistry) of(name string) knownTool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.tools[name]
}

// learnTool remembers what is needed of a tool. The error is about its headers.
func (k *toolRegistry) learnTool(t *mcp.Tool) error {
	params, err := paramheader.Of(t.InputSchema)
	known := knownTool{headers: params}
	if k.schemas.CheckOutputs && len(t.OutputSchema) > 0 {
		known.output = &mcp.Tool{Name: t.Name, OutputSchema: bytes.Clone(t.OutputSchema)}
	}
	k.learn(t.Name, known)
	if err != nil {
		return fmt.Errorf("tool %q: %w: %w", excerpt.Cut(t.Name), mcp.ErrInvalidResult, err)
	}
	return nil
}

// acceptable learns from a list of tools and leaves out invalid ones: "Clients MUST reject tool
// definitions" with an invalid x-mcp-header.
func (k *toolRegistry) acceptable(tools iter.Seq2[*mcp.Tool, error]) iter.Seq2[*mcp.Tool, error] {
	return func(yield func(*mcp.Tool, error) bool) {
		for t, err := range tools {
			if err == nil && !k.accepts(t) {
				continue
			}
			if !yield(t, err) {
				return
			}
		}
	}
}

// accepts learns from a listed tool, and reports whether its headers are valid.
func (k *toolRegistry) accepts(t *mcp.Tool) bool {
	mirrors := k.peer.mirrors()
	if !mirrors && !k.schemas.CheckOutputs {
		return true
	}
	bad := k.learnTool(t)
	if bad == nil || !mirrors {
		return true
	}
	l := k.peer.link.Load()
	l.warnings.tolerated("left a tool out of the list", "tool", l.texts.cut(t.Name), "reason", k.peer.scrubbed(bad))
	if k.schemas.OnInvalidTool != nil {
		k.schemas.OnInvalidTool(t, bad)
	}
	return false
}
