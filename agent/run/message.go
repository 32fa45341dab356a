package run

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Role says who speaks in a [Message].
type Role string

// The roles.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one message of a history. It has all that a provider gave: reasoning with
// its signature, structured results, marks of caches.
type Message struct {
	Role  Role      `json:"role"`
	Parts []Part    `json:"parts,omitempty"`
	Model string    `json:"model,omitzero"` // that wrote it
	At    time.Time `json:"at,omitzero"`

	Unknown jsontext.Value `json:",embed"` // members of a later version
}

// PartType says what a [Part] has. A reader keeps parts of types that it does not know.
type PartType string

// The types of parts.
const (
	PartText      PartType = "text"      // Text
	PartImage     PartType = "image"     // MIMEType with Data or URL
	PartAudio     PartType = "audio"     // MIMEType with Data or URL
	PartFile      PartType = "file"      // MIMEType with Data or URL
	PartReasoning PartType = "reasoning" // Text, and in Provider what the provider wants back
	PartCall      PartType = "call"      // ID, Name, Arguments
	PartResult    PartType = "result"    // ID, Name, Text, Structured, Meta, Media, IsError, Kept
	PartSummary   PartType = "summary"   // Text instead of older messages
)

// Part is a piece of a [Message]. Its type says which members it has.
type Part struct {
	Type PartType `json:"type"`
	Text string   `json:"text,omitzero"`

	MIMEType string `json:"mime_type,omitzero"`
	Data     []byte `json:"data,omitempty"`
	URL      string `json:"url,omitzero"` // where the data is: of the web, or of the host's own store

	ID         string          `json:"id,omitzero"`   // of the call
	Name       string          `json:"name,omitzero"` // of the tool, as the model knows it
	Arguments  string          `json:"arguments,omitzero"`
	Structured json.RawMessage `json:"structured,omitzero"`
	Meta       json.RawMessage `json:"meta,omitzero"` // of the server's result
	Media      []Part          `json:"media,omitempty"`
	IsError    bool            `json:"is_error,omitzero"`
	Kept       *Kept           `json:"kept,omitempty"`  // the whole of a result whose Text is cut
	Tools      []string        `json:"tools,omitempty"` // of a search, with DiscoveryHost: names of tools that the model has from here on

	// Provider has what only one provider understands, by a name of it: signatures of
	// reasoning, marks of its cache.
	Provider map[string]json.RawMessage `json:"provider,omitempty"`

	Unknown jsontext.Value `json:",embed"` // members of a later version
}

// Text is a message of one text.
func Text(role Role, text string) Message {
	return Message{Role: role, Parts: []Part{{Type: PartText, Text: text}}}
}

// Text is the message's text, without reasoning and results.
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

// ReturnedSize is how many bytes of a message only its provider gets back: what is in [Part.Provider], with
// the reasoning that it belongs to.
func (m *Message) ReturnedSize() (size int) {
	for i := range m.Parts {
		p := &m.Parts[i]
		for _, data := range p.Provider {
			size += len(data)
		}
		if p.Type == PartReasoning && len(p.Provider) > 0 {
			size += len(p.Text)
		}
	}
	return size
}
