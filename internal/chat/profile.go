package chat

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/schema/rewrite"
)

// Profile describes a host's differences from OpenAI's API. The zero value,
// except for Name, is the most cautious: every imitation understands it.
type Profile struct {
	Name string

	TokenField   string // field for Request.MaxTokens; max_tokens if empty
	SeedField    string // field for the seed; seed if empty
	OpenAIModels bool   // model ids are those of OpenAI's models, so models.go applies
	Developer    bool   // reasoning models take instructions in the role developer
	Responses    bool   // it has the Responses API, too, for OpenAI's models

	Required     requiredWord
	NamedChoice  bool // tool_choice takes an object that names a tool
	NoneDrops    bool // tool_choice "none" does not work; the tools are left out
	Parallel     bool // parallel_tool_calls must be true to get several calls
	Strict       bool // takes strict schemas of functions
	Formats      formatRule
	IDs          idRule
	EmptyContent emptyContent   // content of an assistant's message with only tool calls
	BridgeTools  bool           // a user may not speak right after a tool
	Nameless     bool           // the answer of a tool needs no name; gateways to Gemini want one
	JoinText     bool           // text in several parts is refused
	Reasoning    reasoningField // field in which it wants the reasoning of an assistant's message back; none if empty
	AllReasoning bool           // once a message of the assistant has reasoning, all need some
	EchoExtra    bool           // tool calls that are sent again need their extra_content

	Schemas   rewrite.Target // dialect of the parameters of tools; OpenAI's if empty
	AnyVendor bool           // the model's vendor decides on that dialect
	Images    imageRule      // images that a user may send
	Audio     bool           // takes sounds of a user, in OpenAI's form
	Metadata  metadataRule

	MaxStop     int  // most stop sequences; 4 if 0, none if negative
	StreamUsage bool // stream_options.include_usage gives the usage of a stream
}

// formatRule tells when a host enforces the schema of a Format.
type formatRule int

const (
	noFormats    formatRule = iota
	strictModels            // for the models of formatModels
	withoutTools            // by a grammar, which does not allow calls
)

// reasoningField is the field of an assistant's message with its reasoning.
type reasoningField string

const (
	reasoningContent reasoningField = "reasoning_content"
	plainReasoning   reasoningField = "reasoning"
	reasoningDetails reasoningField = "reasoning_details" // or plainReasoning for a message without details
)

// requiredWord is the host's tool_choice for a required call.
type requiredWord string

const (
	requiredBySystem requiredWord = "" // no such word; an instruction asks for the call
	requiredNative   requiredWord = "required"
	requiredAny      requiredWord = "any"
)

// idRule tells which ids of tool calls a host accepts.
type idRule int

const (
	anyID   idRule = iota // up to 256 bytes
	plainID               // up to 40 of [A-Za-z0-9_-]
	shortID               // 9 of [A-Za-z0-9]
)

// emptyContent is the JSON for an assistant's missing text.
type emptyContent int

const (
	omitContent emptyContent = iota
	blankContent
	nullContent
)

// imageRule tells which images a host takes.
type imageRule int

const (
	noImages  imageRule = iota
	imageData           // images by their bytes
	anyImages           // also by a URL; the host fetches it
)

// metadataRule tells when a host takes metadata.
type metadataRule int

const (
	noMetadata     metadataRule = iota
	storedMetadata              // only with "store": true
	anyMetadata
)

const completionTokens = "max_completion_tokens"

// profiles are the known hosts. The first profile is for unknown hosts.
func profiles() []Profile {
	return []Profile{
		{Name: "compatible", AnyVendor: true, Required: requiredNative, Reasoning: reasoningContent, StreamUsage: true,
			Images: anyImages, Audio: true, Metadata: anyMetadata},
		{Name: "openai", Responses: true, Nameless: true, TokenField: completionTokens, OpenAIModels: true, Developer: true,
			Required: requiredNative, NamedChoice: true, Strict: true, Formats: strictModels, IDs: plainID, StreamUsage: true,
			Images: anyImages, Audio: true, Metadata: storedMetadata},
		{Name: "azure", Responses: true, Nameless: true, TokenField: completionTokens, OpenAIModels: true, Developer: true,
			Required: requiredNative, NamedChoice: true, Strict: true, Formats: strictModels, IDs: plainID, StreamUsage: true,
			Images: anyImages, Audio: true, Metadata: storedMetadata},
		// Ollama ignores max_completion_tokens, tool_choice and metadata.
		{Name: "ollama", Formats: withoutTools, Schemas: rewrite.LlamaCpp, NoneDrops: true, Reasoning: plainReasoning, StreamUsage: true, Images: imageData},
		{Name: "vllm", Formats: withoutTools, Required: requiredNative, NamedChoice: true, Reasoning: reasoningContent, StreamUsage: true,
			Images: anyImages, Audio: true},
		{Name: "llamacpp", Formats: withoutTools, Schemas: rewrite.LlamaCpp, Required: requiredNative, Parallel: true, Reasoning: reasoningContent, StreamUsage: true,
			Images: anyImages, Audio: true},
		{Name: "lmstudio", Formats: withoutTools, Schemas: rewrite.LlamaCpp, Required: requiredNative, Reasoning: reasoningContent, StreamUsage: true, Images: imageData},
		{Name: "openrouter", Formats: withoutTools, OpenAIModels: true, AnyVendor: true, Required: requiredNative, NamedChoice: true,
			IDs: plainID, Reasoning: reasoningDetails, EchoExtra: true, StreamUsage: true, Images: anyImages, Audio: true, Metadata: anyMetadata},
		{Name: "groq", Formats: withoutTools, Nameless: true, TokenField: completionTokens, Required: requiredNative, NamedChoice: true, StreamUsage: true,
			Images: anyImages},
		{Name: "together", Formats: withoutTools, Required: requiredNative, NamedChoice: true, StreamUsage: true,
			Images: anyImages, Audio: true},
		{Name: "gemini", Formats: withoutTools, Schemas: rewrite.Gemini, Required: requiredNative, NamedChoice: true, EchoExtra: true, StreamUsage: true,
			Images: anyImages, Audio: true},
		// Mistral: with "none" the text is garbled; usage needs no request; sounds
		// have another form.
		{Name: "mistral", Formats: withoutTools, Required: requiredAny, NamedChoice: true, NoneDrops: true,
			IDs: shortID, BridgeTools: true, SeedField: "random_seed", Images: anyImages, Metadata: anyMetadata},
		{Name: "deepseek", Required: requiredNative, NamedChoice: true, EmptyContent: blankContent,
			JoinText: true, Reasoning: reasoningContent, AllReasoning: true, StreamUsage: true},
		// Moonshot wants types in alternatives and not beside them, and has no tuples.
		{Name: "moonshot", Schemas: rewrite.Gemini, EmptyContent: blankContent, Reasoning: reasoningContent, AllReasoning: true, StreamUsage: true, Images: imageData},
	}
}

// Host is the name of the host's kind of API.
func (c *Client) Host() string { return c.profile.Name }

// WantsDataBack reports whether the host wants data back that it sent with its messages:
// Message.Reasoning, Message.Details, or ToolCall.Extra.
func (c *Client) WantsDataBack() bool { return c.profile.Reasoning != "" || c.profile.EchoExtra }

// EchoesReasoning reports whether the host wants Message.Reasoning or Message.Details back.
func (c *Client) EchoesReasoning() bool { return c.profile.Reasoning != "" }

// TakesImages reports whether the host takes images, by their bytes at least.
func (c *Client) TakesImages() bool { return c.profile.Images != noImages }

// TakesAudio reports whether the host takes sounds.
func (c *Client) TakesAudio() bool { return c.profile.Audio }

// TakesFormats reports whether the host enforces the schema of a [Format] for a model, in requests with
// tools or without.
func (c *Client) TakesFormats(model string, tools bool) bool {
	switch c.profile.Formats {
	case strictModels:
		return takesFormat(model)
	case withoutTools:
		return !tools
	}
	return false
}

// CheckMetadata returns an error if the host does not take metadata in requests.
func (c *Client) CheckMetadata() error {
	switch c.profile.Metadata {
	case noMetadata:
		return fmt.Errorf("host %s takes no metadata", c.profile.Name)
	case storedMetadata:
		if string(bytes.TrimSpace(c.extra["store"])) != "true" {
			return fmt.Errorf(`host %s takes metadata only for completions that it stores; set the extra field "store": true`, c.profile.Name)
		}
	}
	return nil
}

// Hosts lists the names of the known hosts.
func Hosts() []string {
	var names []string
	for _, p := range profiles() {
		names = append(names, p.Name)
	}
	return names
}

// profileNamed finds a host by its name in the table.
func profileNamed(name string) (Profile, error) {
	for _, p := range profiles() {
		if p.Name == name {
			return p, nil
		}
	}
	return Profile{}, fmt.Errorf("host %q is not known; want one of %s", excerpt.Cut(name), strings.Join(Hosts(), ", "))
}

// detect returns the name of the profile for a configuration.
func detect(cfg *openai.ClientConfig) (string, error) {
	base, err := url.Parse(cfg.BaseURL)
	switch {
	case err != nil: // the error's text would quote the URL
		return "", errors.New("the base URL is malformed")
	case base.Scheme != "http" && base.Scheme != "https", base.Host == "":
		return "", fmt.Errorf("the base URL %q is not an http URL with a host", excerpt.Cut(bareURL(base)))
	}
	switch cfg.APIType {
	case openai.APITypeAzure, openai.APITypeAzureAD, openai.APITypeCloudflareAzure:
		return "azure", nil
	case openai.APITypeAnthropic:
		return "", fmt.Errorf("API type %s sends no credentials; use Anthropic's OpenAI-compatible URL with type %s",
			cfg.APIType, openai.APITypeOpenAI)
	}
	host := strings.ToLower(base.Hostname())
	for _, h := range hostNames() {
		if host == h.domain || strings.HasSuffix(host, "."+h.domain) {
			return h.profile, nil
		}
	}
	switch {
	case base.Port() == "11434":
		return "ollama", nil
	case base.Port() == "1234" && loopback(host):
		return "lmstudio", nil
	}
	return "compatible", nil
}

type hostName struct{ domain, profile string }

func hostNames() []hostName {
	return []hostName{
		{"api.openai.com", "openai"},
		{"openai.azure.com", "azure"},
		{"services.ai.azure.com", "azure"},
		{"cognitiveservices.azure.com", "azure"},
		{"openrouter.ai", "openrouter"},
		{"api.groq.com", "groq"},
		{"api.together.xyz", "together"},
		{"api.together.ai", "together"},
		{"generativelanguage.googleapis.com", "gemini"},
		{"aiplatform.googleapis.com", "gemini"},
		{"api.mistral.ai", "mistral"},
		{"api.deepseek.com", "deepseek"},
		{"api.moonshot.ai", "moonshot"},
		{"api.moonshot.cn", "moonshot"},
		{"ollama.com", "ollama"},
	}
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// stops are the stop sequences to send to the host.
func (p *Profile) stops(all []string) []string {
	limit := p.MaxStop
	if limit == 0 {
		limit = 4
	}
	return all[:max(0, min(limit, len(all)))]
}

// Schemas is the dialect of JSON Schema that a model at this host wants for the
// parameters of tools.
func (c *Client) Schemas(model string) rewrite.Target { return c.profile.schemas(model) }

func (p *Profile) schemas(model string) rewrite.Target {
	model = strings.ToLower(model)
	switch {
	case p.AnyVendor && strings.Contains(model, "claude"):
		return rewrite.Anthropic
	case p.AnyVendor && (strings.Contains(model, "gemini") || strings.Contains(model, "kimi")):
		return rewrite.Gemini
	}
	return cmp.Or(p.Schemas, rewrite.OpenAI)
}
