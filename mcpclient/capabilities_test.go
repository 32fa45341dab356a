package mcpclient_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func TestUndeclaredCapabilities(t *testing.T) {
	refused := func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		_, call := c.CallTool(ctx, "t", nil)
		_, prompt := c.GetPrompt(ctx, "p", nil)
		_, read := c.ReadResource(ctx, "file:///r")
		_, list := collect(c.Tools(ctx), toolName)
		_, custom := c.Call(ctx, "resources/subscribe", map[string]string{"uri": "file:///r"})
		_, subscribe := c.Subscribe(ctx, mcp.SubscriptionFilter{ToolsListChanged: true, Resources: []string{"file:///r"}})
		_, skills := collect(mcpclient.List[struct{}](ctx, c, "skills/list", "skills"), func(*struct{}) string { return "" })
		_, task := c.StartTask(ctx, &mcp.Tool{Name: "t", Execution: json.RawMessage(`{"taskSupport":"optional"}`)}, nil, 0)
		for name, err := range map[string]error{"tools/call": call, "prompts/get": prompt, "resources/read": read, "tools/list": list,
			"resources/subscribe": custom, "logging/setLevel": c.SetLogLevel(ctx, mcp.LogInfo), "subscribe": subscribe, "skills/list": skills} {
			e := wantError[*mcpclient.CapabilityError](t, err)
			wrong(t, !strings.HasPrefix(e.Error(), "the server does not offer "), "%s: got %v", name, e)
		}
		wantError[*mcpclient.CapabilityError](t, task)
		ping(t, ctx, c)
	}
	playAll(t, []conversation{
		{name: "capabilities", opts: legacy(), play: refused},
		{name: "capabilities_none_modern", opts: modern(), play: refused},
	})
}

// exact replaces the capabilities of the handlers.
const exact = `{"sampling":{"tools":{}}, "elicitation":{"url":{}}, "roots":{},
	"extensions":{"com.example/x":{"n":1}}, "experimental":{"e":{}}}`

func TestExactCapabilities(t *testing.T) {
	play := func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		callText(t, ctx, c, "ask", "done")
		if err := c.SetRoots(ctx, nil); err != nil { // not announced, as listChanged is not declared
			t.Error(err)
		}
		if _, err := c.StartTask(ctx, &mcp.Tool{Name: "t"}, nil, 0); err == nil {
			t.Error("a task without the extension: got no error")
		} else if c.Server().Revision == mcp.Revision20260728 && !strings.Contains(err.Error(), "Options.Protocol.Capabilities does not declare the extension io.modelcontextprotocol/tasks") {
			t.Errorf("got %v", err)
		}
	}
	for suffix, opts := range eras() {
		opts := asks(opts)
		opts.Protocol.Capabilities, opts.Protocol.ExactCapabilities = json.RawMessage(exact), true
		playAll(t, []conversation{{name: "capabilities_exact_" + suffix, opts: opts, play: play}})
	}
}

// Handlers add to the declared capabilities: changed roots are announced and calls become tasks
// although the host declared neither.
func TestCapabilitiesAreAdded(t *testing.T) {
	for suffix, opts := range eras() {
		opts := asks(opts)
		opts.Protocol.Capabilities = json.RawMessage(`{"sampling":{"tools":{}},"roots":null,"extensions":{"com.example/x":{"n":1}},"experimental":{"e":{}}}`)
		playAll(t, []conversation{{name: "capabilities_added_" + suffix, opts: opts, play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			noError(t, c.SetRoots(ctx, nil))
			callText(t, ctx, c, "ask", "done", mcpclient.WithTask(&mcp.Tool{Name: "ask"}))
		}}})
	}
}

// Declared capabilities and installed handlers must agree.
func TestCapabilitiesRefused(t *testing.T) {
	for _, opts := range []mcpclient.Options{legacy(), modern(), {}} {
		for declared, want := range map[string][]string{
			"{}":              {"Options.Sampling is set", "Options.Elicitation is set", "Options.Roots is set", "does not declare roots"},
			`{"sampling":{}}`: {"Options.Elicitation is set", "Options.Roots is set"},
			`{"sampling":null,"elicitation":{},"roots":{}}`: {"does not declare sampling"},
			"[]":             {"Options.Protocol.Capabilities: want a JSON object"},
			"{":              {"Options.Protocol.Capabilities: not valid JSON"},
			"null":           {"Options.Protocol.Capabilities: want a JSON object"},
			`{"sampling":1}`: {"Options.Protocol.Capabilities: json: cannot unmarshal"},

			`{"extensions":{"x":{}}}`:               {`extension "x": it needs a prefix, such as com.example/`},
			`{"extensions":{"com.example/x y":{}}}`: {`extension "com.example/x y": it must be`},
			`{"extensions":{"1.example/x":{}}}`:     {`extension "1.example/x": the labels before its slash must be`},
		} {
			opts := asks(opts)
			opts.Protocol.Capabilities, opts.Protocol.ExactCapabilities = json.RawMessage(declared), true
			wantRefused(t, opts, want...)
		}
		opts.Protocol.Capabilities, opts.Protocol.ExactCapabilities = json.RawMessage(exact), true
		wantRefused(t, opts, "declares sampling, and Options.Sampling is nil", "declares elicitation", "declares roots")
	}
}

// With AllowUndeclared, requests are sent and questions answered regardless of what was
// declared.
func TestAllowUndeclared(t *testing.T) {
	for suffix, opts := range eras() {
		opts := asks(opts)
		opts.Protocol.Capabilities, opts.Protocol.ExactCapabilities = json.RawMessage("{}"), true
		opts.Protocol.AllowUndeclared = true
		playAll(t, []conversation{{name: "capabilities_relaxed_" + suffix, opts: opts, play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			callText(t, ctx, c, "ask", "done")
			if prompts, err := collect(c.Prompts(ctx), func(p *mcp.Prompt) string { return p.Name }); err != nil || len(prompts) != 0 {
				t.Errorf("got %v, %v", prompts, err)
			}
			if suffix == "legacy" {
				s, err := c.Subscribe(ctx, mcp.SubscriptionFilter{Resources: []string{"file:///r", "file:///r"}})
				must(t, err)
				noError(t, s.Close())
				return
			}
			task, err := c.StartTask(ctx, &mcp.Tool{Name: "ask"}, nil, 0)
			must(t, err)
			equal(t, "", textOf(task.Wait(ctx)), "done")
		}}})
	}
}
