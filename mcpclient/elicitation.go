package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/internal/bound"
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// elicit answers an elicitation request by the host's handler, whose answer it checks and
// completes.
func (a *answerer) elicit(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
	params, err := a.decodeElicitation(raw)
	if err != nil {
		return nil, err
	}
	if a.mayReportCompletion(params) {
		ctx = a.visits.withDone(ctx, params.ElicitationID)
	}
	checkAnswer, err := a.newAnswerCheck(params)
	if err != nil {
		return nil, err
	}
	answer, err := a.elicitation.Elicit(ctx, params)
	if err != nil {
		return nil, err
	}
	if answer == nil {
		return nil, errors.New("the elicitation handler returned neither a result nor an error")
	}
	complete, err := forms.Complete(params, answer)
	if err != nil {
		return nil, err
	}
	if checkAnswer != nil && complete.Action == mcp.ElicitAccept {
		if err := checkAnswer(complete.Content); err != nil {
			return nil, err
		}
	}
	return jsonrpc.Marshal(complete)
}

// mayReportCompletion reports whether the server may notify the client that the person has finished
// at the URL. Only revision 2025-11-25 has that notification.
func (a *answerer) mayReportCompletion(p *mcp.ElicitParams) bool {
	return p.Mode == mcp.ElicitURL && hasElicitationID(p) && a.peer.current().has(urlElicitationErrors)
}

func (a *answerer) decodeElicitation(raw json.RawMessage) (*mcp.ElicitParams, error) {
	offered := a.peer.offers.elicitation
	if offered == nil {
		return nil, uninstalledError("elicitation is not available", "Options.Elicitation")
	}
	params := new(mcp.ElicitParams)
	if err := json.Unmarshal(raw, params); err != nil {
		return nil, newRefusal(mcp.CodeInvalidParams, "elicitation: %v", err)
	}
	if params.Mode == "" {
		params.Mode = mcp.ElicitForm // 2025-11-25 elicitation: "Clients MUST treat requests without a mode field as form mode"
	}
	switch {
	case params.Mode == mcp.ElicitForm && offered.Form:
		if _, err := forms.Fields(params); err != nil {
			return nil, newRefusal(mcp.CodeInvalidParams, "elicitation: %v", err)
		}
	case params.Mode == mcp.ElicitURL && offered.URL:
		if !inquiry.Visitable(params.URL) {
			return nil, newRefusal(mcp.CodeInvalidParams,
				"elicitation: URL is not a web address: want http or https, a host, no user info, and printable characters only")
		}
	default:
		return nil, newRefusal(mcp.CodeInvalidParams, "elicitation: mode %q was not declared by the client", excerpt.Cut(params.Mode))
	}
	return params, nil
}

// newAnswerCheck compiles the schema of a form for the host's validator. The returned function
// checks the content of an answer; it is nil if there is nothing to check.
func (a *answerer) newAnswerCheck(params *mcp.ElicitParams) (func(map[string]any) error, error) {
	if a.validator == nil || params.Mode != mcp.ElicitForm {
		return nil, nil
	}
	check, err := a.validator.Compile(params.RequestedSchema)
	if err != nil {
		return nil, newRefusal(mcp.CodeInvalidParams, "elicitation: requested schema: %v", err)
	}
	return func(content map[string]any) error {
		raw, err := jsonrpc.Marshal(content)
		if err != nil {
			return fmt.Errorf("elicitation answer: %w", err)
		}
		err = check(raw)
		if wraps[*SchemaViolation](err) {
			return &inquiry.AnswerError{Err: err}
		}
		if err != nil {
			return fmt.Errorf("elicitation answer: %w", err)
		}
		return nil
	}, nil
}

// visitsError is the error of a call that needs a person to visit URLs first, if that has not
// happened: no handler accepts URLs, none of them is valid, the person refused, or the server still
// asked afterwards. It wraps the server's error, with code -32042 of revision 2025-11-25.
type visitsError struct {
	elicitations []*mcp.ElicitParams // without malformed ones
	action       string              // the answer to the first URL that was not accepted; accept if the server asked again
	rpc          *mcp.RPCError
}

func (e *visitsError) Error() string {
	why := "no handler for URLs is installed"
	switch {
	case len(e.elicitations) == 0:
		why = "the server names none that is valid"
	case e.action == mcp.ElicitAccept:
		why = "the person agreed, and the server asks again"
	case e.action != "":
		why = "the person's answer is " + e.action
	}
	return fmt.Sprintf("a person must visit URLs first (%d), but %s: %v", len(e.elicitations), why, e.rpc)
}

func (e *visitsError) Unwrap() error { return e.rpc }

const (
	maxVisits   = 256     // URLs whose completion is awaited
	maxElicitID = 1 << 10 // bytes
)

// urlElicitations asks a person to visit URLs, and remembers the ids for which the server may
// report completion.
type urlElicitations struct {
	*peer
	gather func(ctx context.Context, questions map[string]mcp.InputRequest, call mcp.CallInfo) (map[string]json.RawMessage, error)
	limit  int           // URLs in one error
	wait   time.Duration // bounds the wait for the completion of visits

	mu   sync.Mutex
	done map[string]chan struct{}
	ids  []string // oldest first
}

// withURLVisits sends a request once more after a person has visited the URLs of the server's
// error.
func withURLVisits(next sender, v *urlElicitations) sender {
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

// neededVisits returns err as the error of a call for which a person must visit URLs, nil if it is
// another error.
func (v *urlElicitations) neededVisits(err error) *visitsError {
	rpc, ok := errors.AsType[*mcp.RPCError](err)
	if !ok || rpc.Code != mcp.CodeURLElicitationNeeded || !v.peer.current().has(urlElicitationErrors) {
		return nil
	}
	return &visitsError{elicitations: v.validElicitations(rpc), rpc: rpc}
}

// visitAll asks a person to visit the URLs. It returns nil if the person accepted all of them,
// so that the call may be repeated.
func (v *urlElicitations) visitAll(ctx context.Context, r *request, needed *visitsError) error {
	if len(needed.elicitations) == 0 || v.peer.offers.elicitation == nil || !v.peer.offers.elicitation.URL {
		return needed
	}
	var waits []<-chan struct{}
	for _, p := range needed.elicitations {
		waits = append(waits, v.expect(p.ElicitationID))
		action, err := v.visit(ctx, r, p)
		if err != nil {
			return err
		}
		if action != mcp.ElicitAccept {
			needed.action = action
			return needed
		}
	}
	return v.awaitVisits(ctx, waits)
}

func isValidURLElicitation(p *mcp.ElicitParams) bool {
	return p.Mode == mcp.ElicitURL && hasElicitationID(p) && inquiry.Visitable(p.URL)
}

func hasElicitationID(p *mcp.ElicitParams) bool {
	return p.ElicitationID != "" && len(p.ElicitationID) <= maxElicitID
}

// validElicitations decodes the elicitations of an error -32042. It skips malformed ones, repeated
// ones, and those beyond [Limits.ServerRequests].
func (v *urlElicitations) validElicitations(rpc *mcp.RPCError) (valid []*mcp.ElicitParams) {
	var data struct {
		Elicitations []json.RawMessage `json:"elicitations"`
	}
	if jsonrpc.DecodeResult(rpc.Data, &data) != nil {
		return nil
	}
	seen := map[string]bool{}
	for i, raw := range data.Elicitations {
		p := new(mcp.ElicitParams)
		switch err := json.Unmarshal(raw, p); {
		case err != nil || seen[p.ElicitationID] || !isValidURLElicitation(p):
			v.peer.logViolation("skipped a malformed elicitation in an error", "index", i)
		case len(valid) == v.limit:
			v.peer.logViolation("skipped elicitations in an error: too many", "got", len(data.Elicitations), "want", len(valid))
			return valid
		default:
			seen[p.ElicitationID] = true
			valid = append(valid, p)
		}
	}
	return valid
}

func (v *urlElicitations) visit(ctx context.Context, r *request, p *mcp.ElicitParams) (action string, err error) {
	params, err := jsonrpc.EncodeParams(p)
	if err != nil {
		return "", err
	}
	question := map[string]mcp.InputRequest{"": {Method: "elicitation/create", Params: params}}
	answers, err := v.gather(ctx, question, r.info())
	if err != nil {
		return "", err
	}
	var result mcp.ElicitResult
	if err := json.Unmarshal(answers[""], &result); err != nil {
		return "", err
	}
	return result.Action, nil
}

// awaitVisits waits until the server reports that all visits are complete, or the wait is over.
func (v *urlElicitations) awaitVisits(ctx context.Context, waits []<-chan struct{}) error {
	defer bound.From(ctx).Hold()()
	late := time.NewTimer(v.wait)
	defer late.Stop()
	for _, done := range waits {
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

// ElicitationDone returns a channel that is closed when the server reports that the interaction at
// the URL of this elicitation is complete. It is nil, and so never closed, for forms, for
// elicitations without an id, and in revisions other than 2025-11-25. Servers need not report it:
// let the person continue by hand as well.
func ElicitationDone(ctx context.Context) <-chan struct{} {
	done, _ := ctx.Value(doneKey{}).(<-chan struct{})
	return done
}

type doneKey struct{}

// withDone returns a context for the handler of an elicitation. See [ElicitationDone].
func (v *urlElicitations) withDone(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, doneKey{}, v.expect(id))
}

// expect returns a channel that is closed when the elicitation is complete. Beyond the bound
// the oldest is forgotten.
func (v *urlElicitations) expect(id string) <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	if done, ok := v.done[id]; ok {
		return done
	}
	if len(v.ids) >= maxVisits {
		delete(v.done, v.ids[0])
		v.ids = slices.Delete(v.ids, 0, 1)
	}
	if v.done == nil {
		v.done = map[string]chan struct{}{}
	}
	done := make(chan struct{})
	v.done[id], v.ids = done, append(v.ids, id)
	return done
}

// complete closes the channel of the elicitation: "clients MUST ignore notifications
// referencing unknown or already-completed IDs".
func (v *urlElicitations) complete(params json.RawMessage) {
	var p struct {
		ID string `json:"elicitationId"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if done, ok := v.done[p.ID]; ok {
		close(done)
		delete(v.done, p.ID)
		v.ids = slices.DeleteFunc(v.ids, func(id string) bool { return id == p.ID })
	}
}
