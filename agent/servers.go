package agent

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/caller"
	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// servers handles what servers ask for during the calls of a turn: a person or the model. It also asks
// the host whether a call may run.
type servers struct {
	shared
	sched    *scheduler
	held     *heldQuestions
	handlers *activeHandlers

	mu      sync.Mutex                              // guards the following field
	reviews map[requestID]*inquiry.ReviewLaterError // requests that wait for a person
}

// withCaller returns a context for the tool calls of this turn, so that servers' requests come to
// the run.
func (s *servers) withCaller(ctx context.Context) context.Context {
	return caller.With(ctx, &caller.Caller{
		Approve: s.approver, Elicit: s.elicit, CreateMessage: s.createMessage,
		Waiting: s.onDelay, Unanswered: s.onUnanswered,
	})
}

// onDelay shows why a call is not sent yet.
func (s *servers) onDelay(ctx context.Context, why string) {
	if call, _ := ctx.Value(callKey{}).(*Call); call != nil {
		s.rec.show(&ToolProgress{Call: *call, Progress: mcp.Progress{Message: why}})
	}
}

// onUnanswered warns that a server's question reached nobody.
func (s *servers) onUnanswered(server string, _ error) {
	s.rec.show(&Warning{Text: fmt.Sprintf("server %q asked something and did not say for which of several conversations: "+
		"no person was asked, and the server was told so; if a call failed, make it again", server)})
}

// elicit handles a server's question to a person. If the host has no handler, the question of a
// modern server ends the call and comes back as a question of the run. A legacy server, and a
// server that a handler has called, wait for the reply, see [Person.Hold]. If a legacy
// server's error asks the person to visit a page, the client waits.
func (s *servers) elicit(
	ctx context.Context, params *mcp.ElicitParams, next mcp.ElicitationHandler,
) (*mcp.ElicitResult, error) {
	server, call := asker(ctx)
	isOurs := next == nil
	if origin, _ := mcp.OriginFrom(ctx); isOurs && origin.Key != "" && call != nil {
		return nil, mcp.ErrAnswerLater
	}
	ctx, done, ok := s.handlers.register(ctx)
	if !ok {
		return hostAnswer(ctx, params, next)
	}
	defer done()
	defer s.holdClock(call)()
	var result *mcp.ElicitResult
	err := guard("elicitation handler", func() (err error) {
		if err := cmp.Or(s.rec.awaitCaller(), context.Cause(ctx)); err != nil { // perhaps the server does not wait any more
			return err
		}
		if isOurs {
			result, err = s.held.elicit(ctx, server, call, params)
		}
		if result == nil && err == nil {
			result, err = hostAnswer(ctx, params, next)
		}
		if result != nil && err == nil {
			result, err = forms.Complete(params, result)
		}
		return err
	})
	s.rec.show(&Elicited{Server: server, Call: call, Params: params, Result: result, Err: err})
	if err != nil && s.scope.handlerError() != nil { // the run ends, but not because of the server
		return &mcp.ElicitResult{Action: mcp.ElicitCancel}, nil
	}
	return result, serverError(err)
}

// holdClock stops the time of a call that waits for a person, until resume is called. call is nil if it is
// unknown which one waits.
func (s *servers) holdClock(call *Call) (resume func()) {
	if call == nil {
		return s.sched.holdClock("")
	}
	return s.sched.holdClock(call.ID)
}

// hostAnswer returns the answer of the host's handler. Without one, the error tells the server that
// nobody was asked.
func hostAnswer(ctx context.Context, params *mcp.ElicitParams, next mcp.ElicitationHandler) (*mcp.ElicitResult, error) {
	if next == nil {
		return nil, inquiry.ErrNotAsked
	}
	return next.Elicit(ctx, params)
}

// newQuestion returns the question to a person for a request of a round, nil for other requests.
func (s *servers) newQuestion(call string, round *mcp.InputRequired, key string) *run.Question {
	request := round.Requests[key]
	if params, ok := inquiry.Elicitation(&request); ok {
		return &run.Question{Kind: questionKind(params), ServerKey: key, Elicit: params}
	}
	s.mu.Lock()
	later := s.reviews[requestID{call, key}]
	s.mu.Unlock()
	if later != nil {
		return &run.Question{Kind: run.QuestionSampling, ServerKey: key, Sampling: later.Params, Model: later.Model}
	}
	if params, ok := inquiry.Sampling(&request); ok {
		return &run.Question{Kind: run.QuestionSampling, ServerKey: key, Sampling: params}
	}
	return nil
}

// approver returns the function that decides on a call, Options.Person.Approve or the toolset's, and
// emits the decision. It is nil if every call may run. A function of the program may ask in its own call.
func (s *servers) approver(next approval.Func) approval.Func {
	ask := s.agent.opts.Person.Approve
	if ask == nil {
		ask = next
	}
	if ask == nil {
		return nil
	}
	return func(ctx context.Context, a *approval.Request) (approval.Decision, error) {
		if err := s.beforeAsking(); err != nil {
			return approval.Decision{}, err
		}
		call := Call{
			Turn: s.rec.state.Turn, ID: a.Call.ID, Name: a.Name, Arguments: string(a.Arguments),
			Server: a.Server, Tool: a.Definition.Name,
		}
		if asking, _ := ctx.Value(callKey{}).(*Call); asking != nil {
			defer s.holdClock(asking)()
		}
		var decision approval.Decision
		err := guard("approve callback", func() (err error) {
			decision, err = ask(ctx, a)
			return err
		})
		if err != nil {
			return approval.Decision{}, err
		}
		if !s.rec.show(&ApprovalDecided{Call: call, Decision: decision}) {
			return approval.Decision{}, s.rec.endError()
		}
		return decision, nil
	}
}

// beforeAsking makes the decisions so far durable, lets their calls run while a person is asked, and awaits the caller.
func (s *servers) beforeAsking() error {
	if err := s.rec.commit(); err != nil {
		return err
	}
	s.sched.allowDecided()
	if s.scope.ctx.Err() != nil {
		return s.rec.endError()
	}
	return s.rec.awaitCaller()
}

// depthKey is the context key of the number of enclosing runs.
type depthKey struct{}

// enclosingRuns returns the number of runs that enclose a context: a tool may run an agent, and so
// itself.
func enclosingRuns(ctx context.Context) int {
	depth, _ := ctx.Value(depthKey{}).(int)
	return depth
}

// callKey is the context key of the tool call of the turn, a *Call, nil outside of its calls. The context of a handler has
// it if the server's request can belong to no other call.
type callKey struct{}

// asker returns the server that asks a handler, and the tool call, nil if that is unknown.
func asker(ctx context.Context) (server string, call *Call) {
	call, _ = ctx.Value(callKey{}).(*Call)
	server, _ = adapter.OriginFrom(ctx)
	switch {
	case server != "" && call != nil && call.Server != server:
		// A handler called a tool of this server while it answered another request.
		return server, nil
	case server == "" && call != nil:
		return call.Server, call
	}
	return server, call
}

// activeHandlers counts the handlers that work for a run on goroutines of the clients, so that the
// run can wait for them.
type activeHandlers struct {
	ctx    context.Context // ends with end
	cancel context.CancelCauseFunc

	mu    sync.Mutex // guards ended, and orders wg.Add before wg.Wait
	ended bool
	wg    sync.WaitGroup
}

// register returns a context that also ends with the run, for a handler that must call done at its
// end. ok is false if the run has ended; the context is then ctx itself.
func (h *activeHandlers) register(ctx context.Context) (_ context.Context, done func(), ok bool) {
	h.mu.Lock()
	if h.ended {
		h.mu.Unlock()
		return ctx, nil, false
	}
	h.wg.Add(1)
	h.mu.Unlock()
	inner, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(h.ctx, func() { cancel(context.Cause(h.ctx)) })
	return inner, func() {
		stop()
		cancel(nil)
		h.wg.Done()
	}, true
}

// end refuses further handlers, cancels the contexts of current ones, and waits for them. It may be
// called more than once.
func (h *activeHandlers) end() {
	h.mu.Lock()
	h.ended = true
	h.mu.Unlock()
	h.cancel(errOver)
	h.wg.Wait()
}
