package mcp

import (
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// CompletionRef names what an argument belongs to: see [PromptRef] and
// [TemplateRef].
type CompletionRef struct {
	kind string
	name string
}

// PromptRef refers to the prompt called name.
func PromptRef(name string) CompletionRef { return CompletionRef{"ref/prompt", name} }

// TemplateRef refers to a resource template, by [ResourceTemplate.URITemplate].
func TemplateRef(uriTemplate string) CompletionRef {
	return CompletionRef{"ref/resource", uriTemplate}
}

// String is the name of the prompt, or the template.
func (r CompletionRef) String() string { return r.name }

// MarshalJSON implements [json.Marshaler].
func (r CompletionRef) MarshalJSON() ([]byte, error) {
	wire := struct {
		Type string `json:"type"`
		Name string `json:"name,omitempty"`
		URI  string `json:"uri,omitempty"`
	}{Type: r.kind}
	if r.kind == "ref/prompt" {
		wire.Name = r.name
	} else {
		wire.URI = r.name
	}
	return jsonrpc.Marshal(wire)
}

// CompleteParams asks for completions of an argument.
type CompleteParams struct {
	Ref      CompletionRef
	Argument string // the name of the argument
	Value    string // what was typed of it so far

	// Filled holds the arguments that are known already. It is sent since
	// revision 2025-06-18; earlier servers complete without it.
	Filled map[string]string
}

// Completion is a server's proposals for the value of an argument.
type Completion struct {
	Values  []string // the best first, at most 100
	Total   *int     // of all that there are; nil when the server does not say
	HasMore bool     // there are more than Values
}
