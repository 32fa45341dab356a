// Package profile names for which providers the schemas of tools are written, as each takes a subset of JSON Schema of its own.
//
// The guide is docs/adapter.md of the repository.
package profile

// Profile says for which provider the schemas of tools are written. Arguments
// are validated by the schema as the server wrote it whatever the profile; what
// a profile must write differently is turned back when a call is prepared (adapter.Catalog.Prepare). The zero
// value is Plain.
type Profile string

const (
	// Plain is the schema as the server wrote it. A root that has no type or no
	// properties gets them, and null in their place or that of required is taken
	// out, because several providers refuse it otherwise.
	Plain Profile = "plain"

	// OpenAI is for OpenAI and what is compatible with it. It takes almost all
	// of JSON Schema.
	OpenAI Profile = "openai"

	// OpenAIStrict is for OpenAI's structured outputs, which guarantee that
	// arguments fit. A schema that cannot be written in their subset without
	// loss is written as for OpenAI, and its tool is not marked strict.
	OpenAIStrict Profile = "openai-strict"

	// Anthropic takes almost all of JSON Schema 2020-12.
	Anthropic Profile = "anthropic"

	// Gemini is the subset of OpenAPI that the Gemini API documents. Parameters
	// are a map[string]any.
	Gemini Profile = "gemini"

	// LlamaCpp is for llama.cpp and what is built on it, Ollama and LM Studio among them: as OpenAI,
	// without bounds and patterns that no grammar has. The description has these.
	LlamaCpp Profile = "llamacpp"

	// GoogleAI is for langchaingo's googleai and vertex providers, which pass on
	// to Gemini a part of its subset. Parameters are a map[string]any.
	GoogleAI Profile = "googleai"
)

// All lists all profiles.
func All() []Profile {
	return []Profile{Plain, OpenAI, OpenAIStrict, Anthropic, Gemini, GoogleAI, LlamaCpp}
}

// Change is one difference between a tool's schema and what a profile made
// of it.
type Change struct {
	Tool    string // the model's name of the tool
	Path    string // a JSON pointer into the server's schema, through its references; "…" for names beyond 1 KiB
	Keyword string // that the change is about, "" for the subschema as a whole

	// Effect is what the change does to the arguments that a model is held to: "same", in other words or in a form that is
	// turned back before validation; "narrower", without some that the server would take; "wider", not held to something
	// that validation holds it to.
	Effect string

	Note string // what was done
}
