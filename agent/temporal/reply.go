package temporal

import (
	"errors"
	"fmt"
	"slices"

	temporalsdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// Bounds of the replies of a person, which enter the history of a workflow.
const (
	maxReplies    = 256     // in one update
	maxReplyBytes = 1 << 20 // in one update
	maxQuestionID = 255     // bytes
	maxTaken      = 256     // questions that a workflow remembers
)

// reply handles an update: it stores replies, by an activity. It returns the refusal if the store
// refuses them.
func (d *driver) reply(ctx workflow.Context, replies []run.Reply) error {
	if d.job.Target.ID == "" { // the run of a schedule that has not begun
		if err := workflow.Await(ctx, func() bool { return d.job.Target.ID != "" }); err != nil {
			return err
		}
	}
	ctx = workflow.WithActivityOptions(ctx, d.quick)
	err := workflow.ExecuteActivity(ctx, replyActivity, d.job.Target, replies).Get(ctx, nil)
	if app, ok := errors.AsType[*temporalsdk.ApplicationError](err); ok {
		return app // without the text that Temporal puts around it
	}
	if err == nil {
		d.recordReplies(replies)
	}
	return err
}

// checkReplies refuses invalid replies before they enter the history. The store checks what the
// workflow cannot know.
func (d *driver) checkReplies(replies []run.Reply) error {
	size := 0
	for _, r := range replies {
		size += len(r.Reason) + len(r.Arguments) + len(r.Content) + len(r.Scope) + len(r.By) + len(r.Unknown)
		if n := len(r.Question); n == 0 || n > maxQuestionID {
			return refusal(fmt.Errorf("question id has %d bytes, want 1 to %d: %w", n, maxQuestionID, run.ErrNotAsked))
		}
		if !d.mayHaveAsked(r.Question) {
			return refusal(fmt.Errorf("answer question %q: %w", r.Question, run.ErrNotAsked))
		}
	}
	if n := len(replies); n == 0 || n > maxReplies || size > maxReplyBytes {
		return refusal(fmt.Errorf("%d answers with %d bytes; send 1 to %d together, with at most %d bytes: %w",
			n, size, maxReplies, maxReplyBytes, run.ErrUnfit))
	}
	return nil
}

// mayHaveAsked reports whether the run may have asked a question. During a step it may ask more than
// the workflow knows.
func (d *driver) mayHaveAsked(id string) bool {
	return d.isStepping || d.state.Status != run.StatusWaiting ||
		slices.Contains(d.state.Questions, id) || slices.Contains(d.job.Taken, id)
}

// refusals are the final errors of a reply or a run, by their type at Temporal. Histories contain the
// types. No error matches two of them.
var refusals = map[string]error{
	"NotFound": record.ErrNotFound,
	"Corrupt":  record.ErrCorrupt,
	"Answered": record.ErrReplied,
	"NotAsked": run.ErrNotAsked,
	"Expired":  run.ErrExpired,
	"Unfit":    run.ErrUnfit,
}

// refusal converts an error for Temporal, which does not try again after a final one.
func refusal(err error) error {
	for name, sentinel := range refusals {
		if errors.Is(err, sentinel) {
			return temporalsdk.NewNonRetryableApplicationError(err.Error(), name, nil)
		}
	}
	return err
}

// decodeRefusal converts a refusal that came from Temporal, so that it matches its error in refusals.
// It returns other errors unchanged.
func decodeRefusal(err error) error {
	app, ok := errors.AsType[*temporalsdk.ApplicationError](err)
	if !ok || refusals[app.Type()] == nil {
		return err
	}
	return &refusedError{app.Message(), refusals[app.Type()]}
}

type refusedError struct {
	text     string
	sentinel error
}

func (e *refusedError) Error() string { return e.text }
func (e *refusedError) Unwrap() error { return e.sentinel }
