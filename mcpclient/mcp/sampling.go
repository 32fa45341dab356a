package mcp

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// SamplingHandler lets a server use the client's model. mcpclient.Options.Sampling installs it
// and declares the capability.
//
// CreateMessage is called concurrently, at most mcpclient.Limits.ServerRequests calls at once. Its
// context ends when the server cancels, when the call that caused the request ends, or when the
// client closes; [OriginFrom] names the server that asks.
//
// A legacy server gets an error as its answer: an [*RPCError] that is returned unwrapped, or what a method RPCError()
// *RPCError of an error returns; code -1 for [ErrRejected], wrapped or not, which says that the person refused; for any
// other error, including one that wraps an RPCError, code -32603 without a text. The text may not concern the server;
// it goes to mcpclient.Options.Logger. A modern server gets no answer: the call during which it asked fails, with an
// error that quotes the handler's and matches ErrRejected if that does.
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

// SamplingCapability specifies what a [SamplingHandler] takes beyond plain messages. A handler that implements
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
	MaxTokens        int64             `json:"maxTokens"` // 0 if the server leaves it to the client
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

// ToolChoice says whether the model may, must or must not use tools.
type ToolChoice struct {
	Mode string `json:"mode,omitempty"` // "auto", "required", "none"; "" is auto
}

// CreateMessageResult is the model's answer. Content of several blocks, and tool uses, reach only
// servers that know them (since revision 2025-11-25); for older ones text blocks are joined into
// one, and what they cannot read is an internal error to them.
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

func (m SamplingMessage) MarshalJSON() ([]byte, error) {
	content, err := encodeSamplingContent(m.Content)
	if err != nil {
		return nil, err
	}
	return jsonrpc.Marshal(samplingMessageWire{Role: m.Role, Content: content, Meta: m.Meta})
}

func (r *CreateMessageResult) MarshalJSON() ([]byte, error) {
	content, err := encodeSamplingContent(r.Content)
	if err != nil {
		return nil, err
	}
	return jsonrpc.Marshal(struct {
		Role       string          `json:"role"`
		Content    json.RawMessage `json:"content"`
		Model      string          `json:"model"` // every revision requires it
		StopReason string          `json:"stopReason,omitempty"`
		Meta       json.RawMessage `json:"_meta,omitempty"`
	}{cmp.Or(r.Role, "assistant"), content, r.Model, r.StopReason, r.Meta})
}

// encodeSamplingContent writes one block alone, as every revision reads it, and several as an array.
func encodeSamplingContent(blocks []Content) (json.RawMessage, error) {
	switch len(blocks) {
	case 0:
		return jsonrpc.Marshal(&TextContent{})
	case 1:
		return jsonrpc.Marshal(blocks[0])
	}
	return jsonrpc.Marshal(blocks)
}
