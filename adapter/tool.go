package adapter

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/internal/kept"
	"github.com/mcpchain/mcpchain/internal/schema"
	"github.com/mcpchain/mcpchain/internal/toolschema"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Tool is a tool as a model sees it: one of a server, or of this program.
type Tool struct {
	server *serverState
	client *mcpclient.Client // nil for a tool of this program, and of a server that is idle
	calls  *calls            // runs its calls
	name   string            // the model's
	own    string            // the name that the host wants, "" for the server's

	def         *mcp.Tool     // as the server describes it
	shown       *mcp.Tool     // def without keyArgument
	keyArgument string        // the argument for the key of a call, "" for none
	views       apps.ToolMeta // what def says of views
	fingerprint string        // of def
	input       *toolschema.Schema
	wrapped     bool // the model is asked for all arguments in one property
	task        bool // see IsTask

	alwaysOffered bool    // see FuncOptions
	topics        *topics // what a function provides by name, or nil
	honoursKeys   bool    // a function that uses IdempotencyKeyFrom
	repeat        bool    // Policy.Repeat says that its calls may be made again

	fill     filler                      // see WithReferences; nil: arguments contain no references
	validate func(json.RawMessage) error // the host's validator of arguments, or nil
	outputs  mcpclient.Validator         // checks results against the output schema, nil for no check
	reader   string                      // the name of the tool that reads its long results, "" for the one in its toolset

	// local runs the tool in this process. It is set for functions and the toolset's own tools.
	local func(context.Context, json.RawMessage) (*mcp.CallToolResult, error)
}

// newTool returns a tool for a definition. client is nil for a tool of this program, and of a server that is idle. The
// error says why the tool cannot be offered.
func newTool(state *serverState, client *mcpclient.Client, def *mcp.Tool, schemas *schema.Cache) (*Tool, error) {
	shown, keyArgument := def.InputSchema, ""
	if name := state.recipe.KeyInArgument; name != "" {
		if without, ok := withoutProperty(shown, name); ok {
			shown, keyArgument = without, name
		}
	}
	input, err := toolschema.New(shown, schemas)
	if err != nil {
		return nil, err
	}
	if ignored := input.Ignored(); len(ignored) > 0 {
		state.opts.Logger.Debug("patterns that are left to the server",
			"server", state.label, "tool", shortName(def), "at", ignored)
	}
	views, err := apps.ReadToolMeta(def)
	if err != nil {
		state.opts.Logger.Warn("what a tool says of views cannot be read",
			"server", state.label, "tool", shortName(def), "error", err)
	}
	tool := &Tool{
		server:      state,
		client:      client,
		def:         def,
		shown:       def,
		input:       input,
		keyArgument: keyArgument,
		task:        mayBeTask(client, def),
		views:       views,
		fingerprint: Fingerprint(def),
	}
	if keyArgument != "" {
		without := *def
		without.InputSchema = shown
		tool.shown = &without
	}
	return tool, tool.prepareChecks(shown)
}

// prepareChecks prepares the checks that the options of the client and toolset ask for. shown is
// the input schema as models see it.
func (t *Tool) prepareChecks(shown json.RawMessage) error {
	if t.client == nil {
		return nil
	}
	if v := t.server.validator; v != nil {
		check, err := v.Compile(shown)
		if err != nil {
			return fmt.Errorf("input schema: %w", err)
		}
		t.validate = check
	}
	if !t.server.policy.CheckOutputs || len(t.def.OutputSchema) == 0 {
		return nil
	}
	v := cmp.Or(t.server.validator, mcpclient.Validator(&t.server.outputs))
	if _, err := v.Compile(t.def.OutputSchema); err != nil {
		t.server.opts.Logger.Warn("results of a tool are not checked",
			"server", t.server.label, "tool", shortName(t.def), "error", err)
		return nil
	}
	t.outputs = v
	return nil
}

// shortName returns a server's name for its tool, cut to the length that logs and errors have room for.
func shortName(def *mcp.Tool) string { return excerpt.Limit(def.Name, 200) }

// withName returns a copy of the tool with that name.
func (t *Tool) withName(name string) *Tool {
	if t.name == name {
		return t
	}
	renamed := *t
	renamed.name = name
	return &renamed
}

// toolID identifies a tool on every connection to its server.
type toolID struct {
	server *serverState
	name   string // the server's
}

func (t *Tool) id() toolID { return toolID{t.server, t.def.Name} }

// isReader reports whether the tool reads the long results of its toolset.
func (t *Tool) isReader() bool {
	return t.client == nil && t.def.Name == kept.Reader && t.server.label == ""
}

// shownAs returns the tool as a model is offered it, wrapped or not.
func (t *Tool) shownAs(wrapped bool) *Tool {
	if t.wrapped == wrapped {
		return t
	}
	shown := *t
	shown.wrapped = wrapped
	return &shown
}

// Name returns the model's name for the tool.
func (t *Tool) Name() string { return t.name }

// Server returns the host's label of the tool's server. It is "" for the toolset's own tool, see [Options.KeepResults].
func (t *Tool) Server() string { return t.server.label }

// Fingerprint returns the [Fingerprint] of the tool's definition.
func (t *Tool) Fingerprint() string { return t.fingerprint }

// ViewURI returns the URI of the view that shows the tool's results, or "".
func (t *Tool) ViewURI() string { return t.views.ResourceURI }

// Local reports whether the tool runs in this program: it is a function, or the toolset's own.
func (t *Tool) Local() bool { return t.local != nil }

// AlwaysOffered reports whether the tool is offered from the start to a model that searches for its
// tools, see [FuncOptions].
func (t *Tool) AlwaysOffered() bool { return t.alwaysOffered }

// Client returns the connection to the tool's server. It is nil for a tool of this program, and
// if the server is idle ([StartLazy]).
func (t *Tool) Client() *mcpclient.Client {
	if t.client == nil && t.server != nil {
		return t.server.live.Load()
	}
	return t.client
}

// Wrapped reports whether the model is asked for all arguments in one property.
func (t *Tool) Wrapped() bool { return t.wrapped }

// Definition returns the tool as its server describes it, but without the argument of
// [Server.KeyInArgument]. It is shared and must not be modified.
func (t *Tool) Definition() *mcp.Tool { return t.shown }

// summary returns the purpose of the tool.
func (t *Tool) summary() string {
	if t.def.Description != "" {
		return t.def.Description
	}
	return t.def.DisplayName()
}

// callError adds the call of the tool to an error.
func (t *Tool) callError(err error) error {
	return fmt.Errorf("server %q: call tool %q: %w", t.server.label, t.def.Name, err)
}

// tasksExtension is the extension that modern servers with tasks declare.
const tasksExtension = "io.modelcontextprotocol/tasks"

// mayBeTask reports whether a tool is called as a task: if it requires that, or if the server decides for each call,
// because it may refuse other calls. If a tool leaves the choice to the client, a plain call is answered sooner.
func mayBeTask(client *mcpclient.Client, def *mcp.Tool) bool {
	if client != nil {
		if _, decides := client.Server().Capabilities.Extensions[tasksExtension]; decides {
			return true
		}
	}
	var execution struct {
		TaskSupport string `json:"taskSupport"`
	}
	return len(def.Execution) > 0 && json.Unmarshal(def.Execution, &execution) == nil && execution.TaskSupport == "required"
}

// IsTask reports whether a call of the tool may become a task: its definition requires one (revision
// 2025-11-25), or the server has tasks and decides for each call (later revisions; true for all its tools).
func (t *Tool) IsTask() bool { return t.task }

// options returns the options of a call, or of its continuation: whether it may become a task, and the
// check of its result are added.
func (t *Tool) options(opts []mcpclient.CallOption) []mcpclient.CallOption {
	if t.task {
		opts = append(slices.Clip(opts), mcpclient.WithTask(t.def))
	}
	if t.outputs != nil {
		opts = append(slices.Clip(opts), mcpclient.WithOutputCheck(t.def, t.outputs))
	}
	return opts
}

// Fingerprint returns the SHA-256 hash, in hexadecimal digits, of everything that a model or an approval relies on: the
// tool's name, title, description, schemas and annotations, and whether models and views may call it. It does not depend on
// the formatting of the server's JSON. If a later version of this module computes it differently, CHANGELOG.md says so;
// stored pins and decisions may then no longer match.
func Fingerprint(tool *mcp.Tool) string {
	hints, _ := json.Marshal(tool.Annotations) // strings and booleans always marshal
	h := sha256.New()
	for _, part := range [][]byte{
		[]byte(tool.Name), []byte(tool.Title), []byte(tool.Description),
		canonical(tool.InputSchema), canonical(tool.OutputSchema), hints,
	} {
		fmt.Fprintf(h, "%d:", len(part))
		h.Write(part)
	}
	// A decision applies to calls of models and of views, so it depends on who may call.
	if views, _ := apps.ReadToolMeta(tool); !views.ForModel || !views.ForViews {
		fmt.Fprintf(h, "model %t, app %t", views.ForModel, views.ForViews)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// canonical returns JSON with sorted keys and without white space. Invalid JSON is returned as
// it is. Numbers keep their digits.
func canonical(raw json.RawMessage) []byte {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return raw
	}
	b, err := jsonrpc.Marshal(v)
	if err != nil {
		return raw
	}
	return b
}
