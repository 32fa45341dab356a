package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/internal/bound"
	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// urlVisits has a person visit the URLs of a server's error.
type urlVisits struct {
	*peer
	open   *openElicitations
	gather func(ctx context.Context, questions map[string]mcp.InputRequest, call mcp.CallInfo) (map[string]json.RawMessage, error)
}

// withURLVisits sends a request once more after a person has visited the URLs of the server's error.
func withURLVisits(next sender, v *urlVisits) sender {
	return func(ctx context.Context, r *request, o *callOptions) (response, error) {
		got, err := next(ctx, r, o)
		needed := v.neededVisits(err)
		if needed == nil {
			return got, err
		}
		if err := v.visitAll(ctx, r, needed); err != nil {
			return response{}, err
		}
		got, err = next(ctx, r, o)
		if needed := v.neededVisits(err); needed != nil {
			needed.action = mcp.ElicitAccept
			return response{}, needed
		}
		return got, err
	}
}

// visitsError is the error of a call that needs a person to visit URLs first, if that has not
// happened: no handler accepts URLs, none of them is valid, the person refused, or the server still
// asked afterwards. It wraps the server's error, with code -32042 of revision 2025-11-25.
type visitsError struct {
	visits []*mcp.ElicitParams // without malformed ones
	action string              // of the first answer that is not accept; accept if the server asked again; "" if nobody was asked
	rpc    *mcp.RPCError
}

func (e *visitsError) Error() string {
	why := "no handler for URLs is installed"
	switch {
	case len(e.visits) == 0:
		why = "the server names none that is valid"
	case e.action == mcp.ElicitAccept:
		why = "the person agreed, and the server asks again"
	case e.action != "":
		why = "the person's answer is " + e.action
	}
	return fmt.Sprintf("a person must visit URLs first (%d), but %s: %v", len(e.visits), why, e.rpc)
}

func (e *visitsError) Unwrap() error { return e.rpc }

// neededVisits returns err as the error of a call for which a person must visit URLs, nil if it is
// another error.
func (v *urlVisits) neededVisits(err error) *visitsError {
	rpc, ok := errors.AsType[*mcp.RPCError](err)
	if !ok || rpc.Code != mcp.CodeURLElicitationNeeded || !v.current().has(urlElicitationErrors) {
		return nil
	}
	return &visitsError{visits: v.decode(rpc.Data), rpc: rpc}
}

// decode returns the visits that the data of an error -32042 asks for. It skips malformed ones,
// repeated ones, and those beyond [Limits.ServerRequests].
func (v *urlVisits) decode(data json.RawMessage) (visits []*mcp.ElicitParams) {
	var asked struct {
		Elicitations []json.RawMessage `json:"elicitations"`
	}
	if jsonrpc.DecodeResult(data, &asked) != nil {
		return nil
	}
	seen := map[string]bool{}
	for i, raw := range asked.Elicitations {
		p := new(mcp.ElicitParams)
		switch err := json.Unmarshal(raw, p); {
		case err != nil || !isURLVisit(p):
			v.logViolation("skipped a malformed elicitation in an error", "index", i)
		case seen[p.ElicitationID]:
			v.logViolation("skipped an elicitation in an error: its id is repeated", "index", i)
		case len(visits) == v.limits.ServerRequests:
			v.logViolation("skipped elicitations in an error: too many", "got", len(asked.Elicitations), "want", len(visits))
			return visits
		default:
			seen[p.ElicitationID] = true
			visits = append(visits, p)
		}
	}
	return visits
}

func isURLVisit(p *mcp.ElicitParams) bool {
	return p.Mode == mcp.ElicitURL && hasElicitationID(p) && inquiry.Visitable(p.URL)
}

// visitAll asks a person to visit the URLs, one after the other. It returns nil if the person
// accepted all of them, so that the call may be repeated.
func (v *urlVisits) visitAll(ctx context.Context, r *request, needed *visitsError) error {
	if len(needed.visits) == 0 || v.offers.elicitation == nil || !v.offers.elicitation.URL {
		return needed
	}
	var completed []<-chan struct{}
	for _, p := range needed.visits {
		completed = append(completed, v.open.expect(p.ElicitationID)) // before the person can complete it
		action, err := v.visit(ctx, r, p)
		if err != nil {
			return err
		}
		if action != mcp.ElicitAccept {
			needed.action = action
			return needed
		}
	}
	return v.awaitAll(ctx, completed)
}

// visit asks a person to visit a URL. Its question has no key: handlers see by that that the call
// waits, and that the answer cannot come later ([mcp.ErrAnswerLater]).
func (v *urlVisits) visit(ctx context.Context, r *request, p *mcp.ElicitParams) (action string, err error) {
	const key = ""
	params, err := jsonrpc.EncodeParams(p)
	if err != nil {
		return "", err
	}
	questions := map[string]mcp.InputRequest{key: {Method: "elicitation/create", Params: params}}
	answers, err := v.gather(ctx, questions, r.info())
	if err != nil {
		return "", err
	}
	var result mcp.ElicitResult
	if err := json.Unmarshal(answers[key], &result); err != nil {
		return "", fmt.Errorf("elicitation answer: %w", err)
	}
	return result.Action, nil
}

// awaitAll waits until the server has reported that all visits are complete, or the wait is over.
func (v *urlVisits) awaitAll(ctx context.Context, completed []<-chan struct{}) error {
	defer bound.From(ctx).Hold()()
	late := time.NewTimer(v.timeouts.URLElicitation)
	defer late.Stop()
	for _, done := range completed {
		select {
		case <-done:
		case <-late.C:
			return nil
		case <-ctx.Done():
			return contextError(ctx)
		case <-v.life.Closing():
			return v.life.Cause()
		}
	}
	return nil
}
