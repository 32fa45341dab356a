package run

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Role is the author of a [Message].
type Role string

const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one message of a history. It keeps all that the provider sent: reasoning with its
// signature, structured results, cache markers.
type Message struct {
	Role  Role      `json:"role"`
	Parts []Part    `json:"parts,omitempty"`
	Model string    `json:"model,omitzero"` // the model that wrote it
	At    time.Time `json:"at,omitzero"`

	Unknown jsontext.Value `json:",embed"` // members of a later version
}

// PartType is the type of a [Part]. Readers keep parts of unknown types.
type PartType string

// The types of parts, with the fields that they use.
const (
	PartText      PartType = "text"      // Text
	PartImage     PartType = "image"     // MIMEType with Data or URL
	PartAudio     PartType = "audio"     // MIMEType with Data or URL
	PartFile      PartType = "file"      // MIMEType with Data or URL
	PartReasoning PartType = "reasoning" // Text, and in Provider what the provider needs back
	PartCall      PartType = "call"      // ID, Name, Arguments
	PartResult    PartType = "result"    // ID, Name, Text, Structured, Meta, Media, IsError, Kept, Tools
	PartSummary   PartType = "summary"   // Text that replaces older messages
)

// Part is a piece of a [Message]. Type says which fields it uses.
type Part struct {
	Type PartType `json:"type"`
	Text string   `json:"text,omitzero"`

	MIMEType string `json:"mime_type,omitzero"`
	Data     []byte `json:"data,omitempty"`
	URL      string `json:"url,omitzero"` // where the data is: on the web or in the program's own store

	ID         string          `json:"id,omitzero"`   // the call's ID
	Name       string          `json:"name,omitzero"` // the tool's name, as the model knows it
	Arguments  string          `json:"arguments,omitzero"`
	Structured json.RawMessage `json:"structured,omitzero"`
	Meta       json.RawMessage `json:"meta,omitzero"` // _meta of the server's result
	Media      []Part          `json:"media,omitempty"`
	IsError    bool            `json:"is_error,omitzero"`
	Kept       *Kept           `json:"kept,omitempty"` // the full result, if Text is shortened

	// Tools are the tools that the model has from now on, in the result of a search with
	// agent.DiscoveryProvider.
	Tools []string `json:"tools,omitempty"`

	// Provider has data that only one provider understands, such as the signature of reasoning, by a key of
	// the package that reads it.
	Provider map[string]json.RawMessage `json:"provider,omitempty"`

	Unknown jsontext.Value `json:",embed"` // members of a later version
}

// Text returns a message with one text part.
func Text(role Role, text string) Message {
	return Message{Role: role, Parts: []Part{{Type: PartText, Text: text}}}
}

// Text returns the message's text, without reasoning or results.
func (m Message) Text() string {
	if len(m.Parts) == 1 && m.Parts[0].Type == PartText {
		return m.Parts[0].Text
	}
	var b strings.Builder
	for _, p := range m.Parts {
		if p.Type == PartText || p.Type == PartSummary {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// Kept describes a result that is stored beside the records of its run.
type Kept struct {
	Handle string `json:"handle"` // the name of the blob
	Tool   string `json:"tool,omitzero"`
	Kind   string `json:"kind"`           // "json" or "text"
	Shape  string `json:"shape,omitzero"` // the top level of JSON, in words
	Size   int    `json:"size"`           // bytes
	Digest string `json:"digest"`         // SHA-256 of the bytes, in hexadecimal

	Unknown jsontext.Value `json:",embed"` // members of a later version
}
