package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"sync"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/internal/paramheader"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// targetMember returns the member of a request that names its target, or "". The Mcp-Name header repeats its value.
func targetMember(method string) string {
	switch method {
	case "tools/call", "prompts/get":
		return "name"
	case "resources/read":
		return "uri"
	case "tasks/get", "tasks/update", "tasks/cancel":
		return "taskId"
	}
	return ""
}

// maxKnownTools bounds the remembered tools. If the server refuses a call because params were
// forgotten, the client lists the tools again by [toolRegistry.relearn].
const maxKnownTools = 1024

// toolRegistry remembers, by tool, the params that calls repeat in headers (x-mcp-header).
type toolRegistry struct {
	*peer
	lists *pageReader

	mu     sync.Mutex
	params map[string][]paramheader.Param
}

// withParamHeaders repeats arguments of a tool call in headers if the tool wants that. If the
// server finds the headers wrong, the definition of the tool is fetched again and the request
// is sent once more.
func withParamHeaders(next sender, tools *toolRegistry) sender {
	return func(ctx context.Context, r *request, o *callOptions) (response, error) {
		if r.method != "tools/call" {
			return next(ctx, r, o)
		}
		if tools.mirrorsParams() {
			if err := r.mirror(tools.lookup(r.target)); err != nil {
				return response{}, err
			}
		}
		got, err := next(ctx, r, o)
		if rpc, ok := errors.AsType[*mcp.RPCError](err); !ok || rpc.Code != mcp.CodeHeaderMismatch || !tools.mirrorsParams() {
			return got, err
		}
		params, learnErr := tools.relearn(ctx, r.target)
		if learnErr == nil {
			learnErr = r.mirror(params)
		}
		if learnErr != nil {
			return response{}, fmt.Errorf("%w (could not correct the headers: %w)", err, learnErr)
		}
		return next(ctx, r, o)
	}
}

// mirrorsParams reports whether the transport and the revision have headers for arguments.
func (p *peer) mirrorsParams() bool {
	return p.link.Load().exchange != nil && p.current().has(paramHeaders)
}

// relearn lists the tools up to this one, learns it, and returns its params.
func (r *toolRegistry) relearn(ctx context.Context, tool string) ([]paramheader.Param, error) {
	for t, err := range list[mcp.Tool](ctx, r.lists, "tools/list", "tools", []CallOption{WithoutCache()}) {
		switch {
		case err != nil:
			return nil, err
		case t.Name == tool:
			if err := r.learn(t); err != nil {
				return nil, fmt.Errorf("%w: %w", mcp.ErrInvalidResult, err)
			}
			return r.lookup(tool), nil
		}
	}
	return nil, errors.New("server does not list the tool")
}

// mirror sets the headers that repeat arguments.
func (r *request) mirror(params []paramheader.Param) error {
	r.header = nil
	if len(params) == 0 {
		return nil
	}
	arguments := jsonrpc.Lookup(r.params, "arguments")
	if arguments == nil {
		return nil
	}
	r.header = make(http.Header, len(params))
	return paramheader.Mirror(params, arguments, func(header, value string) {
		r.header[header] = []string{value}
	})
}

func (r *toolRegistry) lookup(name string) []paramheader.Param {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.params[name]
}

// learn remembers the params of a tool, or says which annotation is invalid. At maxKnownTools it evicts an arbitrary other tool.
func (r *toolRegistry) learn(t *mcp.Tool) error {
	params, err := paramheader.Of(t.InputSchema)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.params, t.Name)
	if err != nil {
		return fmt.Errorf("tool %q: %w", excerpt.Cut(t.Name), err)
	}
	if len(params) == 0 {
		return nil
	}
	if r.params == nil {
		r.params = map[string][]paramheader.Param{}
	}
	for other := range r.params {
		if len(r.params) < maxKnownTools {
			break
		}
		delete(r.params, other)
	}
	r.params[t.Name] = params
	return nil
}

// learnAll learns the tools of a list and leaves out those with an invalid x-mcp-header. The
// specification: "Clients MUST reject tool definitions" of that kind.
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

// learnListed learns a listed tool. It returns false for one that the list must not contain, and logs that.
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
