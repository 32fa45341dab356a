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

// targetMember returns the member of params with the name of a request's target, which the
// Mcp-Name header repeats, or "".
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
			return response{}, fmt.Errorf("%w (and no better headers could be made: %w)", err, learnErr)
		}
		return next(ctx, r, o)
	}
}

func (p *peer) mirrorsParams() bool {
	return p.link.Load().exchange != nil && p.current().has(paramHeaders)
}

// relearn lists the tools up to this one, and returns its headers.
func (r *toolRegistry) relearn(ctx context.Context, tool string) ([]paramheader.Param, error) {
	for t, err := range list[mcp.Tool](ctx, r.lists, "tools/list", "tools", []CallOption{WithoutCache()}) {
		switch {
		case err != nil:
			return nil, err
		case t.Name == tool:
			if err := r.learn(t); err != nil {
				return nil, err
			}
			return r.lookup(tool), nil
		}
	}
	return nil, errors.New("server does not list the tool")
}

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

// learn remembers the headers of a tool, and forgets another tool's if there is no room. The error says which annotation of the
// tool is invalid.
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
