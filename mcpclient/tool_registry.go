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

// maxKnownTools bounds the remembered tools, and maxKnownSchemas the bytes of their output schemas.
// If the server refuses a call because headers were forgotten, the client lists the tools again by
// [toolRegistry.relearn]. A result whose schema was forgotten is not checked.
const (
	maxKnownTools   = 1024
	maxKnownSchemas = 32 << 20
)

// knownTool is what the client remembers of a definition.
type knownTool struct {
	headers []paramheader.Param // headers that repeat arguments of its calls (x-mcp-header)
	output  *mcp.Tool           // its name and output schema; nil: results are not checked
}

// toolRegistry remembers the headers and output schemas of the tools that the client has seen.
type toolRegistry struct {
	*peer
	schemas Schemas
	lists   *pageReader

	mu    sync.Mutex
	tools map[string]knownTool
	bytes int // total size of output schemas
}

// store remembers a tool, or forgets it if later calls need nothing of it. If there is no room, it
// forgets others, in no order.
func (r *toolRegistry) store(name string, tool knownTool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forgetLocked(name)
	if tool.size() > maxKnownSchemas {
		tool.output = nil
	}
	if len(tool.headers) == 0 && tool.output == nil {
		return
	}
	if r.tools == nil {
		r.tools = map[string]knownTool{}
	}
	r.bytes += tool.size()
	for other := range r.tools {
		if len(r.tools) < maxKnownTools && r.bytes <= maxKnownSchemas {
			break
		}
		r.forgetLocked(other)
	}
	r.tools[name] = tool
}

func (r *toolRegistry) forgetLocked(name string) {
	r.bytes -= r.tools[name].size()
	delete(r.tools, name)
}

// size returns the size of the output schema.
func (t knownTool) size() int {
	if t.output == nil {
		return 0
	}
	return len(t.output.OutputSchema)
}

// lookup returns the remembered definition of a tool, the zero value if there is none.
func (r *toolRegistry) lookup(name string) knownTool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tools[name]
}

// learn remembers a tool. If the tool's headers are invalid, it remembers the tool without them and
// returns an error.
func (r *toolRegistry) learn(t *mcp.Tool) error {
	params, err := paramheader.Of(t.InputSchema)
	known := knownTool{headers: params}
	if r.schemas.CheckOutputs && len(t.OutputSchema) > 0 {
		known.output = &mcp.Tool{Name: t.Name, OutputSchema: bytes.Clone(t.OutputSchema)}
	}
	r.store(t.Name, known)
	if err != nil {
		return fmt.Errorf("tool %q: %w: %w", excerpt.Cut(t.Name), mcp.ErrInvalidResult, err)
	}
	return nil
}

// learnAll learns the tools of a list and leaves out invalid ones: "Clients MUST reject tool
// definitions" with an invalid x-mcp-header.
func (r *toolRegistry) learnAll(tools iter.Seq2[*mcp.Tool, error]) iter.Seq2[*mcp.Tool, error] {
	return func(yield func(*mcp.Tool, error) bool) {
		for t, err := range tools {
			if err == nil && !r.learnListed(t) {
				continue
			}
			if !yield(t, err) {
				return
			}
		}
	}
}

// learnListed learns a listed tool. It returns false for one that the list must not contain, and
// reports that.
func (r *toolRegistry) learnListed(t *mcp.Tool) bool {
	mirrors := r.peer.mirrorsParams()
	if !mirrors && !r.schemas.CheckOutputs {
		return true
	}
	err := r.learn(t)
	if err == nil || !mirrors {
		return true
	}
	l := r.peer.link.Load()
	l.warnings.logViolation("left a tool out of the list", "tool", l.texts.cut(t.Name), "reason", r.peer.scrubError(err))
	if r.schemas.OnInvalidTool != nil {
		r.schemas.OnInvalidTool(t, err)
	}
	return false
}
