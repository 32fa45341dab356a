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
	if a.reportsCompletion(params) {
		ctx = context.WithValue(ctx, doneKey{}, a.visits.expect(params.ElicitationID))
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

// reportsCompletion reports whether the server may notify the client that the person has finished
// at the URL. Only revision 2025-11-25 has that notification.
func (a *answerer) reportsCompletion(p *mcp.ElicitParams) bool {
	hasID := p.ElicitationID != "" && len(p.ElicitationID) <= maxElicitID
	return p.Mode == mcp.ElicitURL && hasID && a.peer.current().has(urlElicitationErrors)
}

// elicitParams decodes and checks an elicitation request.
func (a *answerer) elicitParams(raw json.RawMessage) (*mcp.ElicitParams, error) {
	offered := a.peer.offers.elicitation
	if offered == nil {
		return nil, uninstalledError("elicitation is not available", "Options.Elicitation")
	}
	params := new(mcp.ElicitParams)
	if err := json.Unmarshal(raw, params); err != nil {
		return nil, newRefusal(mcp.CodeInvalidParams, "elicitation: %s", excerpt.Cut(err.Error()))
	}
	if params.Mode == "" {
		params.Mode = mcp.ElicitForm // "clients MUST treat missing mode as form"
	}
	switch {
	case params.Mode == mcp.ElicitForm && offered.Form:
		if _, err := forms.Read(params); err != nil {
			return nil, newRefusal(mcp.CodeInvalidParams, "elicitation: %v", err)
		}
	case params.Mode == mcp.ElicitURL && offered.URL:
		if !inquiry.Visitable(params.URL) {
			a.log.Warn("refused to send a person to a URL that is not a plain web address")
			return nil, newRefusal(mcp.CodeInvalidParams, "elicitation: the URL cannot be visited: want https://host/… or http://host/…, without user info and invisible characters")
		}
	default:
		return nil, newRefusal(mcp.CodeInvalidParams, "elicitation: mode %q was not declared by the client", excerpt.Cut(params.Mode))
	}
	return params, nil
}

// invalidAnswerError is the error of an answer that the host's validator refuses. Error is for the
// person who answers; the server gets RPCError.
type invalidAnswerError struct{ err error }

func (e *invalidAnswerError) Error() string { return "elicitation answer: " + e.err.Error() }

func (e *invalidAnswerError) Unwrap() error { return e.err }

// RPCError returns the error for the server.
func (e *invalidAnswerError) RPCError() *mcp.RPCError {
	return &mcp.RPCError{Code: mcp.CodeInternalError, Message: "the answer does not fit the form"}
}

// newAnswerCheck compiles the schema of a form for the host's validator. The returned function
// checks the content of an answer; it is nil if there is nothing to check.
func (a *answerer) newAnswerCheck(params *mcp.ElicitParams) (func(map[string]any) error, error) {
	if a.validator == nil || params.Mode != mcp.ElicitForm {
		return nil, nil
	}
	check, err := a.validator.Compile(params.RequestedSchema)
	if err != nil {
		return nil, newRefusal(mcp.CodeInvalidParams, "elicitation: requested schema: %s", excerpt.Cut(err.Error()))
	}
	return func(content map[string]any) error {
		raw, err := jsonrpc.Marshal(content)
		if err == nil {
			err = check(raw)
		}
		if _, invalid := errors.AsType[*SchemaViolation](err); invalid {
			return &invalidAnswerError{err}
		}
		if err != nil {
			return fmt.Errorf("elicitation answer: %w", err)
		}
		return nil
	}, nil
}
