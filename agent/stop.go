package agent

import (
	"encoding/json"
	"errors"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// stopError is the error of [StopRun].
type stopError struct{ answer string }

func (e *stopError) Error() string { return "the run is stopped with an answer" }

// StopRun returns the error with which a hook ends its run with an answer of its own: the run is
// finished, and its stop reason is [StopHook].
//
// From BeforeModel, the model is not called. From AfterModel, the calls of the reply are not
// made. From BeforeTool, the call is not made. From AfterTool, the result is kept, and the
// other hooks see it. The run ends with the turn: calls that were sent get their results, and
// others are not made. If several hooks stop, the first call counts.
//
// StopRun is durable with the outcome of the call, so that another process ends the run in the
// same way. For [RunAs] the answer must be the JSON of the output. In the run of a sub-agent it
// ends only that run.
func StopRun(answer string) error { return &stopError{answer} }

// hookAnswer returns the answer of a [StopRun] error, nil for others.
func hookAnswer(err error) *string {
	if s, ok := errors.AsType[*stopError](err); ok {
		return &s.answer
	}
	return nil
}

// endUnsent ends the calls that no server has received when a hook ended the run, and closes the
// questions about them.
func (t *turn) endUnsent() error {
	if t.rec.stopAnswer() == nil {
		return nil
	}
	unsent := func(c *ledger.Call) bool {
		switch c.At {
		case ledger.CallReady, ledger.CallAsked:
			return true
		case ledger.CallAtSignIn: // the server has not accepted the call
			return c.Task == nil && len(c.Round) == 0
		}
		return false
	}
	for _, c := range t.rec.pending(unsent) {
		if err := t.sender.recordStop(t.tools.job(c), nil); err != nil {
			return err
		}
	}
	return nil
}

// recordStop records that a hook has ended the run instead of making a call.
func (s *sender) recordStop(j *job, answer *string) error {
	result := j.errorResult(notMade, nil)
	part := s.tools.part(j, result)
	end := &ToolEnd{Call: s.tools.recordedCall(j), Part: part, Result: result}
	return s.rec.record([]Event{end}, &ledger.Outcome{Call: j.eventCall.ID, Result: part, Stop: answer})
}

// notMade is the result of a call that was not sent because a hook ended the run.
const notMade = "The call was not made: the run was stopped."

// finishFor ends the run with an answer that did not come from its model. If it is not the structured
// output that the run needs, the run fails.
func (e *engine) finishFor(answer string, why StopReason) error {
	e.handlers.end()
	var output json.RawMessage
	if e.agent.output != nil {
		var err error
		if output, err = e.parseOutput(answer); err != nil {
			return e.fail(e.noOutputError(answer))
		}
	}
	events := []Event{&Output{Text: outputText(answer, output), StopReason: why}}
	if answer != "" {
		message := run.Text(run.RoleAssistant, answer)
		message.At = e.rec.state.Updated
		if err := e.rec.record(nil, &ledger.Called{}, &ledger.Responded{Message: message}); err != nil {
			return err
		}
		events = append([]Event{&TurnEnd{Messages: []run.Message{message}}}, events...)
	}
	return e.rec.record(events, &ledger.Ended{
		Status:     run.StatusFinished,
		Stop:       string(why),
		Output:     outputText(answer, output),
		Structured: output,
	})
}

// setStop replaces a reply by the answer of a hook.
func (r *reply) setStop(answer string) {
	r.message.Parts, r.calls = nil, nil
	if answer != "" {
		r.message.Parts = []run.Part{{Type: run.PartText, Text: answer}}
	}
	r.stop, r.text = &answer, answer
}
