package world

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/evals/agent/suite"
)

// faultyServer runs the tools of a server, with the faults that the suite specifies, and adds calls to the ledger.
type faultyServer struct {
	w      *World
	label  string
	faults []suite.Fault
	server *sdk.Server
	keys   bool

	mu    sync.Mutex            // guards the following fields
	calls map[string]int        // begun so far, by tool
	keyed map[string]*keyedCall // calls by key
}

// add offers a tool with a schema.
func (f *faultyServer) add(t tool, schema string) {
	f.server.AddTool(&sdk.Tool{
		Name: t.name, Description: t.about, InputSchema: json.RawMessage(schema),
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: !t.writes},
	}, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return f.call(ctx, t, r)
	})
}

// call runs a call once per key, if the server honours keys: a repeated call waits for the
// result of the first.
func (f *faultyServer) call(ctx context.Context, t tool, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	key, _ := r.Params.GetMeta()[adapter.IdempotencyKeyMeta].(string)
	if !f.keys || key == "" {
		res, _, err := f.run(ctx, t, r)
		return res, err
	}
	c := f.callsWithKey(key)
	select {
	case c.lock <- struct{}{}:
		defer func() { <-c.lock }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if c.result != nil && r.Params.InputResponses == nil {
		return c.result, nil
	}
	res, done, err := f.run(ctx, t, r)
	if done && err == nil {
		c.result = res
	}
	return res, err
}

// keyedCall is the state of the calls with one key.
type keyedCall struct {
	lock   chan struct{} // held by the call that runs, or reads the result
	result *sdk.CallToolResult
}

// callsWithKey returns the state of the calls with a key.
func (f *faultyServer) callsWithKey(key string) *keyedCall {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.keyed[key] == nil {
		f.keyed[key] = &keyedCall{lock: make(chan struct{}, 1)}
	}
	return f.keyed[key]
}

// run runs a tool with its fault. done is false if the tool asks something first.
func (f *faultyServer) run(ctx context.Context, t tool, r *sdk.CallToolRequest) (_ *sdk.CallToolResult, done bool, _ error) {
	fault := f.fault(t.name, r.Params.InputResponses == nil)
	switch fault.Kind {
	case "fail":
		f.record(t, r, false, true)
		return textResult(fault.Text, true), true, nil
	case "error":
		f.record(t, r, false, true)
		return nil, true, errors.New(fault.Text)
	}
	res, done, err := f.runTool(ctx, t, r)
	if err != nil || !done {
		return res, done, err
	}
	switch fault.Kind {
	case "slow":
		select {
		case <-ctx.Done():
		case <-f.w.closed:
		case <-time.After(time.Duration(fault.Millis) * time.Millisecond):
		}
	case "huge":
		res.Content = append(res.Content, &sdk.TextContent{Text: strings.Repeat("data ", fault.Bytes/5)})
	case "inject":
		res.Content = append(res.Content, &sdk.TextContent{Text: fault.Text})
	case "change":
		changed := t
		changed.run = func(c *call) (string, error) {
			if c.text("confirmation") == "" {
				return "", errors.New("the confirmation is missing")
			}
			return "confirmed", nil
		}
		f.add(changed, object("confirmation"))
	case "remove":
		f.server.RemoveTools(t.name)
	}
	return res, true, nil
}

// fault returns the fault of this call of a tool, the zero value for no fault. first is false for the
// second part of a call, which has the answers to questions.
func (f *faultyServer) fault(name string, first bool) suite.Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	if first {
		f.calls[name]++
	}
	for _, x := range f.faults {
		if (x.Tool == name || x.Tool == "*") && (x.Times == 0 || f.calls[name] <= x.Times) {
			return x
		}
	}
	return suite.Fault{}
}

// runTool runs a tool without faults, and records the call once it is done.
func (f *faultyServer) runTool(ctx context.Context, t tool, r *sdk.CallToolRequest) (*sdk.CallToolResult, bool, error) {
	if t.ask != nil {
		res, done, err := t.ask(ctx, r)
		if done {
			f.record(t, r, err == nil && !res.IsError, err != nil || res.IsError)
		}
		return res, done, err
	}
	c := &call{}
	if err := json.Unmarshal(r.Params.Arguments, &c.args); err != nil {
		return nil, true, err
	}
	f.w.mu.Lock()
	text, err := t.run(c)
	f.w.mu.Unlock()
	f.record(t, r, err == nil, err != nil)
	if err != nil {
		return textResult(err.Error(), true), true, nil
	}
	return textResult(text, false), true, nil
}

// record adds a call to the ledger. It has an effect if it ran and its tool writes.
func (f *faultyServer) record(t tool, r *sdk.CallToolRequest, ran, failed bool) {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	f.w.ledger = append(f.w.ledger, Entry{
		Server:    f.label,
		Tool:      t.name,
		Arguments: r.Params.Arguments,
		Effect:    ran && t.writes,
		Failed:    failed,
	})
}

// textResult returns a result of one text.
func textResult(text string, failed bool) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}, IsError: failed}
}
