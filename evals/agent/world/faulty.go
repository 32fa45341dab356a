package world

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/evals/agent/suite"
)

// faultyServer runs the tools of a server, with the faults that the suite specifies, and adds calls to the ledger.
type faultyServer struct {
	w      *World
	label  string
	faults []suite.Fault
	server *sdk.Server

	mu    sync.Mutex     // guards the following field
	calls map[string]int // begun so far, by tool
}

func (f *faultyServer) add(t tool, schema string) {
	f.server.AddTool(&sdk.Tool{
		Name: t.name, Description: t.about, InputSchema: json.RawMessage(schema),
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: !t.writes},
	}, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return f.call(ctx, t, r)
	})
}

// call runs a tool with its fault.
func (f *faultyServer) call(ctx context.Context, t tool, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	fault := f.fault(t.name, r.Params.InputResponses == nil)
	switch fault.Kind {
	case "fail":
		f.record(t, r, false)
		return textResult(fault.Text, true), nil
	case "error":
		f.record(t, r, false)
		return nil, errors.New(fault.Text)
	}
	res, err := f.runTool(t, r)
	if err != nil || res.InputRequests != nil {
		return res, err
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
	return res, nil
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

// runTool runs a tool without faults, and records the call once it is done: not if it asks something first.
func (f *faultyServer) runTool(t tool, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	if t.ask != nil {
		res, err := t.ask(r)
		if err != nil || res.InputRequests == nil {
			f.record(t, r, err == nil && !res.IsError)
		}
		return res, err
	}
	c := &call{}
	if err := json.Unmarshal(r.Params.Arguments, &c.args); err != nil {
		return nil, err
	}
	f.w.mu.Lock()
	text, err := t.run(c)
	f.w.mu.Unlock()
	f.record(t, r, err == nil)
	if err != nil {
		return textResult(err.Error(), true), nil
	}
	return textResult(text, false), nil
}

// record adds a call to the ledger. It has an effect if it succeeded and its tool writes.
func (f *faultyServer) record(t tool, r *sdk.CallToolRequest, succeeded bool) {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	f.w.ledger = append(f.w.ledger, Entry{
		Server:    f.label,
		Tool:      t.name,
		Arguments: r.Params.Arguments,
		Effect:    succeeded && t.writes,
		Failed:    !succeeded,
	})
}

func textResult(text string, failed bool) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}, IsError: failed}
}
