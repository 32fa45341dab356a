package chat

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// Profile describes how a host's API differs from OpenAI's. With only a Name it is the most cautious one: every
// imitation accepts its requests.
type Profile struct {
	Name     string
	Provider string   // its name in OpenTelemetry's conventions for generative AI; Name if empty
	Domains  []string // it is at these domains and their subdomains

	TokenField   string // field for Request.MaxTokens; max_tokens if empty
	SeedField    string // field for the seed; seed if empty
	OpenAIModels bool   // it has OpenAI's models under their ids, so the rules of models.go apply
	Developer    bool   // reasoning models take instructions in the role developer
	Responses    bool   // it also has the Responses API, for OpenAI's models

	Required     requiredChoice
	NamedChoice  bool // tool_choice may be an object that names a tool
	NoneDrops    bool // tool_choice "none" does not work; the tools are left out
	Parallel     bool // parallel_tool_calls must be true to get several calls
	Strict       bool // accepts strict schemas of functions
	Formats      formatSupport
	IDs          idFormat
	BlankContent bool           // an assistant's message with only tool calls has an empty content
	StrictTurns  bool           // a message of the user must not follow one of a tool, and one of the assistant is not the last
	Nameless     bool           // the result of a tool needs no name; gateways to Gemini require one
	JoinText     bool           // several parts of text must be joined
	Reasoning    reasoningField // field in which the host wants the reasoning of earlier messages back; "" if it does not
	Tags         bool           // reasoning may begin the text, within tags: not every server has a parser for its model
	AllReasoning bool           // if one message of the assistant has reasoning, all must have some
	ThinkingOff  bool           // "thinking" turns reasoning off, and not the effort "none"
	FillThoughts bool           // all must have some, even if none has
	EchoExtra    bool           // earlier tool calls need their extra_content
	FillExtra    bool           // an extra_content is sent with the first call of a message that has none

	Schemas   profile.Profile // profile for the parameters of tools; OpenAI's if empty
	AnyVendor bool            // that profile depends on the model's vendor
	Images    imageSupport    // images in messages of the user
	Audio     bool            // accepts sounds in messages of the user, in OpenAI's form
	Metadata  metadataSupport

	Refused        []setting // what is refused, at most maxRefused
	NeedsMaxTokens bool      // a request needs a bound of the reply
	NoStop         bool      // stop sequences are refused
	StreamUsage    bool      // stream_options.include_usage gives the usage of a stream
}

// formatSupport specifies when a host enforces the schema of a Format.
type formatSupport int

const (
	noFormats    formatSupport = iota
	strictModels               // the models of takesFormat enforce it
	withoutTools               // requests without tools, as its grammar does not allow calls
)

// reasoningField is the field of an assistant's message with its reasoning.
type reasoningField string

const (
	reasoningContent reasoningField = "reasoning_content"
	plainReasoning   reasoningField = "reasoning"
	reasoningDetails reasoningField = "reasoning_details" // plainReasoning for a message without details
	thinkingParts    reasoningField = "content"           // a part before that of the text
)

// requiredChoice is the host's value of tool_choice for a required call.
type requiredChoice string

const (
	requiredBySystem requiredChoice = "" // no such value; an instruction asks for the call
	requiredNative   requiredChoice = "required"
	requiredAny      requiredChoice = "any"
)

// idFormat specifies which ids of tool calls a host accepts.
type idFormat int

const (
	anyID   idFormat = iota // up to 256 bytes
	plainID                 // up to 40 of [A-Za-z0-9_-]
	shortID                 // 9 of [A-Za-z0-9]
)

// imageSupport specifies which images a host accepts.
type imageSupport int

const (
	noImages  imageSupport = iota
	imageData              // images by their bytes
	anyImages              // images by a URL, too; the host fetches it
)

// metadataSupport specifies when a host accepts metadata.
type metadataSupport int

const (
	noMetadata     metadataSupport = iota
	storedMetadata                 // only with "store": true
	anyMetadata
)

// setting is a field of a request with a value: an effort, a number, or nil for any.
type setting struct {
	field string
	value any
}

const maxRefused = 16 // settings per model; the oldest are forgotten

const completionTokens = "max_completion_tokens"

// profiles returns the profiles of the known hosts. The first one is for unknown hosts.
func profiles() []Profile {
	return []Profile{
		{Name: "compatible", Provider: "openai", AnyVendor: true, Required: requiredNative, Reasoning: reasoningContent, Tags: true, StreamUsage: true,
			Images: anyImages, Audio: true, Metadata: anyMetadata},
		{Name: "openai", Domains: []string{"api.openai.com"},
			Responses: true, Nameless: true, TokenField: completionTokens, OpenAIModels: true, Developer: true,
			Required: requiredNative, NamedChoice: true, Strict: true, Formats: strictModels, IDs: plainID, StreamUsage: true,
			Images: anyImages, Audio: true, Metadata: storedMetadata},
		{Name: "azure", Provider: "azure.ai.openai",
			Domains:   []string{"openai.azure.com", "services.ai.azure.com", "cognitiveservices.azure.com"},
			Responses: true, Nameless: true, TokenField: completionTokens, OpenAIModels: true, Developer: true,
			Required: requiredNative, NamedChoice: true, Strict: true, Formats: strictModels, IDs: plainID, StreamUsage: true,
			Images: anyImages, Audio: true, Metadata: storedMetadata},
		// Ollama ignores max_completion_tokens, tool_choice and metadata.
		{Name: "ollama", Domains: []string{"ollama.com"}, Formats: withoutTools, Schemas: profile.LlamaCpp, NoneDrops: true,
			Reasoning: plainReasoning, Tags: true, StreamUsage: true, Images: imageData},
		{Name: "vllm", Formats: withoutTools, Required: requiredNative, NamedChoice: true,
			Reasoning: reasoningContent, Tags: true, StreamUsage: true, Images: anyImages, Audio: true},
		{Name: "llamacpp", Formats: withoutTools, Schemas: profile.LlamaCpp, Required: requiredNative, Parallel: true,
			Reasoning: reasoningContent, Tags: true, StreamUsage: true, Images: anyImages, Audio: true},
		{Name: "lmstudio", Formats: withoutTools, Schemas: profile.LlamaCpp, Required: requiredNative,
			Reasoning: reasoningContent, Tags: true, StreamUsage: true, Images: imageData},
		{Name: "openrouter", Domains: []string{"openrouter.ai"},
			Formats: withoutTools, OpenAIModels: true, AnyVendor: true, Required: requiredNative, NamedChoice: true, IDs: plainID,
			Reasoning: reasoningDetails, EchoExtra: true, Tags: true, StreamUsage: true, Images: anyImages, Audio: true, Metadata: anyMetadata},
		{Name: "groq", Domains: []string{"api.groq.com"}, Formats: withoutTools, Nameless: true, TokenField: completionTokens,
			Required: requiredNative, NamedChoice: true, Tags: true, StreamUsage: true, Images: anyImages},
		{Name: "together", Domains: []string{"api.together.xyz", "api.together.ai"},
			Formats: withoutTools, Required: requiredNative, NamedChoice: true, Tags: true, StreamUsage: true, Images: anyImages, Audio: true},
		{Name: "gemini", Provider: "gcp.gemini", Domains: []string{"generativelanguage.googleapis.com", "aiplatform.googleapis.com"},
			Formats: withoutTools, Schemas: profile.Gemini, Required: requiredNative, NamedChoice: true, EchoExtra: true,
			StreamUsage: true, Images: anyImages, Audio: true},
		// Mistral: with "none" the text is garbled; usage needs no request; sounds have another form.
		{Name: "mistral", Provider: "mistral_ai", Domains: []string{"api.mistral.ai"},
			Formats: withoutTools, Required: requiredAny, NamedChoice: true, NoneDrops: true, IDs: shortID,
			StrictTurns: true, Reasoning: thinkingParts, SeedField: "random_seed", Images: anyImages, Metadata: anyMetadata},
		{Name: "deepseek", Domains: []string{"api.deepseek.com"}, Required: requiredNative, NamedChoice: true, BlankContent: true,
			JoinText: true, Reasoning: reasoningContent, AllReasoning: true, ThinkingOff: true, StreamUsage: true},
		// Moonshot wants types in alternatives and not beside them, and has no tuples.
		{Name: "moonshot", Provider: "moonshot_ai", Domains: []string{"api.moonshot.ai", "api.moonshot.cn"},
			Schemas: profile.Gemini, BlankContent: true, Reasoning: reasoningContent, AllReasoning: true, ThinkingOff: true,
			StreamUsage: true, Images: imageData},
	}
}

// Hosts lists the names of the known hosts.
func Hosts() []string {
	var names []string
	for _, p := range profiles() {
		names = append(names, p.Name)
	}
	return names
}

// findProfile returns the profile of a host.
func findProfile(name string) (Profile, error) {
	for _, p := range profiles() {
		if p.Name == name {
			return p, nil
		}
	}
	return Profile{}, fmt.Errorf("unknown host %q; use one of %s", excerpt.Cut(name), strings.Join(Hosts(), ", "))
}

// tokenField returns the name of the field for the bound of a reply.
func (p *Profile) tokenField() string { return cmp.Or(p.TokenField, "max_tokens") }

// hasRefused reports whether the host has refused a setting.
func (p *Profile) hasRefused(s setting) bool {
	return slices.Contains(p.Refused, s) || slices.Contains(p.Refused, setting{s.field, nil})
}

// stops returns the stop sequences to send to the host.
func (p *Profile) stops(all []string) []string {
	if p.NoStop {
		return nil
	}
	return all[:min(4, len(all))]
}

// schemas returns the profile for the schemas of the tools of a model.
func (p *Profile) schemas(model string) profile.Profile {
	model = strings.ToLower(model)
	switch {
	case p.AnyVendor && strings.Contains(model, "claude"):
		return profile.Anthropic
	case p.AnyVendor && (strings.Contains(model, "gemini") || strings.Contains(model, "kimi")):
		return profile.Gemini
	}
	return cmp.Or(p.Schemas, profile.OpenAI)
}

// Host returns the host's kind of API, as in [Options].
func (c *Client) Host() string { return c.profile.Name }

// Provider returns the host's name in OpenTelemetry's conventions for generative AI, or else its own.
func (c *Client) Provider() string { return cmp.Or(c.profile.Provider, c.profile.Name) }

// EchoesReasoning reports whether the host wants Message.Reasoning or Message.Details back.
func (c *Client) EchoesReasoning() bool { return c.profile.Reasoning != "" }

// TakesImages reports whether the host accepts images, at least as bytes.
func (c *Client) TakesImages() bool { return c.profile.Images != noImages }

// TakesAudio reports whether the host accepts sounds.
func (c *Client) TakesAudio() bool { return c.profile.Audio }

// TakesFormats reports whether the host enforces the schema of a [Format] for a model, in requests with or without
// tools.
func (c *Client) TakesFormats(model string, tools bool) bool {
	switch c.profile.Formats {
	case strictModels:
		return takesFormat(model)
	case withoutTools:
		return !tools
	}
	return false
}

// CheckMetadata returns an error if the host does not accept metadata in requests.
func (c *Client) CheckMetadata() error {
	switch c.profile.Metadata {
	case noMetadata:
		return fmt.Errorf("host %s takes no metadata", c.profile.Name)
	case storedMetadata:
		if string(bytes.TrimSpace(c.extra["store"])) != "true" {
			return fmt.Errorf(`host %s takes metadata only for completions that it stores; set the extra field "store": true`,
				c.profile.Name)
		}
	}
	return nil
}

// Schemas returns the profile for the schemas of tools of a model at this host.
func (c *Client) Schemas(model string) profile.Profile { return c.profile.schemas(model) }
