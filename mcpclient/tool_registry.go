package mcpclient

import (
	"fmt"
	"iter"
	"sync"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/mcpclient/internal/paramheader"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// maxKnownTools bounds the remembered tools. If the server refuses a call because headers were
// forgotten, the client lists the tools again by [toolRegistry.relearn].
const maxKnownTools = 1024

// toolRegistry remembers which headers repeat arguments of calls (x-mcp-header), by tool.
type toolRegistry struct {
	*peer
	lists *pageReader

	mu      sync.Mutex
	headers map[string][]paramheader.Param
}

func (r *toolRegistry) lookup(name string) []paramheader.Param {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.headers[name]
}

// learn remembers the headers of a tool. If there is no room, it forgets those of another. If they
// are invalid, it returns an error.
func (r *toolRegistry) learn(t *mcp.Tool) error {
	params, err := paramheader.Of(t.InputSchema)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.headers, t.Name)
	if err != nil {
		return fmt.Errorf("tool %q: %w: %w", excerpt.Cut(t.Name), mcp.ErrInvalidResult, err)
	}
	if len(params) == 0 {
		return nil
	}
	if r.headers == nil {
		r.headers = map[string][]paramheader.Param{}
	}
	for other := range r.headers {
		if len(r.headers) < maxKnownTools {
			break
		}
		delete(r.headers, other)
	}
	r.headers[t.Name] = params
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

// learnListed learns a listed tool. It returns false for one that the list must not contain, and logs
// that.
func (r *toolRegistry) learnListed(t *mcp.Tool) bool {
	if !r.peer.mirrorsParams() {
		return true
	}
	err := r.learn(t)
	if err != nil {
		l := r.peer.link.Load()
		l.warnings.logViolation("left a tool out of the list", "tool", l.texts.cut(t.Name), "reason", r.peer.scrubError(err))
	}
	return err == nil
}
