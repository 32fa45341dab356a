package adapter

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/tools"

	"github.com/mcpchain/mcpchain/internal/schema"
	"github.com/mcpchain/mcpchain/internal/toolschema"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// Tool is a server's tool as the model sees it. It is a langchaingo tool.
type Tool struct {
	server  *server
	def     *mcpclient.Tool
	opts    *Options
	name    string
	input   *toolschema.Schema
	wrapped bool // the model is asked for all arguments in the wrapper
	task    bool // it may be called as a task
	checks  bool // its results are held against its output schema

	held func(json.RawMessage) error // what the host's validator says of arguments, nil without one

	own         string // the name that the host wants, "" for the server's
	fingerprint string

	// local runs the tool in this process. It is set for the toolset's own
	// tools, whose server has no name and no client.
	local func(context.Context, json.RawMessage) *mcpclient.CallToolResult
}

var _ tools.Tool = (*Tool)(nil)

func newTool(s *server, def *mcpclient.Tool, o *Options, schemas *schema.Cache) (*Tool, error) {
	input, err := toolschema.New(def.InputSchema, schemas)
	if err != nil {
		return nil, err
	}
	if ignored := input.Ignored(); len(ignored) > 0 {
		o.Logger.Debug("patterns that are left to the server", "server", s.label, "tool", cut(def.Name, 200), "at", ignored)
	}
	tool := &Tool{
		server:      s,
		def:         def,
		opts:        o,
		input:       input,
		task:        mayBeTask(s, def),
		fingerprint: Fingerprint(def),
	}
	if err := tool.hold(); err != nil {
		return nil, err
	}
	if rename := s.recipe.Rename; rename != nil {
		err = guarded(o.Logger, "Server.Rename", func() error { tool.own = rename(def); return nil })
	}
	return tool, err
}

// hold prepares what the client's options and the toolset's have checked.
func (t *Tool) hold() error {
	client := t.server.client
	if client == nil {
		return nil
	}
	if v := client.Validator(); v != nil {
		check, err := v.Compile(t.def.InputSchema)
		if err != nil {
			return fmt.Errorf("input schema: %w", err)
		}
		t.held = check
	}
	if !t.opts.CheckOutputs || len(t.def.OutputSchema) == 0 {
		return nil
	}
	// A failure needs no structured content: what is wrong with it is the schema.
	if err := client.CheckOutput(t.def, &mcpclient.CallToolResult{IsError: true}); err != nil {
		t.opts.Logger.Warn("results of a tool are not checked", "server", t.server.label, "tool", cut(t.def.Name, 200), "error", err)
		return nil
	}
	t.checks = true
	return nil
}

// named is the tool by that name. A tool that has another one stays as it is:
// somebody may be using it.
func (t *Tool) named(name string) *Tool {
	if t.name == name {
		return t
	}
	renamed := *t
	renamed.name = name
	return &renamed
}

// shownAs is the tool as a model is offered it, in or without the wrapper.
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
func (t *Tool) Server() string { return t.server.label }

// Client is the connection to that server, nil for the toolset's own tool.
func (t *Tool) Client() *mcpclient.Client { return t.server.client }

// Definition is the tool as its server describes it, under its own name. It is
// shared and must not be changed.
func (t *Tool) Definition() *mcpclient.Tool { return t.def }

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
// that going on makes no sense: see [Result.Fatal].
func (t *Tool) Call(ctx context.Context, input string) (string, error) {
	call := llms.ToolCall{Type: "function", FunctionCall: &llms.FunctionCall{Name: t.name, Arguments: input}}
	r := t.call(ctx, call, nil)
	if err := r.Fatal(); err != nil {
		return "", err
	}
	return r.Text, nil
}
