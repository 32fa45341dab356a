// Package model is the seam between an agent and a language model.
//
// A [Model] gets a [Request], whose messages are those of the run, and gives a [Response], whose parts go
// into the run as they are. So what a provider wants back, such as reasoning with its signature, is kept
// with the run and reaches the provider again, in any process.
//
// Packages openaimodel and anthropicmodel have models of their own; lc.Model makes one of any model of
// langchaingo. The guide is docs/agent.md of the repository.
package model

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/agent/run"
)

// Model generates the next message of a conversation. Its methods may be called concurrently.
type Model interface {
	// Info describes the model. It does no I/O, and always returns the same.
	Info() Info

	// Generate asks the model once. Deltas come as the host sends them; the last one, and no other, has
	// the Reply. An error is the last pair, with an empty Delta: an [*Error] for a failure of the host,
	// or the error of ctx. If the caller stops the iteration, the request ends. A Delta is valid until
	// the next one; the Reply belongs to the caller. Generate may repeat a request that failed before
	// its first delta. It does not change the request, and does not keep it.
	Generate(ctx context.Context, r *Request) iter.Seq2[Delta, error]
}

// Info describes a model.
type Info struct {
	Provider string          // in the words of OpenTelemetry's conventions for generative AI, such as "openai"
	Name     string          // that is asked for
	Endpoint string          // the API that conversations begin at: "chat", "responses" or "messages"; empty: it has only one
	Profile  profile.Profile // by which the schemas of tools are written; empty: [profile.OpenAI]
	Window   int64           // tokens of request and reply; 0: unknown

	// MaxTokens bounds a reply for which the request names no bound. 0: the host's own.
	MaxTokens int

	// Formats reports whether the host holds a reply to a schema, see [Request.Format], in a
	// request with tools or without. Nil: it never does.
	Formats func(tools bool) bool

	// Media reports whether the model takes data of a MIME type in messages of the user and in
	// results. Nil: PNG, JPEG, GIF and WebP images.
	Media func(mimeType string) bool

	// ToolsFirst says that the host reads the tools before all messages and caches what begins alike: a tool that is
	// added to a conversation makes the host read it again.
	ToolsFirst bool

	Whole   bool  // Generate never gives a delta before the reply
	NoTools error // why the model cannot be offered tools; nil: it can
}

// Takes reports whether the model takes data of a MIME type, see [Info.Media].
func (i *Info) Takes(mimeType string) bool {
	if i.Media != nil {
		return i.Media(mimeType)
	}
	switch mimeType {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}

// Request is a conversation, and how its next message is made. Zero fields are the model's defaults.
type Request struct {
	System   string        // instructions; they come before all messages
	Messages []run.Message // the history as it was recorded; only appended to, from request to request

	// Tools are what the model may call; only appended to, while a run lasts. A host that takes definitions in a
	// conversation gets those that a result names (run.Part.Tools) there.
	Tools      []Tool
	Choice     Choice
	ChosenTool string          // the name of the tool that is called, with ChoiceTool
	Format     json.RawMessage // a schema for the text, within the strict subset of OpenAI's structured outputs; nil: any

	MaxTokens   int // of the reply with its reasoning
	Temperature *float64
	Effort      string   // of reasoning: "none", "minimal", "low", …
	Stop        []string // texts that end the reply

	// Stream asks for deltas as they come. Otherwise the only delta is the last one.
	Stream bool

	// Endpoint is the API that the conversation began at, by [Response.Endpoint]. A model that can ask
	// at several continues at this one: what the host wants back is in the form of that API. A
	// model that cannot leaves out what it does not understand. Empty: the conversation begins.
	Endpoint string

	// CacheKey is the same for all requests of a conversation. Hosts that route by it find more of the
	// conversation in their caches. Default: none.
	CacheKey string

	// Kept is where the model keeps what it made of earlier requests of the conversation, for itself alone. The caller
	// passes the same pointer with each of them, one request at a time. Nil: it keeps nothing.
	Kept *any
}

// Tool is a function that the model may call.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON Schema of the arguments, an object
	Strict      bool            // the host shall hold the arguments to the schema, if it can
}

// Choice says whether the model has to call tools.
type Choice int

const (
	ChoiceAuto     Choice = iota // the model decides
	ChoiceNone                   // no call, although the request has tools
	ChoiceRequired               // at least one call
	ChoiceTool                   // a call of the Request's ChosenTool
)

// Delta is a piece of a reply. One of its fields is set.
type Delta struct {
	Text      string
	Reasoning string
	Response  *Response
}

// Response is the message of the model.
type Response struct {
	// Message has the parts in the order of the provider: reasoning, text, calls. Part.Provider has
	// what the provider wants back, by a name of its own. Calls have ids that are unique in the
	// conversation. Message.Model is the host's name for the model.
	Message run.Message

	ID       string    // the host's, for logs
	Endpoint string    // the API that was asked; empty: the one of [Info]
	Finish   string    // why the reply ended: [FinishStop], …, or the host's own word
	Usage    run.Spent // tokens; all 0: the host does not count, or its counts cannot be true
	Warning  string    // what the person should know of how the model was asked; empty: nothing
}

// Why replies end.
const (
	FinishStop    = "stop"           // the model has ended its reply
	FinishCalls   = "tool_calls"     // it waits for results
	FinishLength  = "length"         // [Request.MaxTokens], or the model's own bound
	FinishRefusal = "content_filter" // the host, or the model, refuses
)
