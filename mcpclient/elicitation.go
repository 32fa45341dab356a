package mcpclient

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// elicit answers an elicitation request by the host's handler, whose answer it checks and completes.
func (a *answerer) elicit(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
	params, err := a.decodeElicitation(raw)
	if err != nil {
		return nil, err
	}
	checkAnswer, err := a.newAnswerCheck(params)
	if err != nil {
		return nil, err
	}
	answer, err := a.opts.Elicitation.Elicit(a.withDone(ctx, params), params)
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

// decodeElicitation returns the parameters of an elicitation in a mode that the client has
// declared. The error is a refusal.
func (a *answerer) decodeElicitation(raw json.RawMessage) (*mcp.ElicitParams, error) {
	offered := a.offers.elicitation
	if offered == nil {
		return nil, uninstalledError("elicitation is not available", "Options.Elicitation")
	}
	params := new(mcp.ElicitParams)
	if err := json.Unmarshal(raw, params); err != nil {
		return nil, newRefusal(mcp.CodeInvalidParams, "elicitation: %v", err)
	}
	// 2025-11-25 elicitation: "Clients MUST treat requests without a mode field as form mode"
	params.Mode = cmp.Or(params.Mode, mcp.ElicitForm)
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

// ElicitationDone returns a channel that is closed when the server reports that the interaction at
// the URL of this elicitation is complete. It is nil, and so never closed, for forms, for
// elicitations without an id or with one over 1 KiB, and in revisions other than 2025-11-25.
// Servers need not report it, and the client listens for the latest 256 only: let the person
// continue by hand as well.
func ElicitationDone(ctx context.Context) <-chan struct{} {
	done, _ := ctx.Value(doneKey{}).(<-chan struct{})
	return done
}

type doneKey struct{}

// withDone returns the context of an elicitation for its handler, see [ElicitationDone]. Only
// revision 2025-11-25 has ids of elicitations and a notification of their completion.
func (a *answerer) withDone(ctx context.Context, p *mcp.ElicitParams) context.Context {
	if p.Mode != mcp.ElicitURL || !hasElicitationID(p) || !a.current().has(urlElicitationErrors) {
		return ctx
	}
	return context.WithValue(ctx, doneKey{}, a.open.expect(p.ElicitationID))
}

func hasElicitationID(p *mcp.ElicitParams) bool {
	return p.ElicitationID != "" && len(p.ElicitationID) <= maxElicitationID
}

const (
	maxOpenElicitations = 256
	maxElicitationID    = 1 << 10 // bytes
)

// openElicitations are those whose completion the server may still report.
type openElicitations struct {
	mu  sync.Mutex
	all []openElicitation // oldest first
}

type openElicitation struct {
	id   string
	done chan struct{} // closed when it is complete
}

func (e *openElicitations) indexLocked(id string) int {
	return slices.IndexFunc(e.all, func(o openElicitation) bool { return o.id == id })
}

// expect returns a channel that is closed when the elicitation is complete. Beyond
// maxOpenElicitations the oldest is forgotten, and its channel stays open.
func (e *openElicitations) expect(id string) <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if i := e.indexLocked(id); i >= 0 {
		return e.all[i].done
	}
	if len(e.all) >= maxOpenElicitations {
		e.all = slices.Delete(e.all, 0, 1)
	}
	done := make(chan struct{})
	e.all = append(e.all, openElicitation{id, done})
	return done
}

// complete closes the channel of an elicitation, by the notification's parameters: "clients MUST
// ignore notifications referencing unknown or already-completed IDs".
func (e *openElicitations) complete(params json.RawMessage) {
	var p struct {
		ID string `json:"elicitationId"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if i := e.indexLocked(p.ID); i >= 0 {
		close(e.all[i].done)
		e.all = slices.Delete(e.all, i, i+1)
	}
}
