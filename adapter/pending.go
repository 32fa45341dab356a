package adapter

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// pendingCall is one call of a model on its way through the interceptors.
type pendingCall struct {
	tool         *Tool
	call         llms.ToolCall
	request      Request     // the request for the first interceptor
	context      callContext // the context for the first interceptor
	checkedArgs  []byte      // the arguments that were last checked
	approvedArgs []byte      // the arguments that were last approved, nil for none
	edited       bool        // approval has changed the arguments
	key          string      // the idempotency key, "" for none
	view         string      // the view that makes the call, "" for a model
	err          error       // the last error of send, nil for none
	sent         bool        // a server may have received the call
	inDoubt      bool        // it was sent and its outcome is unknown

	round   *mcp.InputRequired // the round that the call continues, nil for a new call
	answers map[string]any     // answers to the round
	task    string             // the id of the task that the call has become, "" for none
}

// send is the innermost handler: approval and the call itself. It notes its error, whether a server
// may have received the call, and whether the outcome is unknown.
func (s *pendingCall) send(ctx context.Context, r *Request) (_ *mcp.CallToolResult, err error) {
	defer func() {
		s.err = err
		if s.task != "" && err != nil && !isAnswer(err) {
			s.inDoubt = true
		}
	}()
	if r.Tool != s.tool || r.Call != s.call {
		return nil, &interceptedError{errors.New("an interceptor replaced Tool or Call of the Request: call the other tool instead")}
	}
	if _, err := s.tool.calls.connectedTool(s.tool); err != nil { // before anyone is asked
		return nil, err
	}
	if s.task == "" {
		if err := s.checkAndApprove(ctx, r); err != nil {
			return nil, err
		}
	}
	t, res, err := s.attempt(ctx, r) // the tool may have changed during the approval
	if t == nil {
		return nil, err
	}
	t, res, err = s.askAgain(ctx, r, t, res, err)
	if err == nil {
		s.sent = true
		return res, nil
	}
	if !isUnsent(err) {
		s.sent = true
		s.inDoubt = s.inDoubt || !isAnswer(err)
	}
	return nil, fmt.Errorf("server %q: %w", t.server.label, err)
}

// ask runs the tool, or continues its round or task at the server.
func (s *pendingCall) ask(ctx context.Context, t *Tool, opts []mcpclient.CallOption) (*mcp.CallToolResult, error) {
	switch {
	case s.task != "":
		return s.continueTask(ctx, t, opts)
	case s.round != nil:
		return s.continueRound(ctx, t, opts)
	}
	arguments, err := s.tool.fillIn(s.approvedArgs)
	if err != nil {
		return nil, err
	}
	if t.local != nil {
		return t.runLocal(ctx, arguments, opts)
	}
	keyed, opts := s.withKey(t, arguments, opts)
	return t.client.CallTool(ctx, t.def.Name, keyed, t.options(opts)...)
}

func (s *pendingCall) continueTask(ctx context.Context, t *Tool, opts []mcpclient.CallOption) (*mcp.CallToolResult, error) {
	task := t.client.Task(s.task, t.def.Name)
	if s.round != nil {
		if err := task.Answer(ctx, s.round, s.answers); err != nil {
			return nil, err
		}
	}
	return task.Wait(ctx, t.options(append(slices.Clip(opts), mcpclient.WithTask(t.def)))...)
}

func (s *pendingCall) continueRound(ctx context.Context, t *Tool, opts []mcpclient.CallOption) (*mcp.CallToolResult, error) {
	if err := s.checkRound(s.round); err != nil { // an interceptor may have changed the arguments
		return nil, err
	}
	return mcpclient.Continue[mcp.CallToolResult](ctx, t.client, s.round, s.answers, t.options(s.continueOptions(t, opts))...)
}

// roundError is the error of a call that cannot be continued: the round or the task is not its own, or is missing.
type roundError struct{ why string }

func (e *roundError) Error() string { return "continue call: " + e.why }

func (e *roundError) forModel(effect string) (text string, fatal bool) {
	return "the call cannot be continued: " + e.why + ". " + effect, true
}

// checkRound checks that a round belongs to this tool with these arguments.
func (s *pendingCall) checkRound(round *mcp.InputRequired) error {
	if round == nil {
		return &roundError{"the round is nil"}
	}
	var params struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	arguments, fillErr := s.tool.fillIn(s.approvedArgs)
	switch err := json.Unmarshal(round.Params, &params); {
	case fillErr != nil:
		return fillErr
	case err != nil || round.Method != "tools/call" || params.Name != s.tool.def.Name:
		return &roundError{"the round is not of this tool"}
	case !bytes.Equal(canonical(s.tool.withoutKey(params.Arguments)), canonical(arguments)):
		return &roundError{"the round has other arguments"}
	}
	return nil
}

// checkAndApprove checks and approves the arguments of a request, unless they are the last ones that were. So a call that
// an interceptor repeats is approved once.
func (s *pendingCall) checkAndApprove(ctx context.Context, r *Request) (err error) {
	args := r.Arguments
	if !bytes.Equal(args, s.checkedArgs) {
		if args, err = s.tool.check(args); err != nil {
			return err
		}
		s.checkedArgs = args
	}
	if s.approvedArgs != nil && bytes.Equal(args, s.approvedArgs) {
		return nil
	}
	if s.approvedArgs, s.edited, err = s.tool.calls.approvals.approve(ctx, s.tool, s.call, args); err != nil {
		return err
	}
	s.checkedArgs = s.approvedArgs
	if len(s.tool.calls.intercept) > 0 {
		r.Arguments = slices.Clone(s.approvedArgs)
	}
	return nil
}

// unsentError is the error of a call that was not sent.
type unsentError struct{ error }

func (e *unsentError) Unwrap() error { return e.error }

// isUnsent reports whether err proves that the server did not receive the call.
func isUnsent(err error) bool {
	_, ok := errors.AsType[*unsentError](err)
	return ok || mcpclient.Unsent(err)
}

// isAnswer reports whether err is the server's answer to a call, rather than the end of the wait for an answer.
func isAnswer(err error) bool {
	for _, sentinel := range []error{
		mcpclient.ErrTaskCancelled, mcpclient.ErrTooManyRounds, mcp.ErrRejected, transport.ErrMessageTooLarge,
	} {
		if errors.Is(err, sentinel) {
			return true
		}
	}
	_, refused := errors.AsType[*mcp.RPCError](err)
	_, asks := errors.AsType[*mcp.InputRequired](err)
	_, breach := errors.AsType[*mcpclient.OutputError](err)
	return refused || asks || breach
}
