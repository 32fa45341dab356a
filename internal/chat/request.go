package chat

import (
	"encoding/json"
	"strings"
)

// Request is a conversation and the parameters of its completion.
type Request struct {
	Model    string
	Messages []Message

	Tools      []Tool
	ToolChoice ToolChoice

	MaxTokens        int // tokens of the reply, including its reasoning; 0 for the host's own limit
	Temperature      *float64
	TopP             *float64
	PresencePenalty  *float64
	FrequencyPenalty *float64
	Seed             *int
	ReasoningEffort  string // "none", "minimal", "low", …; empty for the model's default

	// Stop lists stop sequences. The text ends before the first one that occurs, even if
	// the host accepts fewer of them or none. Empty ones are ignored.
	Stop []string

	// ReadToEnd reads a stream to its end even after a stop sequence, because the host reports the
	// usage there. Otherwise the stream is closed, which saves the rest of the reply.
	ReadToEnd bool

	JSON     bool    // the text must be a JSON object
	Format   *Format // the text must be JSON that follows a schema; nil for none
	Metadata map[string]string

	// Endpoint is where the conversation began: "chat" or "responses". Default: by the host and the model, see
	// [Client.Endpoint].
	Endpoint string

	// CacheKey is the same in all requests of a conversation, so that OpenAI finds its cached prompt. It may be empty.
	CacheKey string

	// Memory keeps the extra data that the host sends with tool calls. Users who must not
	// see each other's data need a memory each. Default: the client's own memory.
	Memory *Memory

	// Recorded says that the messages hold everything that the host wants back, so that no memory is used.
	Recorded bool
}

// Format is a schema for the text of a reply. The host enforces it, see [Client.TakesFormats].
type Format struct {
	Name   string          // name for the model
	Schema json.RawMessage // schema in OpenAI's strict subset
}

// Role is the author of a message.
type Role string

// The roles of a conversation.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
)

// Message is one message of a conversation.
type Message struct {
	Role  Role
	Parts []Part

	ToolCalls []ToolCall // calls of an assistant
	Reasoning string     // reasoning of an assistant; sent to hosts that want it back

	// Details is the reasoning in OpenRouter's form, as in [Reply.Details]; nil for none.
	Details json.RawMessage

	// Items are an assistant's message in the order of the Responses API, as in [Reply.Items]; nil for none. That
	// endpoint gets them instead of the other fields.
	Items []Item

	ToolCallID string // id of the call that a tool's message answers

	// Tools names the tools of the request that are offered only after this message, if the host accepts definitions
	// within a conversation.
	Tools []string
}

// Part is a piece of a message. One field is set.
type Part struct {
	Text  string
	Image *Image
	Audio *Audio
	File  *File // only at the Responses API
}

// isMedia reports whether the part is not a text.
func (p Part) isMedia() bool { return p.Image != nil || p.Audio != nil || p.File != nil }

// File is a document by its bytes, or by its URL.
type File struct {
	Name     string
	MIMEType string
	Data     []byte
	URL      string // used if Data is nil
}

// Image is a picture by its bytes, or by its URL.
type Image struct {
	MIMEType string
	Data     []byte
	URL      string // used if Data is nil
	Detail   string // "low", "high", "auto"; empty for the host's default
}

// Audio is a sound by its bytes.
type Audio struct {
	Format string // "wav" or "mp3"
	Data   []byte
}

// AudioFormat returns the API's name for a MIME type of sounds. ok is false if the API does not take it.
func AudioFormat(mimeType string) (format string, ok bool) {
	switch BareType(mimeType) {
	case "audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave":
		return "wav", true
	case "audio/mpeg", "audio/mp3":
		return "mp3", true
	}
	return "", false
}

// ImageType returns the API's form of the MIME type of an image. ok is false if the API does not take it.
func ImageType(mimeType string) (clean string, ok bool) {
	switch t := BareType(mimeType); t {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return t, true
	case "image/jpg":
		return "image/jpeg", true
	}
	return "", false
}

// BareType returns a MIME type in lower case and without its parameters.
func BareType(mimeType string) string {
	t, _, _ := strings.Cut(mimeType, ";")
	return strings.ToLower(strings.TrimSpace(t))
}

// Tool is a function that the model may call.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema of the arguments; nil for none
	Strict      bool            // the host enforces the schema, if it can
}

// Choice is the kind of a [ToolChoice].
type Choice int

// The kinds of a [ToolChoice].
const (
	Auto     Choice = iota // the model decides
	None                   // no call
	Required               // at least one call
	Named                  // a call of one tool
)

// ToolChoice tells the model whether to call tools.
type ToolChoice struct {
	Choice Choice
	Name   string // name of the tool, with Named
}

// ToolCall is a call of a tool by the model.
type ToolCall struct {
	ID   string // never empty in a reply, and unique in its conversation
	Name string

	// Arguments is the model's text, usually a JSON object, but not always valid JSON. Empty means {}.
	Arguments string

	// Extra is data that the host wants back with the call, a JSON object of up to 64 KiB; nil for none. It is sent
	// only to hosts that want it, and not needed if the [Memory] of the request knows the call.
	Extra json.RawMessage
}

// Text returns a message of text.
func Text(role Role, text string) Message {
	return Message{Role: role, Parts: []Part{{Text: text}}}
}
