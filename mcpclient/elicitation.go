package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// elicit answers an elicitation request.
func (a *answerer) elicit(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
	params, err := a.elicitParams(raw)
	if err != nil {
		return nil, err
	}
	if params.Mode == mcp.ElicitURL && params.ElicitationID != "" && len(params.ElicitationID) <= maxElicitID && a.peer.current().has(urlElicitationErrors) {
		ctx = context.WithValue(ctx, doneKey{}, a.visits.expect(params.ElicitationID))
	}
	fits, err := a.formCheck(params)
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
	if complete.Action == mcp.ElicitAccept {
		if err := fits(complete.Content); err != nil {
			return nil, err
		}
	}
	return jsonrpc.Marshal(complete)
}

// elicitParams decodes and checks an elicitation request.
func (a *answerer) elicitParams(raw json.RawMessage) (*mcp.ElicitParams, error) {
	offered := a.peer.offers.elicitation
	if offered == nil {
		return nil, uninstalled("elicitation is not available", "Options.Elicitation")
	}
	params := new(mcp.ElicitParams)
	if err := json.Unmarshal(raw, params); err != nil {
		return nil, refuse(mcp.CodeInvalidParams, "elicitation: %s", excerpt.Cut(err.Error()))
	}
	if params.Mode == "" {
		params.Mode = mcp.ElicitForm // "clients MUST treat missing mode as form"
	}
	switch {
	case params.Mode == mcp.ElicitForm && offered.Form:
		if _, err := forms.Read(params); err != nil {
			return nil, refuse(mcp.CodeInvalidParams, "elicitation: %v", err)
		}
	case params.Mode == mcp.ElicitURL && offered.URL:
		if !inquiry.Visitable(params.URL) {
			a.log.Warn("refused to send a person to a URL that is not a plain web address")
			return nil, refuse(mcp.CodeInvalidParams, "elicitation: the URL cannot be visited: want https://host/… or http://host/…, without user info and invisible characters")
		}
	default:
		return nil, refuse(mcp.CodeInvalidParams, "elicitation: mode %q was not declared by the client", excerpt.Cut(params.Mode))
	}
	return params, nil
}

// misfit is the error of an answer that the host's validator refuses. Its text is written for
// the person.
type misfit struct{ err error }

func (e *misfit) Error() string { return "elicitation answer: " + e.err.Error() }

func (e *misfit) Unwrap() error { return e.err }

// RPCError returns the error for the server.
func (e *misfit) RPCError() *mcp.RPCError {
	return &mcp.RPCError{Code: mcp.CodeInternalError, Message: "the answer does not fit the form"}
}

// formCheck returns the host's validator for the answers to a form.
func (a *answerer) formCheck(params *mcp.ElicitParams) (func(map[string]any) error, error) {
	if a.validator == nil || params.Mode != mcp.ElicitForm {
		return func(map[string]any) error { return nil }, nil
	}
	check, err := a.validator.Compile(params.RequestedSchema)
	if err != nil {
		return nil, refuse(mcp.CodeInvalidParams, "elicitation: requested schema: %s", excerpt.Cut(err.Error()))
	}
	return func(content map[string]any) error {
		raw, err := jsonrpc.Marshal(content)
		if err == nil {
			err = check(raw)
		}
		if _, bad := errors.AsType[*SchemaViolation](err); bad {
			return &misfit{err}
		}
		if err != nil {
			return fmt.Errorf("elicitation answer: %w", err)
		}
		return nil
	}, nil
}
