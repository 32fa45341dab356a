package sampling

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/mcpchain/mcpchain/internal/chat"
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/internal/schema"
	"github.com/mcpchain/mcpchain/internal/toolschema"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// offer maps the names of a request's tools to their schemas, as rewritten for the model.
type offer map[string]*offeredTool

// offeredTool is the schema of one tool, as the server wrote it and rewritten.
type offeredTool struct {
	schema  *toolschema.Schema
	written *toolschema.Written
}

// rewriteTools rewrites the schemas of a request's tools for its model, and reserves the added bytes: a provider without
// references gets copies of the referenced schemas. Limits.InputBytes applies to the rewritten schemas, too.
func (s *Sampler) rewriteTools(ctx context.Context, r *run) (offer, error) {
	target, params := s.chat.Schemas(r.request.Model), r.request.Params
	room := s.options.Limits.InputBytes - newNeeds(params).size()
	out := offer{}
	for _, t := range params.Tools {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		schema, err := toolschema.New(t.InputSchema, &s.schemas)
		if err != nil {
			return nil, invalidError(fmt.Errorf("tools: %q: %w", excerpt.Cut(t.Name), err))
		}
		written := schema.For(target, nil)
		out[t.Name] = &offeredTool{schema, written}
		r.addedBytes += max(0, len(written.Parameters)-len(t.InputSchema))
		if r.addedBytes > room {
			return nil, newRefusal(kindSize, fmt.Sprintf("with the schemas of its tools rewritten for the model, "+
				"the request has more than %d bytes, which is the limit", s.options.Limits.InputBytes))
		}
	}
	if r.addedBytes == 0 {
		return out, nil
	}
	return out, r.ticket.reserve(r.model.ID, r.reservation())
}

// tools lists the tools for the host.
func (o offer) tools(tools []*mcp.Tool) []chat.Tool {
	var out []chat.Tool
	for _, t := range tools {
		out = append(out, chat.Tool{Name: t.Name, Description: t.Description, Parameters: o[t.Name].written.Parameters})
	}
	return out
}

// restoreArguments returns the model's arguments in the form that the server's schema describes. Arguments that already
// have that form, or cannot be restored, stay unchanged; the server reports mistakes.
func (o offer) restoreArguments(tool, arguments string) json.RawMessage {
	written := json.RawMessage(arguments)
	t, ok := o[tool]
	if !ok || !t.written.Undo {
		return written
	}
	args, err := t.schema.Arguments(arguments, t.written.Wrapped)
	if err != nil || sameValue(args, written) {
		return written
	}
	return args
}

// sameValue reports whether two texts are the same JSON value.
func sameValue(a, b []byte) bool {
	v, errV := schema.Decode(a)
	w, errW := schema.Decode(b)
	return errV == nil && errW == nil && reflect.DeepEqual(v, w)
}

// replayArguments returns the arguments of an earlier call in the wrapper that the model was asked to use.
func (o offer) replayArguments(tool string, arguments json.RawMessage) string {
	t, ok := o[tool]
	if !ok || !t.written.Wrapped {
		return string(arguments)
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(arguments, &members) == nil && len(members) == 1 && members[t.schema.Wrapper] != nil {
		return string(arguments) // it is still wrapped
	}
	if len(arguments) == 0 {
		arguments = json.RawMessage(`{}`)
	}
	wrapped, err := jsonrpc.Marshal(map[string]json.RawMessage{t.schema.Wrapper: arguments})
	if err != nil {
		return string(arguments)
	}
	return string(wrapped)
}
