package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/agent/internal/reminder"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/toolschema"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// The tool by which a model gives structured output.
const (
	answerTool   = "final_answer"
	answerServer = "answer" // in place of a server's label
)

// maxRepairs bounds how often a model is asked to correct structured output.
const maxRepairs = 2

// ErrNoOutput is the error of a run whose model gave no output: it replied with neither text nor tool
// calls, asked for tools where it had to answer, or did not answer in the form that [RunAs] asks for. A
// refusal is a [*model.Error], too, of the kind [model.ErrorRefused]. The messages of the run remain valid: asking again
// may help.
var ErrNoOutput = errors.New("model gave no output")

// RunAs runs the agent for an output of type T, a struct or a map; see [adapter.Func] for the tags of
// fields. Another type is an error before the model is called. If the model's provider enforces the
// schema of T (Formats of a model's Info), the output is the model's text. Otherwise the model calls
// a tool final_answer, which gets a prefix if another tool has that name.
//
// The model is told what is wrong with invalid output. An invalid call costs a turn; invalid
// text is requested again, at most twice, but not a refusal. At a limit the model has one more try.
// After that the error matches [ErrNoOutput].
//
// If the run waits for a person the error matches [ErrWaiting]. The schema is stored with the run, so that
// [Recover] and [Agent.Resume] bring it to the same end: [Result.Output] is then the JSON of the output,
// checked against the schema only.
func RunAs[T any](ctx context.Context, a *Agent, in []run.Message, opts ...RunOption) (T, *Result, error) {
	wanted, err := outputFor[T]()
	if err != nil {
		return *new(T), newResult(new(ledger.State)), err
	}
	result, err := a.Run(ctx, in, append(slices.Clip(opts), func(o *runOptions) { o.output = wanted })...)
	var out T
	if err == nil && result.Status == run.StatusFinished {
		err = json.Unmarshal(result.State.inner().Structured, &out)
	}
	if err == nil && result.Status == run.StatusWaiting {
		err = ErrWaiting
	}
	return out, result, err
}

// output is the structured output that a caller wants.
type output struct {
	schema json.RawMessage
	check  func(json.RawMessage) error // checks a value against the schema and the type
}

// outputFor describes an output of type T. It is an error if no model can write the type.
func outputFor[T any]() (*output, error) {
	t := reflect.TypeFor[T]()
	schema, err := toolschema.OfType(t)
	if err == nil {
		_, err = adapter.NewFuncTool(&mcp.Tool{Name: answerTool, InputSchema: schema}, nil, nil)
	}
	switch {
	case t.Kind() != reflect.Struct && t.Kind() != reflect.Map:
		return nil, fmt.Errorf("run agent: a structured answer is a struct or a map, not %v: make it a field of a struct", t)
	case err != nil:
		return nil, fmt.Errorf("run agent: a structured answer: %w", err)
	}
	check := func(answer json.RawMessage) error { return json.Unmarshal(answer, new(T)) }
	return &output{schema: schema, check: check}, nil
}

// setOutput prepares the engine for structured output, if the run asks for it. wanted has the
// caller's checks, nil if another process began the run.
func (e *engine) setOutput(wanted *output) error {
	if len(e.rec.state.Schema) == 0 {
		return nil
	}
	def := &mcp.Tool{
		Name: answerTool, Description: "Gives the final answer. Call it once, when you have all that the answer needs.",
		InputSchema: e.rec.state.Schema,
	}
	answer, err := adapter.NewFuncTool(def, func(_ context.Context, answer json.RawMessage) (*mcp.CallToolResult, error) {
		if wanted != nil {
			if err := wanted.check(answer); err != nil {
				return nil, err
			}
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ok"}}}, nil
	}, &adapter.FuncOptions{Server: answerServer, ReadOnly: true}) // idempotent: a call in doubt is repeated
	if err != nil {
		return fmt.Errorf("structured answer of run %q: %w", e.rec.state.ID, err)
	}
	e.agent = e.agent.withOutput(answer)
	return nil
}

// withOutput returns the recipe of a run with structured output: as text if the model's host enforces
// its schema, otherwise as the arguments of a tool.
func (r *recipe) withOutput(answer adapter.Source) *recipe {
	with := *r
	strict := answer.Catalog(profile.OpenAIStrict)
	f := strict.Definitions()[0].Function // not Strict: its schema is beyond the strict subset
	if f.Strict && r.info.Formats != nil && r.info.Formats(len(r.opts.Tools) > 0) {
		with.outputFormat, _ = f.Parameters.(json.RawMessage)
	}
	if with.outputFormat != nil {
		with.output = strict.Tools()[0]
	} else {
		with.output = toolOf(answer)
		with.tools = adapter.Merge(r.tools, answer)
	}
	return &with
}

// outputTool returns the tool for structured output as it was offered, nil if the output is text.
func (e *engine) outputTool() *adapter.Tool {
	if e.agent.outputFormat != nil || e.agent.output == nil {
		return nil
	}
	tool, err := e.catalog.LookupStored(answerServer, answerTool, e.agent.output.Fingerprint())
	if err != nil {
		return e.agent.output
	}
	return tool
}

// isOutputCall reports whether a call is a call of the tool for structured output.
func (r *recipe) isOutputCall(c *ledger.Call) bool { return r.output != nil && isCallOf(c, r.output) }

// parseOutput parses structured output that is the model's text. The error is for the model.
func (e *engine) parseOutput(text string) (json.RawMessage, error) {
	tool := e.agent.output
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		return nil, errors.New("not a JSON object")
	}
	answer := llms.ToolCall{FunctionCall: &llms.FunctionCall{Name: tool.Name(), Arguments: text}}
	call, err := tool.Prepare(answer, tool.Wrapped())
	if errors.Is(err, adapter.ErrArguments) {
		return nil, errors.Unwrap(err)
	}
	if err != nil {
		return nil, err
	}
	return call.Arguments(), nil
}

// complaint tells the model why its last text is not valid output, "" if there was none.
func (e *engine) complaint() string {
	h := e.rec.state.History
	if e.rec.state.Repairs == 0 || len(h) == 0 || h[len(h)-1].Role != run.RoleAssistant {
		return ""
	}
	if _, err := e.parseOutput(h[len(h)-1].Text()); err != nil {
		return reminder.Misfit(err)
	}
	return ""
}

// callOutput returns the structured output among the calls of a turn, nil if there is none.
func (e *engine) callOutput() json.RawMessage {
	if e.agent.output == nil {
		return nil
	}
	for _, c := range e.rec.state.Calls {
		if e.agent.isOutputCall(c) && hasSucceeded(c) {
			return c.Args
		}
	}
	return nil
}

// needsRepair reports whether the model has to be asked for a corrected reply.
func (e *engine) needsRepair(r *reply) bool {
	isGood := r.output != nil || len(r.calls) > 0
	isFinal := r.stop != nil || r.finish == model.FinishRefusal
	return e.agent.output != nil && !isGood && !isFinal && e.rec.state.Repairs < maxRepairs
}

// finish records the end of a run that has an output: the JSON of structured output, which may be a
// mended form of the text, or else the text. The event of the end follows those in before.
func (e *engine) finish(text string, structured json.RawMessage, why StopReason, before ...Event) error {
	e.handlers.end()
	if structured != nil {
		text = string(structured)
	}
	return e.rec.record(append(before, &Output{Text: text, StopReason: why, FinishReason: e.rec.state.Finish}), &ledger.Ended{
		Status: run.StatusFinished, Stop: string(why), Output: text, Structured: structured,
	})
}

// noOutputError is the error of a run that ends with text.
func (e *engine) noOutputError(text string) error {
	return fmt.Errorf("turn %d: %w in the requested form; it said %.200q", e.rec.state.Turn, ErrNoOutput, text)
}
