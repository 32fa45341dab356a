package adapter

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/internal/schema"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
	"github.com/mcpchain/mcpchain/internal/toolschema"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// FuncOptions configure a function tool. Nil and the zero value are valid.
type FuncOptions struct {
	// Server is the label that takes the place of a server's, for instance in approvals. Default: local.
	Server string

	// ReadOnly says that the function changes nothing: it runs without approval, and its calls may be
	// repeated, see [Tool.Repeatable].
	ReadOnly bool

	// HonoursKeys says that the function runs at most once for each key, see [IdempotencyKeyFrom].
	HonoursKeys bool

	// Trusted lets the function run without approval.
	Trusted bool

	// AlwaysOffered offers the tool from the start, even if the model searches for tools (agent.Options.Discover).
	AlwaysOffered bool

	// Topics names what the function provides, such as skills, and says what each is for. A search
	// finds the function by these, see [Tool.SearchTopics].
	Topics map[string]string

	// Options has the settings that a function shares with toolsets: Approve, Decisions, User, Intercept, Logger, and
	// Policy's MaxResult, CallTimeout and Repeat. Other fields are ignored, also Trust, which is for servers.
	Options *Options
}

// funcSource is a source with one tool: a function of this program.
type funcSource struct {
	tool     *Tool
	catalogs catalogs
}

// Catalog implements [Source].
func (f *funcSource) Catalog(p profile.Profile) *Catalog { return f.catalogs.find(p) }

// Func makes a source of one tool, a function. The input schema follows from In, a struct or a map with string
// keys. The properties are the fields that encoding/json reads. A field is required unless it is a
// pointer or its json tag says omitempty or omitzero. These tags add to the schema:
//
//	jsonschema:"The city's name"  the description
//	enum:"red,green,blue"         the values of a string, or of each item of a list
//	minimum:"1" maximum:"10"      the bounds of a number
//
// The function gets only arguments that fit the schema. If it returns a string, that is the text for the model. An
// [*mcp.CallToolResult] is the result itself. Any other value is written as JSON, as text and as structured content. The
// model reads an error or a panic as the failure of the tool; the end of the context fails the call.
//
// The function runs on the goroutine of the call, and calls may overlap. It must return when its context ends. A call has
// the timeout of [mcpclient.WithTimeout], or else of Policy.CallTimeout; by default it has none.
//
// Func panics if In has no schema, or if name is empty. [NewFuncTool] takes a definition with a schema of your own.
func Func[In, Out any](name, description string, f func(context.Context, In) (Out, error), opts *FuncOptions) Source {
	def := &mcp.Tool{Name: name, Description: description}
	input, err := toolschema.OfType(reflect.TypeFor[In]())
	if err != nil {
		panic(fmt.Sprintf("adapter: function %q: %v", name, err))
	}
	def.InputSchema = input
	flat := newFlat(reflect.TypeFor[In]())
	tool, err := NewFuncTool(def, func(ctx context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
		in, err := decodeArgument[In](flat, arguments)
		if err != nil {
			return nil, fmt.Errorf("arguments: %w", err)
		}
		out, err := f(ctx, in)
		if err != nil {
			return nil, err
		}
		return newResult(out)
	}, opts)
	if errors.Is(err, toolschema.ErrObject) {
		panic(fmt.Sprintf("adapter: function %q: the argument is %v; want a struct or a map with string keys", name, reflect.TypeFor[In]()))
	}
	if err != nil {
		panic("adapter: " + err.Error())
	}
	return tool
}

// decodeArgument decodes the argument of a function. It accepts integers such as 1.0 and 1e2, as JSON Schema does.
func decodeArgument[In any](flat flat, arguments json.RawMessage) (in In, err error) {
	if flat.read(arguments, reflect.ValueOf(&in).Elem()) {
		return in, nil
	}
	in = *new(In) // read may have filled a part
	err = json.Unmarshal(arguments, &in)
	if _, mismatch := errors.AsType[*json.UnmarshalTypeError](err); mismatch {
		in = *new(In)
		err = json.Unmarshal(plainIntegers(arguments), &in)
	}
	return in, err
}

// plainIntegers returns JSON with all integers written as digits.
func plainIntegers(raw json.RawMessage) json.RawMessage {
	var plain func(v any) any
	plain = func(v any) any {
		switch v := v.(type) {
		case json.Number:
			if n, ok := tree.Rational(v); ok && n.IsInt() {
				return json.Number(n.Num().String())
			}
		case []any:
			for i := range v {
				v[i] = plain(v[i])
			}
		case map[string]any:
			for name := range v {
				v[name] = plain(v[name])
			}
		}
		return v
	}
	v, err := schema.Decode(raw)
	if err != nil {
		return raw
	}
	if out, err := jsonrpc.Marshal(plain(v)); err == nil { // it came from JSON
		return out
	}
	return raw
}

// NewFuncTool makes a source of one tool, of a definition and a function that runs it, for tools whose types are
// known only at run time. The function gets arguments that fit the input schema of the definition.
// NewFuncTool is like [Func], but returns an error for a definition without a name or with an
// invalid schema. run may be called concurrently. def must not change afterwards.
func NewFuncTool(
	def *mcp.Tool, run func(context.Context, json.RawMessage) (*mcp.CallToolResult, error), opts *FuncOptions,
) (Source, error) {
	if def == nil || def.Name == "" {
		return nil, errors.New("function has no name")
	}
	o := *cmp.Or(opts, new(FuncOptions))
	common := o.Options.withDefaults()
	c := &calls{
		approvals: newApprovals(common), intercept: common.Intercept,
		current: func(t *Tool) (*Tool, error) { return t, nil },
		hold: func(_ context.Context, t *Tool, _ []mcpclient.CallOption) (*Tool, func(), error) {
			return t, func() {}, nil
		},
		fit: func(text string, t *Tool, taken int) string { return shorten(text, t.server.policy.MaxResult-taken) },
	}
	server := &Server{Name: cmp.Or(o.Server, "local"), Policy: Policy{Trust: TrustHints}}
	if o.Trusted {
		server.Policy.Trust = TrustFull
	}
	tool, err := newTool(newServerState(common, server), nil, o.withHint(def), new(schema.Cache))
	if err == nil {
		err = tool.applyRepeat()
	}
	if err != nil {
		return nil, fmt.Errorf("function %q: %w", excerpt.Limit(def.Name, 200), err)
	}
	tool.calls = c
	tool.local = run
	tool.honoursKeys = o.HonoursKeys
	tool.alwaysOffered = o.AlwaysOffered
	tool.topics = newTopics(o.Topics)
	tool = tool.withName(assignNames([]identity{{server: tool.server.label, tool: def.Name}}, false)[0])
	return &funcSource{tool, newCatalogs([]*Tool{tool}, common)}, nil
}

// withHint returns a copy of a definition with the hint of ReadOnly.
func (o *FuncOptions) withHint(def *mcp.Tool) *mcp.Tool {
	out := *def
	if o.ReadOnly {
		var hints mcp.ToolAnnotations
		if def.Annotations != nil {
			hints = *def.Annotations
		}
		hints.ReadOnlyHint = new(true)
		out.Annotations = &hints
	}
	return &out
}

// runLocal runs a tool of this process. It ignores all options but the timeout.
func (t *Tool) runLocal(ctx context.Context, args json.RawMessage, opts []mcpclient.CallOption) (res *mcp.CallToolResult, err error) {
	if limit, _ := mcpclient.TimeoutOf(opts...); limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	err = runGuarded(t.server.opts.Logger, "the tool", func() (err error) {
		res, err = t.local(ctx, args)
		return err
	})
	switch {
	case err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return nil, err
	case err != nil:
		failure := textResult(err.Error())
		failure.IsError = true
		return failure, nil
	case res == nil:
		return &mcp.CallToolResult{}, nil
	}
	return res, nil
}

// textResult returns a result with one text. It allocates once.
func textResult(text string) *mcp.CallToolResult {
	r := &struct {
		result  mcp.CallToolResult
		content [1]mcp.Content
		text    mcp.TextContent
	}{text: mcp.TextContent{Text: text}}
	r.content[0] = &r.text
	r.result.Content = r.content[:]
	return &r.result
}

// newResult turns the value that a function returned into a result.
func newResult(out any) (*mcp.CallToolResult, error) {
	switch out := out.(type) {
	case string:
		return textResult(out), nil
	case *mcp.CallToolResult:
		return out, nil
	case mcp.CallToolResult:
		return &out, nil
	case struct{}:
		return &mcp.CallToolResult{}, nil
	}
	written, err := jsonrpc.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	return &mcp.CallToolResult{
		Content: []mcp.Content{&mcp.TextContent{Text: string(written)}}, StructuredContent: written,
	}, nil
}
