package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// ElicitationHandler lets a server ask the person something in the middle of a
// call. It is installed by [mcpclient.Options.Elicitation], which also declares the
// capability.
//
// Elicit is called concurrently, at most [mcpclient.Limits.ServerRequests] calls at
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

// Complete is the answer that the server gets when a handler returns r: the
// defaults filled into an accepted form, every value checked and in the type
// that its field has. The error names the field and what it wants. The client
// completes what handlers return; a handler that wants to know beforehand, to
// ask the person again or to record what was sent, calls it too. r is not
// changed.
func (p *ElicitParams) Complete(r *ElicitResult) (*ElicitResult, error) {
	switch r.Action {
	case ElicitDecline, ElicitCancel:
		return &ElicitResult{Action: r.Action}, nil
	case ElicitAccept:
	default:
		return nil, &FormError{fmt.Errorf("action %q, want accept, decline or cancel", excerpt.Cut(r.Action))}
	}
	if p.Mode == ElicitURL {
		return &ElicitResult{Action: r.Action}, nil
	}
	fields, err := p.Fields()
	if err != nil {
		return nil, err
	}
	content, err := fill(fields, r.Content)
	if err != nil {
		return nil, &FormError{err}
	}
	return &ElicitResult{Action: r.Action, Content: content}, nil
}

// Fields reads the form's fields in the order of the server's schema. A schema
// that is not flat, or that has a kind of field unknown to the protocol, is an
// error that names the field. So is one of more than 256 KiB, 200 fields, 1,000
// options in a field, 1 KiB of pattern in a field and 8 KiB in all, or patterns that
// compile to more than 10,000 instructions in a field and 250,000 in all.
func (p *ElicitParams) Fields() ([]*Field, error) {
	fields, err := readForm(p.RequestedSchema)
	if err != nil {
		return nil, fmt.Errorf("requested schema: %w", err)
	}
	return fields, nil
}

// Visitable reports whether a URL of the server is one that a person may be sent
// to. Other schemes run code or reach into the person's machine.
func Visitable(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}
