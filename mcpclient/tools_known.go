package mcpclient

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// maxKnownTools bounds the tools of which something is remembered, and maxKnownSchemas
// the bytes of their output schemas. What is forgotten of headers is found again when
// the server misses it, and a result whose schema is forgotten is not checked.
const (
	maxKnownTools   = 1024
	maxKnownSchemas = 32 << 20
)

// knownTool is what the client remembers of a definition.
type knownTool struct {
	headers []paramHeader // that repeat its arguments
	output  *mcp.Tool     // its name and output schema, nil where its results are not checked
}

// knownTools are the tools that the client has seen or was told of, and has to
// remember.
type knownTools struct {
	mu      sync.Mutex
	tools   map[string]knownTool
	schemas int // bytes of them
}

func (k *knownTools) learn(name string, tool knownTool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.forgetLocked(name)
	if len(tool.headers) == 0 && tool.output == nil {
		return
	}
	if k.tools == nil {
		k.tools = map[string]knownTool{}
	}
	k.schemas += tool.size()
	for other := range k.tools {
		if len(k.tools) < maxKnownTools && k.schemas <= maxKnownSchemas {
			break
		}
		k.forgetLocked(other)
	}
	k.tools[name] = tool
}

func (k *knownTools) forgetLocked(name string) {
	k.schemas -= k.tools[name].size()
	delete(k.tools, name)
}

// size is that of the output schema.
func (t knownTool) size() int {
	if t.output == nil {
		return 0
	}
	return len(t.output.OutputSchema)
}

// of is what is known of a tool; of nil nothing is.
func (k *knownTools) of(name string) knownTool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.tools[name]
}

// RegisterTools tells the client the definitions of tools that it does not
// learn from [Client.Tools], such as those kept from an earlier run: a modern
// server over HTTP may want some arguments of a tool repeated in headers, as the
// tool's input schema says, and [Schemas.CheckOutputs] needs its output schema. A
// later list replaces what was registered. The error joins what is wrong with each
// tool that such a server must not offer; the others are registered. Only what is
// needed is kept.
func (c *Client) RegisterTools(tools ...*mcp.Tool) error {
	var errs []error
	for i, t := range tools {
		if t == nil {
			errs = append(errs, fmt.Errorf("tools[%d]: no tool (nil)", i))
			continue
		}
		if err := jsonrpc.Check(t.InputSchema); err != nil {
			errs = append(errs, fmt.Errorf("tool %q: input schema: %w", excerpt.Cut(t.Name), err))
			continue
		}
		errs = append(errs, c.learnTool(t))
	}
	return errors.Join(errs...)
}

// learnTool remembers what is needed of a tool. The error is about its headers.
func (c *Client) learnTool(t *mcp.Tool) error {
	params, err := paramHeaders(t.InputSchema)
	known := knownTool{headers: params}
	if c.opts.Schemas.CheckOutputs && len(t.OutputSchema) > 0 {
		known.output = &mcp.Tool{Name: t.Name, OutputSchema: bytes.Clone(t.OutputSchema)}
	}
	c.tools.learn(t.Name, known)
	if err != nil {
		return fmt.Errorf("tool %q: %w: %w", excerpt.Cut(t.Name), mcp.ErrInvalidResult, err)
	}
	return nil
}

// acceptable learns from a list of tools and leaves out those that are invalid:
// "Clients MUST reject tool definitions" with an invalid x-mcp-header.
func (c *Client) acceptable(tools iter.Seq2[*mcp.Tool, error]) iter.Seq2[*mcp.Tool, error] {
	return func(yield func(*mcp.Tool, error) bool) {
		for t, err := range tools {
			if err == nil && !c.accepts(t) {
				continue
			}
			if !yield(t, err) {
				return
			}
		}
	}
}

// accepts learns what is needed of a listed tool, and reports whether the headers
// that it wants are valid.
func (c *Client) accepts(t *mcp.Tool) bool {
	mirrors := c.mirrors()
	if !mirrors && !c.opts.Schemas.CheckOutputs {
		return true
	}
	bad := c.learnTool(t)
	if bad == nil || !mirrors {
		return true
	}
	l := c.link.Load()
	l.tolerated("left a tool out of the list", "tool", l.cut(t.Name), "reason", c.scrubbed(bad))
	if c.opts.Schemas.OnInvalidTool != nil {
		c.opts.Schemas.OnInvalidTool(t, bad)
	}
	return false
}
