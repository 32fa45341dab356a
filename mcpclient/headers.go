package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"

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
