package chat

import (
	"encoding/json"
	"strings"
)

// Request is a conversation and what is wanted of the model.
type Request struct {
	Model    string
	Messages []Message

	Tools      []Tool
	ToolChoice ToolChoice

	// OneChance makes it an error at once when the model does not call a tool
	// that it must call. Otherwise it is asked a second time, except in a stream.
	OneChance bool

	// ParallelToolCalls allows or forbids several calls in one reply. Default
	// nil: what the host does by itself, or true where it must be asked.
	ParallelToolCalls *bool

	MaxTokens        int // of the reply, reasoning included; 0 for the host's own bound
	Temperature      *float64
	TopP             *float64
	PresencePenalty  *float64
	FrequencyPenalty *float64
	Seed             *int
	ReasoningEffort  string // "none", "minimal", "low", …; empty for the model's default

	// Stop ends the text before the first of these. They hold also where the
	// host knows fewer, or none. Empty ones are ignored.
	Stop []string

	// ToEnd has a stream read to its end also after one of Stop, since the host
	// tells the usage there. Otherwise it is left, and what the model would still
	// have written is saved.
	ToEnd bool

	JSON     bool // the text is to be a JSON object
	Metadata map[string]string

	// Memory keeps what the host says beside tool calls and wants back with them.
	// Requests of parties that must learn nothing of each other have one each.
	// Default: the client's own.
	Memory *Memory
}

// Role says whose message it is.
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

	ToolCalls []ToolCall // of an assistant
	Reasoning string     // of an assistant; sent to hosts that want it back

	ToolCallID string // of a tool's answer
}

// Part is a piece of a message: an image, a sound, or else text.
type Part struct {
	Text  string
	Image *Image
	Audio *Audio
}

// Image is a picture by its bytes, or by its URL.
type Image struct {
	MIMEType string
	Data     []byte
	URL      string // used when Data is nil
	Detail   string // "low", "high", "auto"; empty for the host's default
}

// Audio is a sound by its bytes.
type Audio struct {
	Format string // "wav" or "mp3"
	Data   []byte
}

// AudioFormat returns the format that goes by a MIME type, false for one that
// the API does not take.
func AudioFormat(mimeType string) (format string, ok bool) {
	switch bareType(mimeType) {
	case "audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave":
		return "wav", true
	case "audio/mpeg", "audio/mp3":
		return "mp3", true
	}
	return "", false
}

// ImageType returns the MIME type under which the API takes an image, false for
// images that it does not take.
func ImageType(mimeType string) (clean string, ok bool) {
	switch t := bareType(mimeType); t {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return t, true
	case "image/jpg":
		return "image/jpeg", true
	}
	return "", false
}

// bareType is a MIME type in lower case and without parameters.
func bareType(mimeType string) string {
	t, _, _ := strings.Cut(mimeType, ";")
	return strings.ToLower(strings.TrimSpace(t))
}

// Tool is a function that the model may call.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema of the arguments; nil for none
	Strict      bool            // arguments must follow the schema, where the host can
}

// Choice says whether the model calls tools.
type Choice int

// What [ToolChoice] can demand.
const (
	Auto     Choice = iota // as the model likes
	None                   // no call
	Required               // at least one call
	Named                  // a call of one tool
)

// ToolChoice says whether the model calls tools.
type ToolChoice struct {
	Choice Choice
	Name   string // of the tool, with Named
}

// ToolCall is a model's wish to call a tool.
type ToolCall struct {
	ID   string // never empty in a reply, and unique in its conversation
	Name string

	// Arguments are JSON as the model wrote it, usually an object; the model may
	// have written something that is not JSON. Empty means {}.
	Arguments string

	// Extra is what the host said beside the call and wants back with it, a JSON
	// object of up to 64 KiB; nil for nothing. It goes to hosts that want it, and
	// is needed only where the [Memory] of the request does not know the call.
	Extra json.RawMessage
}

// Text makes a message of text.
func Text(role Role, text string) Message {
	return Message{Role: role, Parts: []Part{{Text: text}}}
}
