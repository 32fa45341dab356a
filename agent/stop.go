package agent

import (
	"encoding/json"
	"errors"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// stopError ends a run with an answer.
type stopError struct{ answer string }

func (e *stopError) Error() string { return "the run is stopped with an answer" }

// Stop is the error of a hook that ends its run with an answer instead of the model's: the run is done, and its stop
// reason is [StopHook].
//
//   - BeforeModel: the model is not called.
//   - AfterModel: the calls of the reply are not made.
//   - BeforeTool: the call is not made. AfterTool: its result is kept, and the other hooks
//     see it. The run ends with the turn: calls that were sent come to their results, and
//     calls that were not are not made. If several hooks stop, the first call counts.
//
// Stop is durable with the outcome of the call, so another process ends the run in the
// same way. The answer of [As] must be its JSON. In the run of a sub-agent it ends that run.
func Stop(answer string) error { return &stopError{answer} }

// stopOf is the answer of a hook that ends the run, nil if it does not.
func stopOf(err error) *string {
	if s, ok := errors.AsType[*stopError](err); ok {
		return &s.answer
	}
	return nil
}

// skip ends the calls that no server has taken when a hook ended the run, and closes the
// questions about them.
func (t *turn) skip() error {
	if t.rec.stopped() == nil {
		return nil
	}
	unsent := func(c *ledger.Call) bool {
		return c.At == ledger.CallReady || c.At == ledger.CallAsked || c.At == ledger.CallAtSignIn && c.Task == nil && len(c.Round) == 0
	}
	for _, c := range t.rec.pending(unsent) {
		if err := t.sender.stop(t.tools.job(c), nil); err != nil {
			return err
		}
	}
	return nil
}

// finishFor ends the run with an answer that the model has not given.
func (e *engine) finishFor(answer string, why StopReason) error {
	e.visits.end()
	var output json.RawMessage
	if e.agent.output != nil {
		var err error
		if output, err = e.written(answer); err != nil {
			return e.failed(e.noOutput(answer))
		}
	}
	over := []Event{&Output{Text: answer, StopReason: why}}
	if answer != "" {
		message := run.Text(run.RoleAssistant, answer)
		message.At = e.rec.state.Updated
		if err := e.rec.record(nil, &ledger.Called{}, &ledger.Responded{Message: message}); err != nil {
			return err
		}
		over = append([]Event{&TurnEnd{Turn: e.rec.state.Turn, Messages: []run.Message{message}}}, over...)
	}
	return e.rec.record(over, &ledger.Ended{Status: run.StatusFinished, Stop: string(why), Output: answer, Structured: output})
}

// stopAt makes of a reply the answer of a hook.
func (r *reply) stopAt(answer string) {
	r.message.Parts, r.calls = nil, nil
	if answer != "" {
		r.message.Parts = []run.Part{{Type: run.PartText, Text: answer}}
	}
	r.stop, r.text = &answer, answer
}
