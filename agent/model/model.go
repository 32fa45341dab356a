// Package model defines the interface between an agent and a language model.
//
// A [Model] gets a [Request], which has the messages of the run, and returns a [Response], whose
// parts are added to the run unchanged. So data that a provider wants back, such as reasoning with
// its signature, is stored with the run and reaches the provider again, in any process.
//
// Packages openaimodel and anthropicmodel implement models; lc.Model adapts any model of
// langchaingo. The guide is docs/agent.md of the repository.
package model

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/agent/run"
)

// Model generates the next message of a conversation. Its methods may be called concurrently.
type Model interface {
	// Info describes the model. It does no I/O, and always returns the same description.
	Info() Info

	// Generate asks the model once. It yields deltas as the provider sends them; only the last one
	// has the Response. An error is the last pair, with an empty Delta: an [*Error] for a failure
	// of the provider, or the error of ctx. A sequence without either is a model that gave no
	// reply. If the caller stops the iteration, the request is cancelled. A Delta is valid until
	// the next one; the Response belongs to the caller. Generate may repeat a request that failed
	// before its first delta. It does not change the request, and does not keep it.
	Generate(ctx context.Context, r *Request) iter.Seq2[Delta, error]
}

// Info describes a model.
type Info struct {
	Provider   string          // by OpenTelemetry's conventions for generative AI, such as "openai"
	Name       string          // the model's name in requests
	OtherNames []string        // names of further models that may reply instead
	Endpoint   string          // the API at which conversations begin: "chat", "responses" or "messages"; empty: there is only one
	Profile    profile.Profile // for the schemas of tools; empty: [profile.OpenAI]
	Window     int64           // tokens of request and reply; 0: unknown

	// MaxTokens bounds a reply if the request sets neither a bound nor an effort. 0: the provider's own.
	MaxTokens int

	// Formats reports whether the provider enforces a schema for the reply, see [Request.Format],
	// in a request with tools or without. Nil: never.
	Formats func(tools bool) bool

	// Media reports whether the model accepts media of a MIME type, in messages of the user and in
	// results. Nil: PNG, JPEG, GIF and WebP images.
	Media func(mimeType string) bool

	// ToolsFirst is true if the provider reads the tools before all messages and caches common
	// beginnings: adding a tool makes it read the complete conversation again.
	ToolsFirst bool

	NoStreaming bool  // Generate never yields a delta before the response
	ToolsErr    error // why the model cannot be offered tools; nil: it can
}

// Request is a conversation, and the settings for its next message. Zero fields are the model's
// defaults.
type Request struct {
	System   string        // instructions; they come before all messages
	Messages []run.Message // the history as it was recorded, which only grows until it is compacted; at times a message follows that is not recorded

	// Tools are the functions that the model may call. Later requests of a run keep their order, append
	// to them, and leave out those that no longer exist. A request for the final answer may have fewer,
	// and a hook may change all of them. If the provider accepts definitions within a conversation, it
	// gets the tools that a result names (run.Part.Tools) there.
	Tools      []Tool
	ToolChoice Choice
	ToolName   string          // with ChoiceTool, the name of the tool to call
	Format     json.RawMessage // a schema for the text, within the strict subset of OpenAI's structured outputs; nil: any text

	MaxTokens   int // the bound of the reply, including its reasoning
	Temperature *float64
	Effort      string   // how much to reason: "none", "minimal", "low", …
	Stop        []string // strings that end the reply

	// Stream asks for deltas as they arrive. Otherwise the only delta is the last one.
	Stream bool

	// Endpoint is the API at which the conversation began, by [Response.Endpoint]. A model with
	// several APIs continues at this one, because data that the provider wants back has its form.
	// Other models leave out what they do not understand. Empty: the conversation begins.
	Endpoint string

	// CacheKey is the same for all requests of a conversation. Providers that route by it have more
	// cache hits. Default: none.
	CacheKey string

	// Scratch points to memory of the model for this conversation, as a Model serves many. The caller
	// passes the same pointer with each request of the conversation, one at a time, and does not use
	// the value. Nil: the model remembers nothing.
	Scratch *any
}

// Tool is a function that the model may call.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON Schema of the arguments, an object
	Strict      bool            // the provider should enforce the schema, if it can
}

// Choice specifies whether the model must call tools.
type Choice int

const (
	ChoiceAuto     Choice = iota // the model decides
	ChoiceNone                   // no call, although the request has tools
	ChoiceRequired               // at least one call
	ChoiceTool                   // a call of the Request's ToolName
)

// Delta is a piece of a reply. Exactly one of its fields is set, and none in the pair of an error.
type Delta struct {
	Text      string
	Reasoning string
	Response  *Response
}

// Response is the message of the model.
type Response struct {
	// Message has the parts in the order of the provider: reasoning, text, calls. Part.Provider has
	// the data that the provider wants back. A call without an id, or with an id that the conversation
	// has already, gets a new one from the agent. Message.Model is the provider's name for the model.
	Message run.Message

	ID       string    // the provider's id, for logs
	Endpoint string    // the API that was asked; empty: the one of [Info]
	Finish   string    // why the reply ended: [FinishStop], …, or the provider's own reason
	Usage    run.Usage // tokens; all 0: the provider does not count, or its counts cannot be true
	Warning  string    // what a person should know about the request, such as an option that was left out; usually empty
}

// The reasons for the end of a reply.
const (
	FinishStop    = "stop"           // the reply is complete
	FinishCalls   = "tool_calls"     // the model waits for results
	FinishLength  = "length"         // [Request.MaxTokens], or the model's own bound, was reached
	FinishRefusal = "content_filter" // the provider or the model refused; the message may be empty
)

// Error is a failure of a model's provider. Its text contains no credentials, and at most 1 KiB of
// the provider's text.
type Error struct {
	Kind       ErrorKind
	RetryAfter time.Duration // wait that the provider asked for; 0: none
	Retried    bool          // the model has already repeated the request as often as its options allow

	// Window is the most that a request may have and Prompt the length of this one, both in tokens, as
	// the provider reported them with [ErrorTooLong]; 0: unknown. Window is the model's context window,
	// or what the account may send in a minute.
	Window, Prompt int64

	Err error // the failure itself; never nil
}

// Error returns the text of Err.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// ErrorKind is the kind of failure of an [Error]. 0 is any other kind. Runs record the numbers.
type ErrorKind int

// The kinds of failures.
const (
	ErrorRateLimit   ErrorKind = iota + 1 // too many requests, or the provider is overloaded
	ErrorUnavailable                      // no connection, or a failure of the provider
	ErrorTimeout                          // no answer in time; the provider may have worked, and charge for it
	ErrorAuth                             // the key is refused, or has no quota
	ErrorNotFound                         // the provider has no such model or endpoint
	ErrorTooLong                          // the request does not fit the window, or is too large for the provider or a minute of the account
	ErrorRefused                          // the content of the request is refused, or an answer
	ErrorInvalid                          // the request is wrong, and would fail again
)
