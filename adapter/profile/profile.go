// Package profile names the dialects of JSON Schema in which the definitions of tools are written
// for models, as each provider or library accepts its own.
//
// The guide is docs/adapter.md of the repository.
package profile

// Profile names a dialect of JSON Schema for the definitions of tools. Package agent chooses it by the model
// (model.Info). Arguments are always validated against the server's own schema, and adapter.Catalog.Prepare undoes what
// a profile changed. The zero value means Plain for a catalog, and OpenAI for a model.
type Profile string

const (
	// Plain keeps the server's schema and completes only its root, as several providers require: it
	// adds a missing type or properties, and removes properties or required that are null.
	Plain Profile = "plain"

	// OpenAI is for OpenAI and compatible APIs. They accept almost all of JSON Schema.
	OpenAI Profile = "openai"

	// OpenAIStrict is for OpenAI's structured outputs, which guarantee that arguments fit the written schema. A schema that
	// cannot be written in their subset is written as for OpenAI, and its tool is not marked strict.
	OpenAIStrict Profile = "openai-strict"

	// Anthropic is for Anthropic's API. It accepts almost all of JSON Schema 2020-12.
	Anthropic Profile = "anthropic"

	// Gemini is the subset of OpenAPI that the Gemini API documents, for programs that call it
	// directly. Parameters are a map[string]any.
	Gemini Profile = "gemini"

	// LlamaCpp is for llama.cpp and programs built on it, such as Ollama and LM Studio: as OpenAI,
	// but bounds and patterns that a grammar cannot express move to the description.
	LlamaCpp Profile = "llamacpp"

	// GoogleAI is for Gemini through langchaingo's packages googleai and vertex, which forward only
	// part of what Gemini accepts. Parameters are a map[string]any.
	GoogleAI Profile = "googleai"
)

// All lists all profiles.
func All() []Profile {
	return []Profile{Plain, OpenAI, OpenAIStrict, Anthropic, Gemini, GoogleAI, LlamaCpp}
}

// Effect describes what a change does to the set of arguments that the schema allows.
type Effect string

const (
	// Same means that the written schema allows the same arguments, possibly in another form, which
	// is decoded before validation.
	Same Effect = "same"

	// Narrower means that the written schema forbids some arguments that the server's schema allows.
	Narrower Effect = "narrower"

	// Wider means that the written schema allows some arguments that the server's schema forbids.
	// Validation still refuses them.
	Wider Effect = "wider"
)

// Change is one difference between a tool's schema and the schema that was written for a profile.
type Change struct {
	Tool    string // the model's name of the tool
	Path    string // a JSON pointer into the server's schema, through its references; names longer than 1 KiB are written as "…"
	Keyword string // the changed keyword; "" for the whole subschema
	Effect  Effect
	Note    string // what was changed
}
