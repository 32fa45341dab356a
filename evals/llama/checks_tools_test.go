package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"sync/atomic"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/evals/llama/tiny"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// citySchema is the schema of the tools that the model knows.
var citySchema = json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)

// toolbox has tools of this program.
type toolbox struct {
	all   []adapter.Source
	calls atomic.Int32
	err   error // of a tool that could not be made
}

// native makes tools. The function returns the result of each call, by its number; nil always returns "rain".
func native(result func(n int32) string, defs ...*mcp.Tool) *toolbox {
	b := &toolbox{}
	for _, def := range defs {
		f, err := adapter.NewFuncTool(def, func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
			n, text := b.calls.Add(1), "rain"
			if result != nil {
				text = result(n)
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
		}, nil)
		b.all, b.err = append(b.all, f), cmp.Or(b.err, err)
	}
	return b
}

// twoTools are the tools that the model knows.
func twoTools(result func(n int32) string) *toolbox {
	return native(result,
		&mcp.Tool{Name: tiny.Weather, Description: "The weather.", InputSchema: citySchema},
		&mcp.Tool{Name: tiny.Clock, Description: "The time.", InputSchema: citySchema})
}

func (b *toolbox) catalog(p profile.Profile) *adapter.Catalog {
	return adapter.Merge(b.all...).Catalog(p)
}

// called wants a call of one of the tools, with arguments that fit its schema.
func (b *toolbox) called(ctx context.Context, t *trial, p profile.Profile) error {
	if b.err != nil {
		return b.err
	}
	c := b.catalog(p)
	choice, err := t.say(ctx, "Hi", llms.WithTools(c.Definitions()), llms.WithToolChoice("required"), llms.WithMaxTokens(2000))
	if err != nil {
		return err
	}
	if len(choice.ToolCalls) == 0 {
		return fmt.Errorf("got %.200q (%s), want a call", choice.Content, choice.StopReason)
	}
	for _, call := range choice.ToolCalls {
		if _, err := c.Prepare(call); err != nil {
			return fmt.Errorf("%s %.200s: %w", call.FunctionCall.Name, call.FunctionCall.Arguments, err)
		}
	}
	return nil
}

// toolChecks offer the tools of servers of the official packages, by the profile of each provider. [profile.GoogleAI] is left
// out: its schemas are for a library, and hold no argument to a list or to a bound.
func toolChecks(lists fs.FS) (all []oneCheck) {
	for _, list := range []string{"everything", "filesystem", "memory", "sequential-thinking", "pdf"} {
		for _, p := range profile.All() {
			if p != profile.GoogleAI {
				name := "tools/" + list + "/" + string(p)
				all = append(all, oneCheck{name, "", func(ctx context.Context, t *trial) error { return t.offer(ctx, lists, list, p) }})
			}
		}
	}
	return all
}

// offer offers the tools of a list, all together, and each alone if the server holds its call to the schema.
func (t *trial) offer(ctx context.Context, lists fs.FS, list string, p profile.Profile) error {
	data, err := fs.ReadFile(lists, list+".jsonl")
	if err != nil {
		return err
	}
	var defs []*mcp.Tool
	for line := range bytes.Lines(data) {
		tool := &mcp.Tool{}
		if err := json.Unmarshal(line, tool); err != nil {
			return err
		}
		defs = append(defs, tool)
	}
	all := native(nil, defs...)
	if all.err != nil {
		return all.err
	}
	if _, err := t.say(ctx, "Hi", llms.WithTools(all.catalog(p).Definitions()), llms.WithMaxTokens(100)); err != nil {
		return fmt.Errorf("%d tools: %w", len(defs), err)
	}
	t.note = fmt.Sprintf("%d tools together; each alone not offered: %s", len(defs), grammar)
	if !t.has[grammar] {
		return nil
	}
	t.note = fmt.Sprintf("%d tools, together and each alone", len(defs))
	for _, def := range defs {
		if err := native(nil, def).called(ctx, t, p); err != nil {
			return fmt.Errorf("tool %s: %w", def.Name, err)
		}
	}
	return nil
}

// requiredCall wants a call of a tool that the model does not know.
func requiredCall(ctx context.Context, t *trial) error { return t.property(ctx, `{"type":"integer"}`) }

// refusedSchema offers a schema as its server wrote it, among others. A refusal names the tool.
func refusedSchema(ctx context.Context, t *trial) error {
	odd := &mcp.Tool{Name: "odd", InputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"string","maxLength":2000}}}`)}
	tools := adapter.Merge(append(twoTools(nil).all, native(nil, odd).all...)...)
	_, err := t.say(ctx, "Hi", llms.WithTools(tools.Catalog(profile.Plain).Definitions()))
	if err != nil && !strings.Contains(err.Error(), `"odd"`) {
		return fmt.Errorf("%w, without the name of the tool", err)
	}
	t.note = fmt.Sprint(err)
	return nil
}

// property wants a call with an argument of this schema, written for this server.
func (t *trial) property(ctx context.Context, schema string) error {
	def := &mcp.Tool{Name: "count", InputSchema: json.RawMessage(`{"type":"object","properties":{"n":` + schema + `},"required":["n"]}`)}
	if err := native(nil, def).called(ctx, t, profile.Profile(t.llm.Info().Profile)); err != nil {
		return fmt.Errorf("%s: %w", schema, err)
	}
	return nil
}

// oddSchemas are schemas that a llama-server refuses as they are.
func oddSchemas(ctx context.Context, t *trial) error {
	for _, schema := range []string{
		`{"type":"string","maxLength":2000}`,
		`{"type":"string","minLength":3,"maxLength":65536}`,
		`{"type":"array","prefixItems":[{"type":"string"}],"items":false}`,
		`{"type":"integer","maximum":1e308}`,
		`{"type":"string","pattern":"^(?=a).*$"}`,
		`true`,
		`{"type":"array","items":{"type":"string","maxLength":5000},"maxItems":5000}`,
	} {
		if err := t.property(ctx, schema); err != nil {
			return err
		}
	}
	return nil
}
