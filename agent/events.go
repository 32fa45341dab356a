package agent

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Event is something that happened in a run: a [*ModelStart], [*ReasoningDelta], [*TextDelta],
// [*ModelEnd], [*ApprovalDecided], [*ToolStart], [*ToolProgress], [*ToolEnd], [*Asked], [*Replied],
// [*Elicited], [*Sampled], [*Compacted], [*Warning], [*TurnEnd], [*Suspended] or [*Output]. There may
// be more in the future, so a switch needs a default.
//
// A turn is one model call and the tool calls that the reply asks for:
//
//	ModelStart ReasoningDelta… TextDelta… ModelEnd
//	  ApprovalDecided …                     one after the other
//	  ToolStart ToolProgress… ToolEnd …     calls overlap
//	    Elicited Sampled                    what servers ask for within a call
//	  Asked Replied …                       questions to a person
//	TurnEnd
//
// After the last turn comes Output, which ends the run, or Suspended if the run waits for a person.
// A run that fails ends with an error; an event that opens something may then lack its end.
//
// An event that belongs to a record is emitted when the record is durable, and [EventInfo] has the
// number of the record. [Agent.Replay] yields these events again, from the position of any event.
//
// Events share memory with the run: do not modify what they point to, unless a field allows it.
type Event interface {
	kind() string

	// Position returns the place of the event in the run, for [Agent.Replay].
	Position() Position

	meta() *EventInfo
}

// EventInfo is where and when an event happened.
type EventInfo struct {
	Run  string    `json:"run"`
	Seq  uint64    `json:"seq"`            // the number of the event's record, or else of the previous event's
	More int       `json:"more,omitempty"` // number of events of that record that follow
	Time time.Time `json:"time"`
	Path []string  `json:"path,omitempty"` // the sub-agents in which it happened, outermost first
}

func (m *EventInfo) meta() *EventInfo { return m }

// Position returns the place of the event in the run.
func (m *EventInfo) Position() Position { return Position{m.Seq, m.More} }

// MarshalEvent returns the JSON of an event: its type, such as "tool_end", and its fields. A question is
// an "ask" there, a reply and an [Output] are an "answer". The names are stable; there is no function that
// reads the JSON.
func MarshalEvent(e Event) ([]byte, error) {
	objects := []any{map[string]string{"type": e.kind()}, e}
	if others := otherMembers(e); others != nil {
		objects = append(objects, others)
	}
	var members [][]byte
	for _, object := range objects {
		data, err := json.Marshal(object)
		if err != nil {
			return nil, err
		}
		if inner := data[1 : len(data)-1]; len(inner) > 0 {
			members = append(members, inner)
		}
	}
	return slices.Concat([]byte("{"), bytes.Join(members, []byte(",")), []byte("}")), nil
}

// otherMembers returns the members of an event's JSON that its fields do not have, nil for none.
func otherMembers(e Event) map[string]any {
	var err error
	switch e := e.(type) {
	case *ApprovalDecided:
		d := e.Decision
		return map[string]any{
			"decision": ledger.Decision{Allow: d.Allow, Reason: d.Reason, Arguments: d.Arguments, Scope: scopeNames[d.Remember]},
		}
	case *Elicited:
		err = e.Err
	case *Sampled:
		err = e.Err
	}
	if err == nil {
		return nil
	}
	return map[string]any{"error": err.Error()}
}

// Call is the tool call that an event belongs to.
type Call struct {
	Turn      int    `json:"turn"`             // starts at 1
	ID        string `json:"id"`               // as in the model's message
	Name      string `json:"name"`             // the tool's name, as the model knows it
	Arguments string `json:"arguments"`        // as sent, or as the model wrote them if the call does not run
	Server    string `json:"server,omitempty"` // the host's label, empty if no tool has that name
	Tool      string `json:"tool,omitempty"`   // the server's name of the tool, empty if no tool has that name
}

// ModelStart begins a model call.
type ModelStart struct {
	EventInfo
	Turn int `json:"turn"`
}

// ReasoningDelta is a piece of the reasoning of a streaming model, as far as its provider shows
// it. Reasoning of the turn's [ModelEnd] may have more, or what an AfterModel hook has made of it.
type ReasoningDelta struct {
	EventInfo
	Text string `json:"text"`
}

// TextDelta is a piece of text of a streaming model. [ModelEnd.Streamed] says whether the pieces of
// a turn make up its Text: an AfterModel hook may have changed that.
type TextDelta struct {
	EventInfo
	Text string `json:"text"`
}

// ModelEnd is the model's complete reply.
type ModelEnd struct {
	EventInfo
	Model        string     `json:"model,omitempty"` // the model that replied; empty if unknown
	Text         string     `json:"text,omitempty"`
	Reasoning    string     `json:"reasoning,omitempty"`   // as far as the provider shows it
	ToolCalls    []run.Part `json:"tool_calls,omitempty"`  // a copy that the caller may modify
	FinishReason string     `json:"stop_reason,omitempty"` // the provider's own word, such as "stop", "tool_calls", "end_turn", "length"
	Usage        run.Usage  `json:"usage"`
	Streamed     bool       `json:"streamed,omitempty"` // all of Text has come as TextDelta
	Window       *WindowUse `json:"window,omitempty"`   // use of the model's window; nil in a replay
}

// ApprovalDecided is the decision of [Person.Approve] or the toolset's function on a call. Calls that
// trust or a remembered decision lets run have no such event.
type ApprovalDecided struct {
	EventInfo
	Call
	Decision approval.Decision `json:"-"` // in [MarshalEvent] as in records, as "decision"
}

// ToolStart begins a tool call. A call that does not run, because its name or arguments are
// wrong, it was denied, or a limit is reached, has only a [ToolEnd].
type ToolStart struct {
	EventInfo
	Call
}

// ToolProgress is a progress notification for a current call.
type ToolProgress struct {
	EventInfo
	Call
	Progress mcp.Progress `json:"progress"`
}

// ToolEnd is the outcome of a call. Every call that the model asks for has exactly one. If an AfterTool
// hook has changed Part, Result has its text, and nothing else that the tool returned.
type ToolEnd struct {
	EventInfo
	Call
	Part     run.Part        `json:"result"`                // as in the history
	Result   *adapter.Result `json:"-"`                     // nil in a replay
	Duration time.Duration   `json:"duration_ns,omitempty"` // zero for a call that did not run
}

// Asked is a new question of the run to a person.
type Asked struct {
	EventInfo
	Question *run.Question `json:"ask"`
}

// Replied is the reply to a question.
type Replied struct {
	EventInfo
	Question *run.Question `json:"ask"`
	Reply    run.Reply     `json:"answer"`
}

// Elicited is a question of a server to the person that was answered during a call: by the handler of its
// client or, for a legacy server without one, by the run. The answer is Result, or Err if the callback
// failed or its context ended. A question that the run stores, see [Person.Hold], is also [Asked] and
// [Replied]; a modern server's question without a handler is only these.
type Elicited struct {
	EventInfo
	Server string            `json:"server"`         // the host's label: show it to the person
	Call   *Call             `json:"call,omitempty"` // the tool call that caused it, nil if that is unknown
	Params *mcp.ElicitParams `json:"params"`
	Result *mcp.ElicitResult `json:"result,omitempty"`
	Err    error             `json:"-"` // in [MarshalEvent] its text, as "error"
}

// Sampled is a server's request for a completion of the program's model, with the answer to the server:
// Result or Err. Usage is zero if the model was not asked.
type Sampled struct {
	EventInfo
	Server string                   `json:"server"`         // the host's label
	Call   *Call                    `json:"call,omitempty"` // the tool call that caused it, nil if that is unknown
	Params *mcp.CreateMessageParams `json:"params"`
	Result *mcp.CreateMessageResult `json:"result,omitempty"`
	Usage  run.Usage                `json:"usage,omitzero"`
	Err    error                    `json:"-"` // in [MarshalEvent] its text, as "error"
}

// TurnEnd ends a turn. Messages is what the turn added to the history: the model's message, and
// one with the results of all calls in order.
type TurnEnd struct {
	EventInfo
	Messages []run.Message `json:"messages"`
}

// Suspended means that the run waits for a person.
type Suspended struct {
	EventInfo
	Questions []*run.Question `json:"asks"`
}

// Compacted means that the oldest messages of the history were replaced.
type Compacted struct {
	EventInfo
	Replaced int `json:"replaced"` // the number of messages removed
}

// Warning is a problem that does not end the run.
type Warning struct {
	EventInfo

	// Text describes the problem, and what helps if something does, for the operator. It is in
	// lower case, without a full stop. It may contain names and words of servers: escape it for a
	// terminal or page.
	Text string `json:"text"`
}

// String returns Text.
func (w *Warning) String() string { return w.Text }

// Output ends a run.
type Output struct {
	EventInfo
	Text         string     `json:"text"`
	StopReason   StopReason `json:"stop_reason"`
	FinishReason string     `json:"finish_reason,omitempty"` // the provider's reason for the end of the last message
}

// The types of events in JSON, see [MarshalEvent].

func (*ModelStart) kind() string      { return "model_start" }
func (*ReasoningDelta) kind() string  { return "reasoning_delta" }
func (*TextDelta) kind() string       { return "text_delta" }
func (*ModelEnd) kind() string        { return "model_end" }
func (*ApprovalDecided) kind() string { return "approval_decided" }
func (*ToolStart) kind() string       { return "tool_start" }
func (*ToolProgress) kind() string    { return "tool_progress" }
func (*ToolEnd) kind() string         { return "tool_end" }
func (*Asked) kind() string           { return "asked" }
func (*Replied) kind() string         { return "answered" }
func (*Elicited) kind() string        { return "elicited" }
func (*Sampled) kind() string         { return "sampled" }
func (*TurnEnd) kind() string         { return "turn_end" }
func (*Suspended) kind() string       { return "suspended" }
func (*Output) kind() string          { return "answer" }
func (*Compacted) kind() string       { return "compacted" }
func (*Warning) kind() string         { return "warning" }
