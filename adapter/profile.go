package adapter

import (
	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/internal/schema/rewrite"
)

// Profile says for which provider the schemas of tools are written. Arguments
// are validated by the schema as the server wrote it whatever the profile; what
// a profile must write differently is turned back by [Catalog.Prepare]. The zero
// value is Plain.
type Profile string

const (
	// ProfilePlain is the schema as the server wrote it. A root that has no type or no
	// properties gets them, and null in their place or that of required is taken
	// out, because several providers refuse it otherwise.
	ProfilePlain Profile = "plain"

	// ProfileOpenAI is for OpenAI and what is compatible with it. It takes almost all
	// of JSON Schema.
	ProfileOpenAI Profile = "openai"

	// ProfileOpenAIStrict is for OpenAI's structured outputs, which guarantee that
	// arguments fit. A schema that cannot be written in their subset without
	// loss is written as for OpenAI, and its tool is not marked strict.
	ProfileOpenAIStrict Profile = "openai-strict"

	// ProfileAnthropic takes almost all of JSON Schema 2020-12.
	ProfileAnthropic Profile = "anthropic"

	// ProfileGemini is the subset of OpenAPI that the Gemini API documents. Parameters
	// are a map[string]any.
	ProfileGemini Profile = "gemini"

	// ProfileLlamaCpp is for llama.cpp and what is built on it, Ollama and LM Studio among them: as OpenAI,
	// without bounds and patterns that no grammar has. The description has these.
	ProfileLlamaCpp Profile = "llamacpp"

	// ProfileGoogleAI is for langchaingo's googleai and vertex providers, which pass on
	// to Gemini a part of its subset. Parameters are a map[string]any.
	ProfileGoogleAI Profile = "googleai"
)

// Profiles lists all profiles.
func Profiles() []Profile {
	return []Profile{ProfilePlain, ProfileOpenAI, ProfileOpenAIStrict, ProfileAnthropic, ProfileGemini, ProfileGoogleAI, ProfileLlamaCpp}
}

// SchemaChange is one difference between a tool's schema and what a profile made
// of it.
type SchemaChange struct {
	Tool    string // the model's name of the tool
	Path    string // a JSON pointer into the server's schema, through its references; "…" for names beyond 1 KiB
	Keyword string // that the change is about, "" for the subschema as a whole

	// Effect is what the change does to the arguments that a model is held to: "same", in other words or in a form that is
	// turned back before validation; "narrower", without some that the server would take; "wider", not held to something
	// that validation holds it to.
	Effect string

	Note string // what was done
}

// definitions describe tools to a model by one profile.
type definitions struct {
	tools   []llms.Tool
	wrapped []bool // of each tool: the model is asked for its wrapper
	changes []SchemaChange
}

// define writes the definitions of tools.
func define(all []*Tool, p Profile) *definitions {
	d := &definitions{tools: make([]llms.Tool, len(all)), wrapped: make([]bool, len(all))}
	rooms := map[*policy]*rewrite.Room{} // by server
	for i, tool := range all {
		if rooms[tool.policy] == nil {
			rooms[tool.policy] = &rewrite.Room{}
		}
		written := tool.input.For(rewrite.Target(p), rooms[tool.policy])
		function := &llms.FunctionDefinition{
			Name: tool.name, Description: tool.summary(), Parameters: written.Parameters, Strict: written.Strict,
		}
		if p == ProfileGemini || p == ProfileGoogleAI {
			function.Parameters = written.Root
		}
		d.tools[i] = llms.Tool{Type: "function", Function: function}
		d.wrapped[i] = written.Wrapped
		for _, c := range written.Changes {
			d.changes = append(d.changes, SchemaChange{Tool: tool.name, Path: c.Path, Keyword: c.Keyword, Effect: c.Effect.String(), Note: c.Note})
		}
	}
	return d
}
