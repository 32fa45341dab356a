package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/doubttext"
	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// send returns the function that sends a call, for the first time or again, with the answers to its round if it has
// one, nil if the call has to wait. If the call has become a task, perhaps in another process, the function awaits that.
func (t *turn) send(c *ledger.Call) (func() error, error) {
	j, err := t.runnable(c)
	if j == nil {
		return nil, err
	}
	round, answers, err := decodeRound(c)
	if err != nil {
		return nil, err
	}
	if c.Task == nil && round == nil { // most calls: without a closure
		return t.recordIntent(c, j, (*job).run)
	}
	resume := func(j *job, ctx context.Context, opts callOptions) *adapter.Result {
		task := ""
		if c.Task != nil {
			task = c.Task.ID
		}
		return j.call.Continue(ctx, task, round, answers, opts...)
	}
	if c.Task == nil {
		return t.recordIntent(c, j, resume)
	}
	return func() error { return t.sender.perform(c, j, resume) }, nil
}

// runnable returns the job of a call for which there is room. It is nil if the call has to wait, or ends because its
// tool has changed or is gone.
func (t *turn) runnable(c *ledger.Call) (*job, error) {
	if !t.sched.hasRoom() {
		return nil, nil
	}
	j := t.tools.job(c)
	if j.err != nil {
		return nil, t.sender.recordGivenUp(c, j)
	}
	return j, nil
}

// recordIntent records that a call is about to be sent, and returns the function that sends it. See
// [turn.start], which commits the record.
func (t *turn) recordIntent(c *ledger.Call, j *job, send sendFunc) (func() error, error) {
	if t.mustWait(c) {
		return nil, nil
	}
	intent := t.intentSlab.one()
	intent.Call = c.ID
	t.intents = append(t.intents, intent)
	t.starts = append(t.starts, t.rec.ifWanted(func() Event { return &ToolStart{Call: t.tools.recordedCall(j)} })...)
	if t.isOrdered(j) {
		t.sched.holdLane(c.Server, c.ID)
	}
	return func() error { return t.sender.perform(c, j, send) }, nil
}

// sendFunc sends a call, for the first time or again.
type sendFunc func(*job, context.Context, callOptions) *adapter.Result

type callOptions = []mcpclient.CallOption

// run sends the call.
func (j *job) run(ctx context.Context, opts callOptions) *adapter.Result {
	return j.call.Run(ctx, opts...)
}

// sender sends the calls of a turn and records their outcomes.
type sender struct {
	shared
	engine   *engine
	tools    *tools
	servers  *servers
	results  *results
	searcher *searcher
}

// perform runs sendCall in the context of the call.
func (s *sender) perform(c *ledger.Call, j *job, send sendFunc) error {
	ctx, release := s.callContext(j)
	defer release()
	return s.execute(ctx, j, func(ctx context.Context) error { return s.sendCall(ctx, c, j, send) })
}

// callContext returns the context of a call. If the run is stored, the end of the context
// leaves tasks running for the next process. The caller must call release.
func (s *sender) callContext(j *job) (_ context.Context, release func()) {
	ctx := context.WithValue(s.scope.ctx, callKey{}, &j.eventCall)
	if j.call.Tool() == s.agent.search.tool {
		ctx = context.WithValue(ctx, searchKey{}, s.searcher)
	}
	if j.call.Tool() == s.agent.reader.tool {
		ctx = context.WithValue(ctx, keptKey{}, s.results)
	}
	if s.rec.writer.hold == nil || j.call.Tool().Local() { // functions create no tasks
		return ctx, func() {}
	}
	detached, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { cancel(errors.Join(mcpclient.ErrDetach, context.Cause(ctx))) })
	return detached, func() {
		stop()
		cancel(nil)
	}
}

// options returns the options of a call to a server: the lease is confirmed before it is sent, its
// progress is shown, and its task is recorded.
func (s *sender) options(c *ledger.Call, j *job) callOptions {
	if j.call.Tool().Local() {
		return nil // a function of this program
	}
	return callOptions{
		mcpclient.WithSendCheck(s.rec.writer.confirm),
		mcpclient.WithProgress(func(p mcp.Progress) { s.rec.show(&ToolProgress{Call: j.eventCall, Progress: p}) }),
		mcpclient.WithTaskStarted(func(t mcp.TaskState) error { return s.recordTask(c, t) }),
	}
}

// sendCall sends a call and records what becomes of it: a result, a question, or a sign-in that it
// needs. It records nothing for one that resolveDoubt sends again.
func (s *sender) sendCall(ctx context.Context, c *ledger.Call, j *job, send sendFunc) error {
	start := time.Now()
	if j.call.Tool().Local() { // options make the connection check requests
		if err := s.rec.writer.confirm(ctx); err != nil {
			return err
		}
	}
	result := send(j, ctx, s.options(c, j))
	switch {
	case s.rec.endError() != nil && result.Err != nil:
		return s.rec.endError() // the outcome of the call is in doubt
	case isUndecided(result.Err):
		return result.Err
	case inputRequired(result) != nil:
		return s.recordPause(c, j, result)
	}
	if needed, ok := s.neededSignIn(c, result); ok {
		return s.questions.add(&run.Question{
			Kind: run.QuestionSignIn, Call: c.ID, Server: c.Server, Tool: c.Name, URL: needed.URL, Survives: true,
		})
	}
	if result.Unsent() && (c.At == ledger.CallSent || c.Lost || len(c.Round) > 0) { // but it was sent before
		return s.recordDoubt(c, j)
	}
	if mayResend(c, j, result) {
		j.failure = result.Err
		return nil // it is sent again, see resolveDoubt
	}
	return s.recordOutcome(j, result, time.Since(start))
}

// mayResend reports whether a call whose connection has ended is sent again by this process.
func mayResend(c *ledger.Call, j *job, result *adapter.Result) bool {
	if !result.Interrupted() || errors.Is(result.Err, context.DeadlineExceeded) { // another attempt would take as long
		return false
	}
	return c.Task == nil && c.Tries+1 < maxResends && j.call.Tool().Repeatable()
}

// recordOutcome records the result of a call, shortened if it is long, and after the hooks.
func (s *sender) recordOutcome(j *job, result *adapter.Result, d time.Duration) error {
	result, long := s.results.shorten(j, result)
	outcome := &ledger.Outcome{Call: j.eventCall.ID, Result: s.tools.part(j, result)}
	if n := s.oversize(&outcome.Result); n > 0 {
		result = j.errorResult(fmt.Sprintf(notKeptResult, j.eventCall.Name, n>>20, maxResult>>20), nil)
		outcome.Result = s.tools.part(j, result)
	}
	changed, stop, hookErr := hooks(s.agent.opts.Hooks).afterTool(s.scope.ctx, s.rec, j, &outcome.Result)
	outcome.Stop = stop
	if hookErr != nil {
		result = j.errorResult(fmt.Sprintf(withheldResult, j.eventCall.Name), hookErr)
		outcome.Result = s.tools.part(j, result)
	}
	var changes []ledger.Change
	if long != nil {
		changes = s.results.store(long, &outcome.Result)
	}
	if advice := adviceOf(result); advice != "" {
		s.rec.show(&Warning{Text: fmt.Sprintf("the tool %s of server %q failed: %s", j.eventCall.Tool, j.eventCall.Server, advice)})
	}
	if changed {
		result = changedResult(result, &outcome.Result)
	}
	j.result, j.failure = &outcome.Result, result.Err
	end := s.rec.ifWanted(func() Event {
		return &ToolEnd{Call: s.tools.recordedCall(j), Part: outcome.Result, Result: result, Duration: d}
	})
	err := s.rec.record(end, append(changes, outcome)...)
	if hookErr != nil {
		return hookErr // it is known nevertheless that the call ended
	}
	return err
}

// changedResult returns the result of an event whose part a hook has changed. It has nothing else that the
// tool returned: the hook may be there to remove it.
func changedResult(r *adapter.Result, p *run.Part) *adapter.Result {
	changed := &adapter.Result{Call: r.Call, Tool: r.Tool, Text: p.Text, IsError: p.IsError}
	if r.Unsent() {
		changed.Err = r.Err
	}
	return changed
}

// Results of calls whose own result the model does not get.
const (
	// withheldResult replaces a result for which a hook has failed, as the hook may be there to keep the
	// text from the model.
	withheldResult = "Error: the call of %s ended, and its result is withheld: a check of it failed."

	// notKeptResult replaces a result that is too large.
	notKeptResult = "Error: the call of %s ended, and its result is left out: " +
		"it has %d MiB, and at most %d are kept with a run."
)

const (
	maxResult = 32 << 20 // bytes of the JSON of a result that is stored with its run
	maxEscape = 6        // bytes of JSON that a byte of text has at most
)

// oversize returns the size in bytes of a result that is too large to be stored, 0 for others.
func (s *sender) oversize(p *run.Part) int {
	if s.rec.writer.hold == nil || partSize(p) <= maxResult/maxEscape {
		return 0
	}
	if data, err := p.MarshalJSON(); err == nil && len(data) > maxResult {
		return len(data)
	}
	return 0
}

// adviceOf returns what the host can do about a call that failed because its server could not
// ask, "" if unknown.
func adviceOf(result *adapter.Result) string {
	if !result.IsError || result.Tool == nil || result.Tool.Local() {
		return ""
	}
	err := result.Err
	if err == nil && result.Raw != nil {
		err = result.Raw.Err()
	}
	return inquiry.Advice(err)
}

// recordRefusal records why a call does not run, for the model.
func (s *sender) recordRefusal(j *job, err error) error {
	switch {
	case s.rec.endError() != nil:
		return s.rec.endError()
	case isUndecided(err):
		return err
	}
	return s.recordOutcome(j, s.refusalResult(j, err), 0)
}

// givenUp ends a text about a call that is not continued, though its server has got it.
const givenUp = "The call was given up; it " + doubttext.MayHaveRun + "."

// recordGivenUp records that a call cannot begin or continue, because its tool has changed or is gone.
func (s *sender) recordGivenUp(c *ledger.Call, j *job) error {
	isLost := c.Lost && c.At != ledger.CallInDoubt // a person says that it did not run
	if c.Task == nil && len(c.Round) == 0 && c.Child == nil && !isLost {
		return s.recordRefusal(j, j.err)
	}
	text := "Error: " + j.err.Error() + ". " + givenUp
	return s.recordOutcome(j, j.errorResult(text, j.err), 0)
}

// refusalResult returns the result of a call that does not run. A run in which the model
// searches for tools lists no other names.
func (s *sender) refusalResult(j *job, err error) *adapter.Result {
	catalog := s.tools.offered()
	if j.eventCall.Server == keptServer {
		return j.errorResult("Error: "+err.Error(), err)
	}
	if s.rec.state.Discovery == ledger.DiscoveryNone {
		return catalog.ErrorResult(s.engine.ctx, j.asked, err)
	}
	tool, findErr := catalog.LookupStored(j.eventCall.Server, j.eventCall.Tool, "")
	if findErr != nil {
		return j.errorResult("Error: "+err.Error(), err)
	}
	named := j.asked // by the catalog's name
	named.FunctionCall = &llms.FunctionCall{Name: tool.Name(), Arguments: j.function.Arguments}
	result := catalog.ErrorResult(s.engine.ctx, named, err)
	result.Call = j.asked
	return result
}
