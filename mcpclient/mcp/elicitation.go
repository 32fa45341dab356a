package mcp

import (
	"context"
	"encoding/json"
)

// ElicitationHandler lets a server ask the person something in the middle of a call.
// mcpclient.Options.Elicitation installs it and declares the capability.
//
// Elicit is called concurrently, at most mcpclient.Limits.ServerRequests calls at once. Its context ends if the server
// cancels, if the call behind the request ends, or if the client closes; [OriginFrom] names the server, and a person
// must see that name. The answer to a form is completed with defaults and checked against the requested schema before
// it is sent; a handler can check with forms.Complete. An answer that does not fit is an error: a legacy server learns
// only that, and Options.Logger gets the mistake. [SamplingHandler] says what becomes of errors.
//
// A URL must be shown in full, opened only on the person's consent, never fetched, and never answered by a model.
type ElicitationHandler interface {
	Elicit(ctx context.Context, params *ElicitParams) (*ElicitResult, error)
}

// ElicitationFunc is a function as an [ElicitationHandler] for forms.
type ElicitationFunc func(ctx context.Context, params *ElicitParams) (*ElicitResult, error)

// Elicit calls f.
func (f ElicitationFunc) Elicit(ctx context.Context, params *ElicitParams) (*ElicitResult, error) {
	return f(ctx, params)
}

// ElicitationCapability specifies which modes an [ElicitationHandler] takes. A handler that implements
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

	// RequestedSchema describes the form: a flat JSON Schema, which forms.Fields reads.
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

// ElicitResult is the person's answer. Content goes with an accepted form only: strings, numbers, booleans and lists of
// strings by field name. For a URL, accept means consent to open it, not that what it leads to is done.
type ElicitResult struct {
	Action  string         `json:"action"`
	Content map[string]any `json:"content,omitzero"`
}
