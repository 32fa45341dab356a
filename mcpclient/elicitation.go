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
