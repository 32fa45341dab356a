package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// SamplingHandler lets a server borrow the client's model. It is installed by
// mcpclient.Options.Sampling, which also declares the capability.
//
// CreateMessage is called concurrently, at most mcpclient.Limits.ServerRequests
// calls at once. Its context ends when the server cancels, when the call that
// caused the request ends, or when the client closes; [OriginFrom] tells who
// asks.
//
// An [*RPCError], returned as such, is the answer, and so is that of an error
// which has one for servers: a method RPCError() *RPCError. [ErrRejected],
// wrapped or not, says that the person refused; the server gets code -1. Any
// other error, an RPCError that is wrapped in one included, is code -32603 to
// the server without its text, which goes to mcpclient.Options.Logger: it may be about
// what does not concern the server.
//
// Revision 2026-07-28 deprecates sampling; it works in both eras.
type SamplingHandler interface {
	CreateMessage(ctx context.Context, params *CreateMessageParams) (*CreateMessageResult, error)
}

// SamplingFunc is a function as a [SamplingHandler].
type SamplingFunc func(ctx context.Context, params *CreateMessageParams) (*CreateMessageResult, error)

// CreateMessage calls f.
func (f SamplingFunc) CreateMessage(ctx context.Context, params *CreateMessageParams) (*CreateMessageResult, error) {
	return f(ctx, params)
}

// SamplingCapability says what a [SamplingHandler] takes beyond plain
// messages. A handler that implements
//
//	SamplingCapability() SamplingCapability
//
// is asked once, when the client connects.
type SamplingCapability struct {
	Tools   bool // tools and toolChoice in requests, since revision 2025-11-25
	Context bool // includeContext other than "none"
}

// CreateMessageParams is a server's request for a completion.
type CreateMessageParams struct {
	Messages         []SamplingMessage `json:"messages"`
	ModelPreferences *ModelPreferences `json:"modelPreferences,omitempty"`
	SystemPrompt     string            `json:"systemPrompt,omitempty"`
	IncludeContext   string            `json:"includeContext,omitempty"` // "none", "thisServer", "allServers"
	Temperature      *float64          `json:"temperature,omitempty"`
	MaxTokens        int64             `json:"maxTokens"` // 0 of servers that leave it to the client
	StopSequences    []string          `json:"stopSequences,omitempty"`
	Metadata         json.RawMessage   `json:"metadata,omitempty"`
	Tools            []*Tool           `json:"tools,omitempty"`
	ToolChoice       *ToolChoice       `json:"toolChoice,omitempty"`
	Meta             json.RawMessage   `json:"_meta,omitempty"`
}

// SamplingMessage is one message of a sampling request.
type SamplingMessage struct {
	Role    string // "user" or "assistant"
	Content []Content
	Meta    json.RawMessage
}

// ModelPreferences help to choose a model. Hints come first, in order, each a
// part of a model's name; the priorities go from 0 to 1.
type ModelPreferences struct {
	Hints                []ModelHint `json:"hints,omitempty"`
	CostPriority         *float64    `json:"costPriority,omitempty"`
	SpeedPriority        *float64    `json:"speedPriority,omitempty"`
	IntelligencePriority *float64    `json:"intelligencePriority,omitempty"`
}

// ModelHint is a part of a model's name.
type ModelHint struct {
	Name string `json:"name,omitempty"`
}

// ToolChoice tells if the model may, must or must not use tools.
type ToolChoice struct {
	Mode string `json:"mode,omitempty"` // "auto", "required", "none"; "" is auto
}

// CreateMessageResult is the model's answer. Content of several blocks, and tool
// uses, reach only servers that know them (since revision 2025-11-25); for older
// ones text blocks are joined into one, and what they cannot read is an internal
// error to them.
type CreateMessageResult struct {
	Role       string // "assistant" when empty
	Content    []Content
	Model      string // the model that answered
	StopReason string // "endTurn", "stopSequence", "maxTokens", "toolUse", or the model's own word
	Meta       json.RawMessage
}

type samplingMessageWire struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Meta    json.RawMessage `json:"_meta,omitempty"`
}

// UnmarshalJSON implements [json.Unmarshaler].
func (m *SamplingMessage) UnmarshalJSON(data []byte) error {
	var w samplingMessageWire
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	content, err := decodeContents(w.Content, maxContentDepth)
	if err != nil {
		return err
	}
	m.Role, m.Content, m.Meta = w.Role, content, w.Meta
	return nil
}

// MarshalJSON implements [json.Marshaler].
func (m SamplingMessage) MarshalJSON() ([]byte, error) {
	content, err := encodeSamplingContent(m.Content)
	if err != nil {
		return nil, err
	}
	return jsonrpc.Marshal(samplingMessageWire{Role: m.Role, Content: content, Meta: m.Meta})
}

// MarshalJSON implements [json.Marshaler].
func (r *CreateMessageResult) MarshalJSON() ([]byte, error) {
	content, err := encodeSamplingContent(r.Content)
	if err != nil {
		return nil, err
	}
	role := r.Role
	if role == "" {
		role = "assistant"
	}
	return jsonrpc.Marshal(struct {
		Role       string          `json:"role"`
		Content    json.RawMessage `json:"content"`
		Model      string          `json:"model"` // which every revision demands
		StopReason string          `json:"stopReason,omitempty"`
		Meta       json.RawMessage `json:"_meta,omitempty"`
	}{role, content, r.Model, r.StopReason, r.Meta})
}

// encodeSamplingContent writes one block alone, as every revision reads it,
// and several as an array.
func encodeSamplingContent(blocks []Content) (json.RawMessage, error) {
	switch len(blocks) {
	case 0:
		return jsonrpc.Marshal(&TextContent{})
	case 1:
		return jsonrpc.Marshal(blocks[0])
	}
	return jsonrpc.Marshal(blocks)
}

// SingleBlock makes the result one for servers that read one block: text, an image
// or, where they know it, audio. Several blocks of text are joined. The
// result is not changed; one that no such block can have is an error.
func (r *CreateMessageResult) SingleBlock(audio bool) (*CreateMessageResult, error) {
	switch len(r.Content) {
	case 0:
		return r, nil
	case 1:
		known := false
		switch r.Content[0].(type) {
		case *TextContent, *ImageContent:
			known = true
		case *AudioContent:
			known = audio
		}
		if !known {
			return nil, fmt.Errorf("the server's revision has no answer with a %T", r.Content[0])
		}
		return r, nil
	}
	var texts []string
	for _, c := range r.Content {
		t, ok := c.(*TextContent)
		if !ok {
			return nil, fmt.Errorf("the server's revision takes one content block, the answer has %d, among them a %T", len(r.Content), c)
		}
		texts = append(texts, t.Text)
	}
	out := *r
	out.Content = []Content{&TextContent{Text: strings.Join(texts, "\n")}}
	return &out, nil
}

// CheckMessages reports the first breach of the ordering rules for tool uses
// and tool results: a user message with a tool result holds nothing else, and
// every assistant message with tool uses is followed at once by the results of
// exactly those.
func (p *CreateMessageParams) CheckMessages() error {
	var open map[string]bool
	for i, m := range p.Messages {
		if m.Role != "user" && m.Role != "assistant" {
			return fmt.Errorf("message %d: role %q is neither user nor assistant", i, excerpt.Cut(m.Role))
		}
		results, others := 0, 0
		uses := map[string]bool{}
		for _, c := range m.Content {
			switch c := c.(type) {
			case *ToolResultContent:
				results++
				if m.Role != "user" {
					return fmt.Errorf("message %d: tool result in an %s message", i, m.Role)
				}
				if !open[c.ToolUseID] {
					return fmt.Errorf("message %d: tool result for %q, which no tool use before it awaits", i, excerpt.Cut(c.ToolUseID))
				}
				delete(open, c.ToolUseID)
			case *ToolUseContent:
				others++
				if m.Role != "assistant" {
					return fmt.Errorf("message %d: tool use in a %s message", i, m.Role)
				}
				if uses[c.ID] {
					return fmt.Errorf("message %d: tool use id %q twice", i, excerpt.Cut(c.ID))
				}
				uses[c.ID] = true
			default:
				others++
			}
		}
		if results > 0 && others > 0 {
			return fmt.Errorf("message %d: tool results are mixed with other content", i)
		}
		if len(open) > 0 {
			return fmt.Errorf("message %d: %d tool uses before it have no result", i, len(open))
		}
		open = uses
	}
	if len(open) > 0 {
		return fmt.Errorf("%d tool uses have no result", len(open))
	}
	return nil
}
