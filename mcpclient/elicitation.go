package mcpclient

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// ElicitationHandler lets a server ask the person something in the middle of a
// call. It is installed by [Options.Elicitation], which also declares the
// capability.
//
// Elicit is called concurrently, at most [Limits.ServerRequests] calls at
// once. Its context ends when the server cancels, when the call that caused
// the request ends, or when the client closes; [OriginFrom] tells who asks, and
// a person must be told so. The answer to a form is completed with defaults and
// checked against the requested schema before it is sent; of one that does not
// fit, the server learns only that, and Options.Logger what is wrong with it: a
// handler learns that from [ElicitParams.Complete]. Errors reach the server as those of a
// [SamplingHandler] do.
//
// A URL must be shown in full, opened only on the person's consent, never
// fetched, and never answered by a model.
type ElicitationHandler interface {
	Elicit(ctx context.Context, params *ElicitParams) (*ElicitResult, error)
}

// ElicitationFunc is a function as an [ElicitationHandler] for forms.
type ElicitationFunc func(ctx context.Context, params *ElicitParams) (*ElicitResult, error)

// Elicit calls f.
func (f ElicitationFunc) Elicit(ctx context.Context, params *ElicitParams) (*ElicitResult, error) {
	return f(ctx, params)
}

// ElicitationCapability says which modes an [ElicitationHandler] takes. A
// handler that implements
//
//	ElicitationCapability() ElicitationCapability
//
// is asked once, when the client connects; others take forms only.
type ElicitationCapability struct {
	Form bool
	URL  bool // since revision 2025-11-25
}

// The modes of an elicitation.
const (
	ElicitForm = "form"
	ElicitURL  = "url"
)

// ElicitParams is a server's question to the person.
type ElicitParams struct {
	Mode    string `json:"mode"` // ElicitForm or ElicitURL; never empty when a handler gets it
	Message string `json:"message"`

	// RequestedSchema describes the form: a flat JSON Schema, which
	// [ElicitParams.Fields] reads.
	RequestedSchema json.RawMessage `json:"requestedSchema,omitempty"`

	URL           string          `json:"url,omitempty"`           // begins with https:// or http://
	ElicitationID string          `json:"elicitationId,omitempty"` // revision 2025-11-25 only
	Meta          json.RawMessage `json:"_meta,omitempty"`
}

// The actions that answer an elicitation.
const (
	ElicitAccept  = "accept"
	ElicitDecline = "decline" // an explicit no
	ElicitCancel  = "cancel"  // dismissed without a choice
)

// ElicitResult is the person's answer. Content goes with an accepted form only:
// strings, numbers, booleans and lists of strings by field name. For a URL,
// accept means consent to open it, not that what it leads to is done.
type ElicitResult struct {
	Action  string         `json:"action"`
	Content map[string]any `json:"content,omitzero"`
}

// elicit answers an elicitation.
func (c *Client) elicit(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
	if c.offers.elicitation == nil {
		return nil, uninstalled("elicitation is not available", "Options.Elicitation")
	}
	params := new(ElicitParams)
	if err := json.Unmarshal(raw, params); err != nil {
		return nil, refuse(CodeInvalidParams, "elicitation: %s", excerpt.Cut(err.Error()))
	}
	if params.Mode == "" {
		params.Mode = ElicitForm // "clients MUST treat missing mode as form"
	}
	offered := c.offers.elicitation
	if (params.Mode != ElicitForm || !offered.Form) && (params.Mode != ElicitURL || !offered.URL) {
		return nil, refuse(CodeInvalidParams, "elicitation: mode %q was not declared by the client", excerpt.Cut(params.Mode))
	}
	if params.Mode == ElicitForm {
		if _, err := params.Fields(); err != nil {
			return nil, refuse(CodeInvalidParams, "elicitation: %v", err)
		}
	} else if !visitable(params.URL) {
		c.log.Warn("refused to send a person to what is no web address")
		return nil, refuse(CodeInvalidParams, "elicitation: the URL is none to visit: want https://host/… or http://host/…")
	}
	if params.Mode == ElicitURL && params.ElicitationID != "" && len(params.ElicitationID) <= maxElicitID && c.current().has(urlElicitationErrors) {
		ctx = context.WithValue(ctx, doneKey{}, c.unasked.get().visits.expect(params.ElicitationID))
	}
	fits, err := c.formCheck(params)
	if err != nil {
		return nil, err
	}
	result, err := c.opts.Elicitation.Elicit(ctx, params)
	if err == nil && result == nil {
		err = errors.New("the elicitation handler returned neither a result nor an error")
	}
	if err == nil {
		result, err = params.Complete(result)
	}
	if err == nil && result.Action == ElicitAccept {
		err = fits(result.Content)
	}
	if err != nil {
		return nil, err
	}
	return jsonrpc.Marshal(result)
}

// formCheck is what the host's validator thinks of the answers to a form.
func (c *Client) formCheck(params *ElicitParams) (func(map[string]any) error, error) {
	if c.opts.Schemas.Validator == nil || params.Mode != ElicitForm {
		return func(map[string]any) error { return nil }, nil
	}
	check, err := c.opts.Schemas.Validator.Compile(params.RequestedSchema)
	if err != nil {
		return nil, refuse(CodeInvalidParams, "elicitation: requested schema: %s", excerpt.Cut(err.Error()))
	}
	return func(content map[string]any) error {
		raw, err := jsonrpc.Marshal(content)
		if err == nil {
			err = check(raw)
		}
		if err != nil {
			return &misfitError{err}
		}
		return nil
	}, nil
}

func elicitationCapability(h ElicitationHandler) ElicitationCapability {
	if h, ok := h.(interface {
		ElicitationCapability() ElicitationCapability
	}); ok {
		return h.ElicitationCapability()
	}
	return ElicitationCapability{Form: true}
}
