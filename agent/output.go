package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/run"
)

// answerTool is the tool by which a model gives a structured answer.
const answerTool = "final_answer"

// askForOutput has a model give its answer in the form that is asked for. It is not part
// of the history.
const askForOutput = "Give your answer now, by calling the tool " + answerTool + "."

// maxRepairs bounds how often a model is asked again for a structured answer.
const maxRepairs = 2

// ErrNoOutput is the error of a run whose model gives no answer in the form that [As] asks
// for. The result has what it said.
var ErrNoOutput = errors.New("agent: the model gave no answer in the form that it was asked for")

// As runs the agent for an answer of type T, a struct. The model gives it by calling a
// tool final_answer, whose schema is that of T: see [adapter.Func] for the tags of its
// fields. An answer that does not fit is told to the model and costs a turn; one in words is
// asked for again, twice at most. At a limit the model has one more try. Then the error
// matches [ErrNoOutput]. A run that waits for a
// person is no error, see Result.Status: [ResumeAs] goes on with it.
func As[T any](ctx context.Context, a *Agent, in Input, opts ...RunOption) (T, *Result, error) {
	result, err := withOutput[T](a).Run(ctx, in, opts...)
	return as[T](result, err)
}

// ResumeAs is [Agent.ResumeRun] for a run that [As] has begun.
func ResumeAs[T any](ctx context.Context, a *Agent, key run.Key, answers ...run.Answer) (T, *Result, error) {
	result, err := withOutput[T](a).ResumeRun(ctx, key, answers...)
	return as[T](result, err)
}

// as reads the answer of a run that is over.
func as[T any](result *Result, err error) (T, *Result, error) {
	var out T
	if err == nil && result.Status == run.Finished {
		err = json.Unmarshal(result.State.Output, &out)
	}
	return out, result, err
}

// withOutput is the agent with the tool of a structured answer.
func withOutput[T any](a *Agent) *Agent {
	answer := adapter.Func(answerTool, "Gives the final answer. Call it once, when you have all that the answer needs.",
		func(context.Context, T) (string, error) { return "ok", nil }, &adapter.FuncOptions{Server: answerServer, Trusted: true})
	with := *a
	with.tools, with.output = adapter.Merge(a.tools, answer), answer.Tool()
	return &with
}

// answerServer stands for the server of the tool of a structured answer.
const answerServer = "answer"

// outputOf returns the structured answer among the calls of a turn, nil if there is none.
func (e *engine) outputOf() json.RawMessage {
	if e.agent.output == nil {
		return nil
	}
	for _, c := range e.state.Calls {
		if c.Server == answerServer && c.Tool == answerTool && c.At == run.Done && !c.Result.IsError {
			return c.Args
		}
	}
	return nil
}

// repairs reports whether a reply in words is to be asked for again.
func (e *engine) repairs(r *reply) bool {
	return e.agent.output != nil && len(r.calls) == 0 && e.state.Repairs < maxRepairs
}

// finishWith ends the run with a structured answer.
func (e *engine) finishWith(output json.RawMessage) error {
	e.visits.end()
	return e.record([]Event{&Answer{Text: string(output), StopReason: StopAnswer, FinishReason: e.state.Finish}},
		&run.Ended{Status: run.Finished, Stop: string(StopAnswer), Answer: string(output), Output: output})
}

// noOutput is the error of a run that ends in words.
func (e *engine) noOutput(text string) error {
	return fmt.Errorf("turn %d: %w; it said %.200q", e.state.Turn, ErrNoOutput, text)
}
