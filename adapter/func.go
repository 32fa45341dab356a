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

// FuncOptions say more of a function that is a tool. Nil and the zero value are valid.
type FuncOptions struct {
	// Server is what stands for the label of a server, in approvals for instance.
	// Default: local.
	Server string

	// ReadOnly says that the function changes nothing, and Idempotent that a second call
	// with the same arguments changes nothing more. Both are the host's own word:
	// approval is not asked for what is ReadOnly, and either may be repeated, see
	// [Tool.Repeatable].
	ReadOnly, Idempotent bool

	// HonoursKeys says that the function takes a call only once with one key, which it
	// finds by [KeyFrom].
	HonoursKeys bool

	// Trusted lets the function run without approval.
	Trusted bool

	// Listed has a model that searches for its tools (agent.Options.Discover) be offered this one from the beginning.
	Listed bool

	// Serves is what the function gives by name, such as skills, and what each is for. A search finds the function by them,
	// see [Tool.Serving].
	Serves map[string]string

	// Options are as for a toolset. Of them count here Approve, Decisions, User, Intercept, Parallelism, MaxResult and
	// CallTimeout of the Policy, and Logger, which gets the stack of a panic.
	Options *Options
}

// FuncTool is a function of this program as a source of one tool.
type FuncTool struct {
	tool     *Tool
	catalogs map[profile.Profile]func() *Catalog
}

var _ Source = (*FuncTool)(nil)

// Func makes a tool of a function. Its input schema is that of In, a struct or a map with
// strings as keys: properties are what encoding/json reads, required unless the tag json
// says omitempty or omitzero or the field is a pointer, and these tags say more:
//
//	jsonschema:"The city's name"  the description
//	enum:"red,green,blue"         the values of a string, or of each item of a list
//	minimum:"1" maximum:"10"      the bounds of a number
//
// The function gets only arguments that fit. A string that it returns is the text for the
// model, an [*mcp.CallToolResult] the result as it is, and everything else is written as
// JSON, which is also the structured content. What it returns as an error, and a panic,
// is text for the model, as of a tool that failed; the end of the context is not.
//
// It runs on the goroutine of the call, at the same time as others, and has to heed its context,
// which ends at the limit of the call: of [mcpclient.WithTimeout], or else of Policy.CallTimeout. There is
// no default.
//
// Func panics if In has no schema, or if name is empty. [NewFuncTool] takes a schema and a title of the host.
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

// argumentOf is the argument of a function.
func argumentOf[In any](flat flat, arguments json.RawMessage) (In, error) {
	var in In
	if flat.read(arguments, reflect.ValueOf(&in).Elem()) {
		return in, nil
	}
	var whole In
	err := json.Unmarshal(arguments, &whole)
	return whole, err
}

// NewFuncTool makes a tool of a definition and of what runs it, for tools whose types are
// known only when the program runs. The arguments fit the input schema of the definition;
// otherwise it is like [Func]. def must not change after that.
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

// sourceOf makes the source of one tool.
func sourceOf(tool *Tool, o *Options) *FuncTool {
	f := &FuncTool{tool: tool, catalogs: map[profile.Profile]func() *Catalog{}}
	for _, p := range profile.All() {
		f.catalogs[p] = sync.OnceValue(func() *Catalog {
			return newCatalog([]*Tool{tool}, p, o.Parallelism, o.Policy.MaxResult)
		})
	}
	return f
}

// server is what stands for the server of a function.
func (o *FuncOptions) server() *Server {
	s := &Server{Name: cmp.Or(o.Server, "local"), Policy: Policy{Trust: TrustHints}}
	if o.Trusted {
		s.Policy.Trust = TrustFull
	}
	return s
}

// define returns a definition with what the options say.
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

// Catalog returns the function for a provider, always the same value. It panics if there
// is an unknown profile.
func (f *FuncTool) Catalog(p profile.Profile) *Catalog {
	build, ok := f.catalogs[cmp.Or(p, profile.Plain)]
	if !ok {
		panic(fmt.Sprintf("adapter: there is no profile %q", p))
	}
	return build()
}

// Tool is the function for langchaingo's agents.
func (f *FuncTool) Tool() *Tool { return f.tool }

// runLocal runs a tool of this process. Of the options it heeds the timeout.
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

// textResult is a result of one text, in one allocation.
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

// resultOf is what a function has returned, for the model.
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
