package adapter

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/tools"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/internal/schema"
	"github.com/mcpchain/mcpchain/internal/schema/rewrite"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// Tool is a server's tool as the model sees it. It is a langchaingo tool.
type Tool struct {
	server     *server
	def        *mcpclient.Tool
	opts       *Options
	name       string
	parameters json.RawMessage
	schema     *schema.Schema
	shape      shape
	odd        map[string]string // names of properties that not all providers take, by alias
	others     bool              // the root says something of properties that it does not list
	wrapper    string            // the property in which some profiles ask for all arguments, "" when none does
	wrapped    bool              // the model is asked for it
	task       bool              // it may be called as a task

	own         string // the name that the host wants, "" for the server's
	fingerprint string

	// local runs the tool in this process. It is set for the toolset's own
	// tools, whose server has no name and no client.
	local func(context.Context, json.RawMessage) *mcpclient.CallToolResult
}

var _ tools.Tool = (*Tool)(nil)

func newTool(s *server, def *mcpclient.Tool, o *Options, schemas *schema.Cache) (*Tool, error) {
	raw := bytes.TrimSpace(def.InputSchema)
	if len(raw) == 0 || string(raw) == "null" || string(raw) == "true" {
		raw = []byte("{}")
	}
	compiled, err := schemas.Compile(raw)
	if err != nil {
		return nil, fmt.Errorf("input %w", err)
	}
	root, ok := compiled.Root().(map[string]any)
	if !ok {
		return nil, fmt.Errorf("input schema: want a JSON object, got %s", cut(string(raw), 200))
	}
	if ignored := compiled.Ignored(); len(ignored) > 0 {
		o.Logger.Debug("patterns that are left to the server", "server", s.label, "tool", cut(def.Name, 200), "at", ignored)
	}
	if types := typeNames(root["type"]); len(types) > 0 && !slices.Contains(types, "object") {
		return nil, fmt.Errorf("input schema: arguments are an object, which type %q refuses", types)
	}
	tool := &Tool{
		server:      s,
		def:         def,
		opts:        o,
		parameters:  withProperties(raw, root),
		schema:      compiled,
		shape:       shapeOf(root),
		odd:         rewrite.DocumentAliases(root),
		others:      root["patternProperties"] != nil || root["additionalProperties"] != nil,
		wrapper:     rewrite.Wrapper(root),
		task:        mayBeTask(s, def),
		fingerprint: Fingerprint(def),
	}
	if rename := s.recipe.Rename; rename != nil {
		err = guard("Server.Rename", func() error { tool.own = rename(def); return nil })
	}
	return tool, err
}

// root is the tool's schema, as the server wrote it.
func (t *Tool) root() map[string]any {
	root, _ := t.schema.Root().(map[string]any)
	return root
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

// withProperties completes the root of a schema by what providers insist on, and
// takes out null, which some servers write for nothing. All else stays byte for
// byte.
func withProperties(raw []byte, root map[string]any) json.RawMessage {
	if isNull(root, "properties") || isNull(root, "required") {
		root = maps.Clone(root)
		maps.DeleteFunc(root, func(key string, v any) bool { return v == nil && (key == "properties" || key == "required") })
		if written, err := jsonrpc.Marshal(root); err == nil { // it came from JSON
			raw = bytes.TrimSpace(written)
		}
	}
	var add []string
	if _, ok := root["type"]; !ok {
		add = append(add, `"type":"object"`)
	}
	if _, ok := root["properties"]; !ok {
		add = append(add, `"properties":{}`)
	}
	if len(add) == 0 {
		return bytes.Clone(raw)
	}
	out := append([]byte{'{'}, strings.Join(add, ",")...)
	if len(root) > 0 {
		out = append(out, ',')
	}
	return append(out, raw[1:]...)
}

// isNull reports whether a keyword is there and null.
func isNull(s map[string]any, key string) bool {
	v, ok := s[key]
	return ok && v == nil
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
	if err := json.Compact(&compact, t.parameters); err == nil {
		full := t.summary() + "\nThe input is a JSON object that fits this JSON Schema: " + compact.String()
		if len(full) <= maxDescription {
			return full
		}
	}
	input := "\nThe input is a JSON object with these properties:" + t.shape.list()
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
