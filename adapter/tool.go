package adapter

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/kept"
	"github.com/mcpchain/mcpchain/internal/schema"
	"github.com/mcpchain/mcpchain/internal/toolschema"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Tool is a server's tool as the model sees it. It is a langchaingo tool.
type Tool struct {
	policy  *policy
	client  *mcpclient.Client // nil for the toolset's own tools
	def     *mcp.Tool
	name    string
	input   *toolschema.Schema
	shown   *mcp.Tool           // nil: def
	wrapped bool                // the model is asked for all arguments in the wrapper
	task    bool                // it may be called as a task
	outputs mcpclient.Validator // checks its results by its output schema; nil: they are not checked

	keyArgument string    // the argument for the key of a call, "" for none
	listed      bool      // it need not be searched for
	serves      *servings // what a function gives by name, nil for nothing
	honoursKeys bool      // a function that looks for the key itself
	repeat      bool      // the host says that it may be repeated
	views       apps.Tool // what it says of views

	fill filler                      // see Filling; nil: arguments have no references
	held func(json.RawMessage) error // the host's validator of arguments, nil without one

	reader      string // the name of the tool that reads its long results, "" for the one in its toolset
	own         string // the name that the host wants, "" for the server's
	fingerprint string

	calls *calls // runs its calls

	// local runs the tool in this process. It is set for the toolset's own tools, and for
	// functions.
	local func(context.Context, json.RawMessage) (*mcp.CallToolResult, error)
}

// newTool makes a tool of a definition. client is nil for the toolset's own.
func newTool(p *policy, client *mcpclient.Client, def *mcp.Tool, schemas *schema.Cache) (*Tool, error) {
	shown, keyArgument := def.InputSchema, ""
	if name := p.keyInArgument; name != "" {
		if without, ok := withoutProperty(shown, name); ok {
			shown, keyArgument = without, name
		}
	}
	input, err := toolschema.New(shown, schemas)
	if err != nil {
		return nil, err
	}
	if ignored := input.Ignored(); len(ignored) > 0 {
		p.log.Debug("patterns that are left to the server", "server", p.label, "tool", cut(def.Name, 200), "at", ignored)
	}
	about, err := apps.OfTool(def)
	if err != nil {
		p.log.Warn("what a tool says of views cannot be read", "server", p.label, "tool", cut(def.Name, 200), "error", err)
	}
	tool := &Tool{policy: p, client: client, def: def, input: input, keyArgument: keyArgument, task: mayBeTask(client, def), views: about, fingerprint: Fingerprint(def)}
	if keyArgument != "" {
		without := *def
		without.InputSchema = shown
		tool.shown = &without
	}
	return tool, tool.hold(shown)
}

// hold prepares the checks that the options of the client and of the toolset ask for. shown is the
// input schema as models see it.
func (t *Tool) hold(shown json.RawMessage) error {
	if t.client == nil {
		return nil
	}
	if v := t.client.Validator(); v != nil {
		check, err := v.Compile(shown)
		if err != nil {
			return fmt.Errorf("input schema: %w", err)
		}
		t.held = check
	}
	if !t.policy.CheckOutputs || len(t.def.OutputSchema) == 0 {
		return nil
	}
	v := cmp.Or(t.client.Validator(), mcpclient.Validator(&t.policy.compiler))
	if _, err := v.Compile(t.def.OutputSchema); err != nil {
		t.policy.log.Warn("results of a tool are not checked", "server", t.policy.label, "tool", cut(t.def.Name, 200), "error", err)
		return nil
	}
	t.outputs = v
	return nil
}

// named returns the tool with that name. It does not change t, which may be in use.
func (t *Tool) named(name string) *Tool {
	if t.name == name {
		return t
	}
	renamed := *t
	renamed.name = name
	return &renamed
}

// toolID names a tool on every connection to its server.
type toolID struct {
	server *policy
	name   string // the server's
}

func (t *Tool) id() toolID { return toolID{t.policy, t.def.Name} }

// reads reports whether the tool reads the long results of its toolset.
func (t *Tool) reads() bool {
	return t.client == nil && t.def.Name == kept.Reader && t.policy.label == ""
}

// shownAs is the tool as it is offered to a model, with or without the wrapper.
func (t *Tool) shownAs(wrapped bool) *Tool {
	if t.wrapped == wrapped {
		return t
	}
	shown := *t
	shown.wrapped = wrapped
	return &shown
}

// Name is the name that the model knows the tool by.
func (t *Tool) Name() string { return t.name }

// Server is the host's label of the server that has the tool. It is "" for the
// toolset's own tool, see [Options.Spill].
func (t *Tool) Server() string { return t.policy.label }

// Fingerprint is the fingerprint of the tool's definition, see [Fingerprint].
func (t *Tool) Fingerprint() string { return t.fingerprint }

// ViewURI is the URI of the view that shows the tool's results, "" for none.
func (t *Tool) ViewURI() string { return t.views.ResourceURI }

// Native reports whether the tool runs in this program: it is a function, or the toolset's own.
func (t *Tool) Native() bool { return t.local != nil }

// Listed reports whether a model that searches for its tools is offered this one from the beginning, see [FuncOptions].
func (t *Tool) Listed() bool { return t.listed }

// Client is the connection to that server, nil for a tool of this program, and for one of a server that is not connected
// yet ([StartLazy]).
func (t *Tool) Client() *mcpclient.Client {
	if t.client == nil && t.policy != nil {
		return t.policy.live.Load()
	}
	return t.client
}

// Wrapped reports whether the model is asked for all arguments in one property.
func (t *Tool) Wrapped() bool { return t.wrapped }

// Definition is the tool as its server describes it, under its own name. It is
// shared and must not be changed.
func (t *Tool) Definition() *mcp.Tool { return t.def }

// Shown is the definition as models and persons see it: without the argument of
// [Server.KeyInArgument]. It is shared and must not be changed.
func (t *Tool) Shown() *mcp.Tool {
	if t.shown == nil {
		return t.def
	}
	return t.shown
}

// summary says what the tool is for.
func (t *Tool) summary() string {
	if t.def.Description != "" {
		return t.def.Description
	}
	return t.def.DisplayName()
}

// maxDescription is how much of a function's description OpenAI takes.
const maxDescription = 1024

// Description says what the tool is for and what its input must look like: the
// JSON Schema where the whole stays within 1,024 bytes, which is as much as
// some providers take, and else a list of the parameters.
func (t *Tool) Description() string {
	var compact bytes.Buffer
	if err := json.Compact(&compact, t.input.Parameters); err == nil {
		full := t.summary() + "\nThe input is a JSON object that fits this JSON Schema: " + compact.String()
		if len(full) <= maxDescription {
			return full
		}
	}
	input := "\nThe input is a JSON object with these properties:" + t.input.List()
	return cut(t.summary(), maxDescription/2) + cut(input, maxDescription/2)
}

// Call runs the tool for one of langchaingo's agents. input is read as
// [Catalog.Prepare] says, and the text for the model is returned.
//
// A tool that fails and arguments that do not fit are text, too. An error means
// that continuing makes no sense: see [Result.Fatal].
func (t *Tool) Call(ctx context.Context, input string) (string, error) {
	return t.calls.text(ctx, t, input)
}

// about says which call of a tool an error is about.
func (t *Tool) about(err error) error {
	return fmt.Errorf("server %q: call tool %q: %w", t.policy.label, t.def.Name, err)
}
