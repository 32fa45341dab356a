package adapter

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/internal/schema"
	"github.com/mcpchain/mcpchain/internal/toolschema"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// FuncOptions configure a function tool. Nil and the zero value are valid.
type FuncOptions struct {
	// Server takes the place of a server's label, in approvals for instance. Default: local.
	Server string

	// ReadOnly says that the function changes nothing, and Idempotent that repeating a call
	// changes nothing more. ReadOnly functions need no approval. Functions with either may be
	// called again after a failure, see [Tool.Repeatable].
	ReadOnly, Idempotent bool

	// HonoursKeys says that the function runs at most once for each key, see [KeyFrom].
	HonoursKeys bool

	// Trusted exempts the function from approval.
	Trusted bool

	// Listed offers the function from the start even if the model searches for its tools
	// (agent.Options.Discover).
	Listed bool

	// Serves describes what the function provides by name, such as skills. A search for one of
	// them finds the function, see [Tool.Serving].
	Serves map[string]string

	// Options has the settings that a function shares with toolsets: Approve, Decisions, User,
	// Intercept, Parallelism, Logger, and MaxResult and CallTimeout of Policy. Other fields are
	// ignored.
	Options *Options
}

// FuncTool is a function of this program as a source of one tool.
type FuncTool struct {
	tool     *Tool
	catalogs map[profile.Profile]func() *Catalog
}

var _ Source = (*FuncTool)(nil)

// Func returns a tool that calls f. Its input schema is derived from In, a struct or a map with
// strings as keys. Properties are named as in encoding/json, and required unless the json tag has
// omitempty or omitzero or the field is a pointer. Further tags:
//
//	jsonschema:"The city's name"  the description
//	enum:"red,green,blue"         the values of a string, or of each item of a list
//	minimum:"1" maximum:"10"      the bounds of a number
//
// f is called only with arguments that fit the schema. If it returns a string, that is the text
// for the model; an [*mcp.CallToolResult] is the result itself; any other value is encoded as
// JSON, which is also the structured content. An error or a panic becomes the text of a failed
// tool, unless the context has ended.
//
// f runs on the caller's goroutine, and calls may overlap. It must return when its context ends,
// for example at the call's timeout: that of [mcpclient.WithTimeout], or else Policy.CallTimeout,
// which has no default here.
//
// Func panics if In has no schema or name is empty. [NewFuncTool] takes a schema and a title of
// your own.
func Func[In, Out any](name, description string, f func(context.Context, In) (Out, error), opts *FuncOptions) *FuncTool {
	def := &mcp.Tool{Name: name, Description: description}
	input, err := toolschema.OfType(reflect.TypeFor[In]())
	if err != nil {
		panic(fmt.Sprintf("adapter: function %q: %v", name, err))
	}
	def.InputSchema = input
	flat := newFlat(reflect.TypeFor[In]())
	tool, err := NewFuncTool(def, func(ctx context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
		in, err := argumentOf[In](flat, arguments)
		if err != nil {
			return nil, fmt.Errorf("arguments: %w", err)
		}
		out, err := f(ctx, in)
		if err != nil {
			return nil, err
		}
		return resultOf(out)
	}, opts)
	if errors.Is(err, toolschema.ErrObject) {
		panic(fmt.Sprintf("adapter: function %q: the argument is %v; want a struct or a map with string keys", name, reflect.TypeFor[In]()))
	}
	if err != nil {
		panic("adapter: " + err.Error())
	}
	return tool
}

// argumentOf decodes the argument of a function.
func argumentOf[In any](flat flat, arguments json.RawMessage) (In, error) {
	var in In
	if flat.read(arguments, reflect.ValueOf(&in).Elem()) {
		return in, nil
	}
	var whole In
	err := json.Unmarshal(arguments, &whole)
	return whole, err
}

// NewFuncTool returns a tool from a definition and the function that runs it, for tools whose
// types are known only at run time. Arguments are checked against the input schema; otherwise
// it is like [Func]. def must not change afterwards.
func NewFuncTool(def *mcp.Tool, run func(context.Context, json.RawMessage) (*mcp.CallToolResult, error), opts *FuncOptions) (*FuncTool, error) {
	if def.Name == "" {
		return nil, errors.New("a function has no name")
	}
	var o FuncOptions
	if opts != nil {
		o = *opts
	}
	common := o.Options.withDefaults()
	c := &calls{
		approvals: newApprovals(common), intercept: common.Intercept,
		current: func(t *Tool) (*Tool, error) { return t, nil },
		fit:     func(text string, t *Tool) string { return shorten(text, t.policy.MaxResult) },
	}
	tool, err := newTool(newPolicy(common, o.server()), nil, o.define(def), new(schema.Cache))
	if err != nil {
		return nil, fmt.Errorf("function %q: %w", cut(def.Name, 200), err)
	}
	tool.calls, tool.local, tool.honoursKeys, tool.listed = c, run, o.HonoursKeys, o.Listed
	tool.serves = served(o.Serves)
	tool = tool.named(assignNames([]identity{{server: tool.policy.label, tool: def.Name}}, false)[0])
	return sourceOf(tool, common), nil
}

// sourceOf returns the source of one tool.
func sourceOf(tool *Tool, o *Options) *FuncTool {
	f := &FuncTool{tool: tool, catalogs: map[profile.Profile]func() *Catalog{}}
	for _, p := range profile.All() {
		f.catalogs[p] = sync.OnceValue(func() *Catalog {
			return newCatalog([]*Tool{tool}, p, o.Parallelism, o.Policy.MaxResult)
		})
	}
	return f
}

// server returns the stand-in for the server of a function.
func (o *FuncOptions) server() *Server {
	s := &Server{Name: cmp.Or(o.Server, "local"), Policy: Policy{Trust: TrustHints}}
	if o.Trusted {
		s.Policy.Trust = TrustFull
	}
	return s
}

// define returns a definition with the hints of the options.
func (o *FuncOptions) define(def *mcp.Tool) *mcp.Tool {
	out := *def
	if o.ReadOnly || o.Idempotent {
		var hints mcp.ToolAnnotations
		if def.Annotations != nil {
			hints = *def.Annotations
		}
		if yes := true; o.ReadOnly {
			hints.ReadOnlyHint = &yes
		}
		if yes := true; o.Idempotent {
			hints.IdempotentHint = &yes
		}
		out.Annotations = &hints
	}
	return &out
}

// Catalog returns the catalog for a provider, always the same one. It panics if the profile is
// unknown.
func (f *FuncTool) Catalog(p profile.Profile) *Catalog {
	build, ok := f.catalogs[cmp.Or(p, profile.Plain)]
	if !ok {
		panic(fmt.Sprintf("adapter: there is no profile %q", p))
	}
	return build()
}

// Tool returns the function as a tool for langchaingo's agents.
func (f *FuncTool) Tool() *Tool { return f.tool }

// runLocal runs a tool of this process. It ignores all options but the timeout.
func (t *Tool) runLocal(ctx context.Context, args json.RawMessage, opts []mcpclient.CallOption) (res *mcp.CallToolResult, err error) {
	limit, set := mcpclient.TimeoutOf(opts...)
	if !set {
		limit = t.policy.CallTimeout
	}
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	err = guarded(t.policy.log, "the tool", func() (err error) {
		res, err = t.local(ctx, args)
		return err
	})
	switch {
	case err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return nil, err
	case err != nil:
		return toolFailure(err.Error()), nil
	case res == nil:
		return &mcp.CallToolResult{}, nil
	}
	return res, nil
}

// textResult returns a result with one text, in a single allocation.
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

// resultOf converts what a function returned to a result.
func resultOf(out any) (*mcp.CallToolResult, error) {
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
