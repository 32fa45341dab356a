package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/doubttext"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// subAgent is an agent as a tool of another agent.
type subAgent struct {
	adapter.Source
	tool    *adapter.Tool
	agent   *recipe
	handoff bool // it takes over the run
}

// subServer takes the place of a server's label for sub-agents.
const subServer = "agent"

// subSchema is the input of a sub-agent.
const subSchema = `{"type":"object","properties":{` +
	`"task":{"type":"string","description":"What to do, with all that is needed to do it."}},"required":["task"],"additionalProperties":false}`

// handoffSchema is the input of an agent that takes over, and reads the history.
const handoffSchema = `{"type":"object","properties":{` +
	`"task":{"type":"string","description":"What to do, if the conversation does not say it."}},"additionalProperties":false}`

// isSubAgent reports whether a tool is that of a sub-agent.
func isSubAgent(tool *adapter.Tool) bool {
	schema := string(tool.Definition().InputSchema)
	return tool.Server() == subServer && (schema == subSchema || schema == handoffSchema)
}

// NewSubAgent returns an agent as a tool, for Options.Tools of another agent. The model gives it a
// task and reads its answer; name and description are for the model. The sub-agent's run is part of
// the run that it works for: it is stored with it, its questions are questions of that run, and its
// usage counts there. The other agent's Hooks apply, too, and its Approve, Reply, Hold, Prices and
// Observer where the sub-agent has none. The sub-agent's own Options.Durable.Store is not used. It is
// an error if a is nil or name is empty.
func NewSubAgent(a *Agent, name, description string) (adapter.Source, error) {
	return newSub(a, name, description, false)
}

// NewHandoff is like [NewSubAgent], but the other agent takes over: it gets the history, and its
// answer is the output of the run, in the form that [RunAs] asks for if RunAs began the run.
// The model may give it a task, which is a message after the history. The next input of a
// conversation goes to the first agent again.
func NewHandoff(a *Agent, name, description string) (adapter.Source, error) {
	return newSub(a, name, description, true)
}

func newSub(a *Agent, name, description string, handoff bool) (adapter.Source, error) {
	if a == nil {
		return nil, fmt.Errorf("sub-agent %q: the agent is nil", name)
	}
	if name == "" {
		return nil, errors.New("sub-agent: the name is empty")
	}
	def := &mcp.Tool{Name: name, Description: description, InputSchema: json.RawMessage(subSchema)}
	if handoff {
		def.InputSchema = json.RawMessage(handoffSchema)
	}
	refuse := func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
		return nil, errors.New("only an agent can call a sub-agent")
	}
	source, err := adapter.NewFuncTool(def, refuse, &adapter.FuncOptions{Server: subServer, Trusted: true})
	if err != nil {
		return nil, fmt.Errorf("sub-agent: %w", err)
	}
	return &subAgent{Source: source, tool: toolOf(source), agent: a.recipe, handoff: handoff}, nil
}

// inherit returns the sub-agent as it works for another agent, whose hooks apply, too, and whose
// approval, prices and observer replace those that the sub-agent does not have.
func (s *subAgent) inherit(parent *recipe) *recipe {
	a, o := *s.agent, *s.agent.opts
	if o.Person.Approve == nil {
		o.Person.Approve = parent.opts.Person.Approve
	}
	if o.Model.Prices == nil {
		o.Model.Prices = parent.opts.Model.Prices
	}
	if o.Observer == nil {
		o.Observer = parent.opts.Observer
	}
	o.Person.Hold = cmp.Or(o.Person.Hold, parent.opts.Person.Hold)
	o.Hooks = append(slices.Clip(parent.opts.Hooks), o.Hooks...)
	a.opts = &o
	return &a
}

// delegate lets a sub-agent begin or continue its work on a call once there is room, unless it waits
// for a person.
func delegate(t *turn, c *ledger.Call, sub *subAgent) (func() error, error) {
	var status run.Status
	t.rec.read(func(s *ledger.State) {
		if child := s.Call(c.ID).Child; child != nil {
			status = child.Status
		}
	})
	if status == run.StatusWaiting || !t.sched.hasRoom() {
		return nil, nil
	}
	ctx := t.scope.ctx
	if adapter.ViewFrom(ctx) != "" { // a model makes the calls below
		ctx = adapter.WithView(ctx, "")
	}
	questions := t.questions.child(c.ID, sub)
	e := newEngine(ctx, questions.agent, questions, t.engine.workers)
	e.parent, e.drive = t.engine, t.engine.drive
	e.hold = func() func() { return t.sched.holdClock(c.ID) }
	if status == "" {
		if err := e.begin(c, sub); err != nil {
			return nil, err
		}
	}
	if err := e.setOutput(nil); err != nil {
		return nil, err
	}
	return func() error { return t.runChild(c, e) }, nil
}

// begin begins the run of a sub-agent within the parent's: with its task, after the history if it
// takes over.
func (e *engine) begin(c *ledger.Call, sub *subAgent) error {
	var args struct{ Task string }
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return err
	}
	var messages []run.Message
	var schema json.RawMessage
	if sub.handoff {
		e.parent.rec.read(func(s *ledger.State) {
			last := len(s.History) - 1 // the message with the call itself
			messages = slices.Clone(s.History[:last])
			schema = s.Schema
		})
	}
	if !sub.handoff || args.Task != "" {
		messages = append(messages, run.Text(run.RoleUser, args.Task))
	}
	e.rec.state = new(ledger.State) // replaced once the parent's state has it
	root := e.rec.writer.root
	err := e.rec.record(nil, &ledger.Begun{
		V: ledger.Version, ID: root.ID + "/" + c.ID, Tenant: root.Tenant,
		Agent:    ledger.AgentName{Name: sub.agent.opts.Name},
		Messages: messages, Limits: sub.agent.opts.Limits, Schema: schema,
	})
	e.rec.findState()
	return err
}

// runChild drives the run of a sub-agent and records its outcome.
func (t *turn) runChild(c *ledger.Call, e *engine) error {
	defer e.handlers.end()
	j := t.tools.job(c)
	return t.sender.execute(e.ctx, j, func(ctx context.Context) error {
		e.ctx = ctx
		return t.recordChildOutcome(j, e, e.observe(func() error { return e.drive(e) }))
	})
}

// recordChildOutcome records the outcome of a sub-agent's run as the result of its call. A run that
// waits has none yet. If the sub-agent has failed, the model reads only that, and the host is
// warned; the error says that the run itself ends.
func (t *turn) recordChildOutcome(j *job, e *engine, err error) error {
	switch {
	case t.rec.endError() != nil:
		return t.rec.endError()
	case e.ctx.Err() != nil:
		return context.Cause(e.ctx)
	case err != nil && t.rec.writer.writeError() != nil:
		return err
	case err != nil || e.rec.state.Status == run.StatusFailed:
		reason := e.rec.state.Error
		if reason == "" {
			reason = err.Error()
		}
		e.rec.show(&Warning{Text: fmt.Sprintf("the agent %s failed: %s", j.eventCall.Name, reason)})
		text := fmt.Sprintf("Error: the agent %s failed and gave no answer", j.eventCall.Name)
		if e.rec.state.Spent.Calls > 0 {
			text += "; it " + doubttext.PartlyDone
		}
		text += "."
		return t.sender.recordOutcome(j, j.errorResult(text, err), 0)
	case e.rec.state.Status == run.StatusWaiting:
		return nil
	}
	return t.sender.recordOutcome(j, &adapter.Result{Call: j.asked, Tool: j.tool(), Text: e.rec.state.Output}, 0)
}

// handoffAnswer returns the answer of an agent that has taken over the run, if there is one.
func (e *engine) handoffAnswer() (answer string, ok bool) {
	for _, c := range e.rec.state.Calls {
		if sub := e.agent.subAgent(c); sub != nil && sub.handoff && hasSucceeded(c) {
			return c.Result.Text, true
		}
	}
	return "", false
}
