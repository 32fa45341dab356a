package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

const (
	paramPrefix = "Mcp-Param-"

	// maxSafeInteger is the largest that every JSON implementation holds.
	maxSafeInteger = 1<<53 - 1
)

// headerTools know which arguments tools want in headers.
type headerTools interface {
	mirrors() bool // the server reads headers
	paramHeaders(tool string) []paramHeader
	relearn(ctx context.Context, tool string) ([]paramHeader, error) // from the server
}

// withParamHeaders repeats arguments of a tool call in headers if the tool wants it.
// If the server finds the headers wrong, the tool is asked for anew and the request
// sent once more.
func withParamHeaders(next sender, tools headerTools) sender {
	return func(ctx context.Context, r *request, o *callOptions) (response, error) {
		if r.method != "tools/call" || !tools.mirrors() {
			return next(ctx, r, o)
		}
		if err := r.mirror(tools.paramHeaders(r.target)); err != nil {
			return response{}, err
		}
		got, err := next(ctx, r, o)
		if rpc, ok := errors.AsType[*mcp.RPCError](err); !ok || rpc.Code != mcp.CodeHeaderMismatch {
			return got, err
		}
		params, listErr := tools.relearn(ctx, r.target)
		if listErr == nil {
			listErr = r.mirror(params)
		}
		if listErr != nil {
			return response{}, fmt.Errorf("%w (and no better headers could be made: %w)", err, listErr)
		}
		return next(ctx, r, o)
	}
}

// mirrors reports whether arguments of tool calls are repeated in headers.
func (p *peer) mirrors() bool {
	l := p.link.Load()
	return (l.exchange != nil || l.headed != nil) && p.current().mirrors()
}

func (k *toolRegistry) paramHeaders(tool string) []paramHeader {
	return k.of(tool).headers
}

// relearn lists the tools up to the one that is wanted.
func (k *toolRegistry) relearn(ctx context.Context, tool string) ([]paramHeader, error) {
	for t, err := range list[mcp.Tool](ctx, k.lists, "tools/list", "tools", []CallOption{WithoutCache()}) {
		switch {
		case err != nil:
			return nil, err
		case t.Name == tool:
			if err := k.learnTool(t); err != nil {
				return nil, err
			}
			return k.paramHeaders(tool), nil
		}
	}
	return nil, errors.New("the server does not list the tool")
}

// mirror makes the headers that repeat arguments of a tool call.
func (r *request) mirror(params []paramHeader) error {
	r.header = nil
	if len(params) == 0 {
		return nil
	}
	var arguments []byte
	err := jsonrpc.Members(r.params, func(key, value []byte) {
		if string(key) == "arguments" {
			arguments = value
		}
	})
	if err != nil || arguments == nil {
		return err
	}
	return mirrorObject(&r.header, arguments, params, 0)
}

// mirrorObject makes the headers of the parameters that are in object, which is
// depth steps down their paths. "If the value is null or absent, clients MUST
// omit the header."
func mirrorObject(h *fields, object []byte, params []paramHeader, depth int) error {
	if object[0] != '{' {
		return nil
	}
	var failed error
	err := jsonrpc.Members(object, func(key, value []byte) {
		var within []paramHeader
		for _, p := range params {
			switch {
			case p.path[depth] != string(key):
			case len(p.path) > depth+1:
				within = append(within, p)
			default:
				v, ok, err := headerText(value)
				switch {
				case err != nil:
					failed = errors.Join(failed, fmt.Errorf("argument %q: %w", key, err))
				case ok:
					*h = append(*h, field{p.name, []string{headerValue(v)}})
				}
			}
		}
		if len(within) > 0 {
			failed = errors.Join(failed, mirrorObject(h, value, within, depth+1))
		}
	})
	return errors.Join(err, failed)
}

// headerText is the text of an argument; ok is false where it has none.
func headerText(value []byte) (text string, ok bool, err error) {
	switch value[0] {
	case 'n', '{', '[':
		return "", false, nil
	case 't', 'f':
		return string(value), true, nil
	case '"':
		if err := json.Unmarshal(value, &text); err != nil {
			return "", false, err
		}
		return text, true, nil
	}
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil { // 4e1 and 4.0 are integers too
		f, err := strconv.ParseFloat(string(value), 64)
		switch {
		case err != nil || f > maxSafeInteger || f < -maxSafeInteger:
			return "", false, unsafeInteger(value)
		case f != float64(int64(f)):
			return string(value), true, nil // not of the declared type: the server's to refuse
		}
		n = int64(f)
	}
	if n > maxSafeInteger || n < -maxSafeInteger {
		return "", false, unsafeInteger(value)
	}
	return strconv.FormatInt(n, 10), true, nil
}

func unsafeInteger(value []byte) error {
	return fmt.Errorf("%s is repeated in a header, where integers beyond ±(2^53-1) are not allowed", excerpt.Cut(string(value)))
}
