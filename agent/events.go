package agent

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Event is something that happened in a run. The members are [*ModelStart],
// [*ReasoningDelta], [*TextDelta], [*ModelEnd], [*ApprovalAsked], [*ApprovalDecided],
// [*ToolStart], [*ToolProgress], [*ToolEnd], [*Asked], [*ReplyStart], [*ReplyEnd],
// [*Replied], [*ElicitationStart], [*ElicitationEnd], [*SamplingStart], [*SamplingEnd],
// [*ServerLost], [*Compacted], [*Warning], [*TurnEnd], [*Suspended] and [*Output]; more may come, so a switch
// needs a default.
//
// A turn is one call of the model and the tool calls that it asks for:
//
//	ModelStart ReasoningDelta… TextDelta… ModelEnd
//	  ApprovalAsked ApprovalDecided …                 one after the other
//	  ToolStart ToolProgress… ToolEnd …               calls run side by side
//	    ElicitationStart ElicitationEnd               within a call
//	    SamplingStart SamplingEnd
//	  Asked ReplyStart ReplyEnd Replied …             questions to a person
//	TurnEnd
//
// The last turn is followed by Output, which ends the run; a run that waits for a person
// ends its events with Suspended instead. A run that fails ends with an error, and then
// an event that opened something may stay without its end.
//
// An event of a record comes out when the record is durable, and [Meta] has its number.
// [Agent.Replay] gives such events again, from the position of any event.
//
// Events are shared with the run: do not change what they point to.
type Event interface {
	kind() string

	// Position is where the event stands in the run, for [Agent.Replay].
	Position() Position

	meta() *Meta
}

// Meta says where and when an event happened.
type Meta struct {
	Run  string    `json:"run"`
	Seq  uint64    `json:"seq"`            // of the event's own record; without one, of the record of the last event before
	More int       `json:"more,omitempty"` // how many events of that record follow
	Time time.Time `json:"time"`
	Path []string  `json:"path,omitempty"` // the sub-agents that it happened in, outermost first
}

func (m *Meta) meta() *Meta { return m }

// Position is where the event stands in the run.
func (m *Meta) Position() Position { return Position{m.Seq, m.More} }

// Position is a place among the events of a run: after an event with that Seq and More. The
// zero value is the beginning.
type Position struct {
	Seq  uint64 `json:"seq"`
	More int    `json:"more,omitempty"`
}

// String is the position as one word, such as "17" or "17.2": the id of a server-sent event.
func (p Position) String() string {
	if p.More == 0 {
		return strconv.FormatUint(p.Seq, 10)
	}
	return fmt.Sprintf("%d.%d", p.Seq, p.More)
}

// ParsePosition reads what [Position.String] wrote, such as a Last-Event-ID. An empty text is the
// beginning.
func ParsePosition(text string) (Position, error) {
	if text == "" {
		return Position{}, nil
	}
	seq, more, found := strings.Cut(text, ".")
	n, err := strconv.ParseUint(seq, 10, 64)
	var m uint64
	if err == nil && found {
		m, err = strconv.ParseUint(more, 10, 31)
	}
	if p := (Position{n, int(m)}); err == nil && p.String() == text {
		return p, nil
	}
	return Position{}, fmt.Errorf("position %.100q: want a text such as \"17\" or \"17.2\"", text)
}

// Before reports whether an event at q comes after the position.
func (p Position) Before(q Position) bool {
	return p.Seq < q.Seq || p.Seq == q.Seq && p.More > q.More
}

// TypeOf is the name of an event in JSON, such as "tool_end".
func TypeOf(e Event) string { return e.kind() }

// MarshalEvent writes an event as JSON: its members and its type.
func MarshalEvent(e Event) ([]byte, error) {
	data, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	head, err := json.Marshal(map[string]string{"type": e.kind()})
	if err != nil {
		return nil, err
	}
	return append(append(head[:len(head)-1], ','), data[1:]...), nil
}

// Call is the tool call that an event is about.
type Call struct {
	Turn      int    `json:"turn"`             // from 1
	ID        string `json:"id"`               // of the call, as in the model's message
	Name      string `json:"name"`             // of the tool, as the model knows it
	Arguments string `json:"arguments"`        // as they are sent, or as the model wrote them if the call does not run
	Server    string `json:"server,omitempty"` // the host's label, empty when no tool has that name
	Tool      string `json:"tool,omitempty"`   // the server's own name of the tool, empty when no tool has that name
}

// ModelStart says that the model is being called.
type ModelStart struct {
	Meta
	Turn  int    `json:"turn"`
	Model string `json:"model,omitempty"` // that is asked for; may be empty

	// Final says that the model may not call tools any more, because a limit
	// was reached.
	Final bool `json:"final,omitempty"`

	// Messages counts the messages of the history that the model gets.
	Messages int `json:"messages"`
}

// ReasoningDelta is a piece of the reasoning of a model that streams, as far as its
// provider shows it. The pieces of a turn joined are the Reasoning of its [ModelEnd]; a
// provider may show some of it only there. The history keeps it.
type ReasoningDelta struct {
	Meta
	Turn int    `json:"turn"`
	Text string `json:"text"`
}

// TextDelta is a piece of text of a model that streams. The pieces of a turn
// joined are the Text of its [ModelEnd].
type TextDelta struct {
	Meta
	Turn int    `json:"turn"`
	Text string `json:"text"`
}

// ModelEnd is the model's complete answer.
type ModelEnd struct {
	Meta
	Turn       int           `json:"turn"`
	Model      string        `json:"model,omitempty"` // that answered, empty when neither the model nor the caller names one
	Text       string        `json:"text,omitempty"`
	Reasoning  string        `json:"reasoning,omitempty"`   // what the provider shows of it
	ToolCalls  []run.Part    `json:"tool_calls,omitempty"`  // a copy: the caller may change the elements
	StopReason string        `json:"stop_reason,omitempty"` // the provider's own word, such as "stop", "tool_calls", "end_turn", "length"
	Usage      run.Spent     `json:"usage"`
	Streamed   bool          `json:"streamed,omitempty"` // all of Text came as TextDelta already
	Duration   time.Duration `json:"duration_ns,omitempty"`
	Window     *WindowUse    `json:"window,omitempty"` // what filled it; nil in a replay
}

// ApprovalAsked says that whoever approves calls is being asked: [Person.Approve] or
// the toolset's function. Calls that a remembered decision or trust lets run have no
// such event.
type ApprovalAsked struct {
	Meta
	Call
	Approval *approval.Request `json:"-"`
}

// ApprovalDecided says what was decided on a call.
type ApprovalDecided struct {
	Meta
	Call
	Approval *approval.Request `json:"-"`
	Decision approval.Decision `json:"-"` // in JSON as records have it
	Duration time.Duration     `json:"duration_ns,omitempty"`
}

// MarshalJSON implements [json.Marshaler].
func (e *ApprovalDecided) MarshalJSON() ([]byte, error) {
	type members ApprovalDecided
	d := e.Decision
	return json.Marshal(struct {
		*members
		Decision ledger.Decision `json:"decision"`
	}{(*members)(e), ledger.Decision{Allow: d.Allow, Reason: d.Reason, Arguments: d.Arguments, Scope: scopeNames[d.Remember]}})
}

// ToolStart says that a tool is being called. A call that is not run has a
// [ToolEnd] only: the name or the arguments were wrong, it was denied, or a
// limit was reached.
type ToolStart struct {
	Meta
	Call
}

// ToolProgress is a notice of the server about a call under way.
type ToolProgress struct {
	Meta
	Call
	Progress mcp.Progress `json:"progress"`
}

// ToolEnd is what became of a call. Every call that the model asked for has
// exactly one.
type ToolEnd struct {
	Meta
	Call
	Part     run.Part        `json:"result"`                // as the history has it
	Result   *adapter.Result `json:"-"`                     // nil in a replay
	Duration time.Duration   `json:"duration_ns,omitempty"` // zero for a call that was not run
}

// Asked says that the run has a question to a person.
type Asked struct {
	Meta
	Question *run.Question `json:"ask"`
}

// ReplyStart says that [Person.Reply] is asked.
type ReplyStart struct {
	Meta
	Question *run.Question `json:"ask"`
}

// ReplyEnd says what [Person.Reply] returned: without a Reply the question stays open.
type ReplyEnd struct {
	Meta
	Question *run.Question `json:"ask"`
	Reply    *run.Reply    `json:"answer,omitempty"`
	Err      error         `json:"-"` // in JSON its text, as "error"
	Duration time.Duration `json:"duration_ns,omitempty"`
}

// MarshalJSON implements [json.Marshaler].
func (e *ReplyEnd) MarshalJSON() ([]byte, error) {
	type members ReplyEnd
	return json.Marshal(struct {
		*members
		Error string `json:"error,omitempty"`
	}{(*members)(e), textOf(e.Err)})
}

// textOf is the text of an error, "" without one.
func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Replied says that a question has its answer.
type Replied struct {
	Meta
	Question *run.Question `json:"ask"`
	Reply    run.Reply     `json:"answer"`
}

// Elicitation is what a server asks the person during a call.
type Elicitation struct {
	Server string            `json:"server"`         // the host's label: show it to the person
	Call   *Call             `json:"call,omitempty"` // the tool call it belongs to, nil when that cannot be known
	Params *mcp.ElicitParams `json:"params"`
}

// ElicitationStart says that a server asks the person something in an open call: the
// handler of its client answers, or a server of the legacy era asks.
type ElicitationStart struct {
	Meta
	*Elicitation
}

// ElicitationEnd is what the server was answered: Result, or Err when the
// callback failed or its context ended.
type ElicitationEnd struct {
	Meta
	*Elicitation
	Result   *mcp.ElicitResult `json:"result,omitempty"`
	Err      error             `json:"-"` // in JSON its text, as "error"
	Duration time.Duration     `json:"duration_ns,omitempty"`
}

// MarshalJSON implements [json.Marshaler].
func (e *ElicitationEnd) MarshalJSON() ([]byte, error) {
	type members ElicitationEnd
	return json.Marshal(struct {
		*members
		Error string `json:"error,omitempty"`
	}{(*members)(e), textOf(e.Err)})
}

// SamplingStart says that a server asks for a completion of the host's model.
type SamplingStart struct {
	Meta
	Server string                   `json:"server"`         // the host's label
	Call   *Call                    `json:"call,omitempty"` // the tool call it belongs to, nil when that cannot be known
	Params *mcp.CreateMessageParams `json:"params"`
}

// SamplingEnd is what the server was answered: Result, or Err.
type SamplingEnd struct {
	Meta
	Server   string                   `json:"server"`
	Call     *Call                    `json:"call,omitempty"`
	Params   *mcp.CreateMessageParams `json:"params"`
	Result   *mcp.CreateMessageResult `json:"result,omitempty"`
	Err      error                    `json:"-"` // in JSON its text, as "error"
	Duration time.Duration            `json:"duration_ns,omitempty"`
}

// MarshalJSON implements [json.Marshaler].
func (e *SamplingEnd) MarshalJSON() ([]byte, error) {
	type members SamplingEnd
	return json.Marshal(struct {
		*members
		Error string `json:"error,omitempty"`
	}{(*members)(e), textOf(e.Err)})
}

// ServerLost says that the connection to a server has ended. It comes once for each server, when a call finds out;
// the run continues with the other servers.
type ServerLost struct {
	Meta
	Server string `json:"server"`
	Err    error  `json:"-"` // in JSON its text, as "error"
}

// MarshalJSON implements [json.Marshaler].
func (e *ServerLost) MarshalJSON() ([]byte, error) {
	type members ServerLost
	return json.Marshal(struct {
		*members
		Error string `json:"error,omitempty"`
	}{(*members)(e), textOf(e.Err)})
}

// TurnEnd closes a turn. Messages is what the turn added to the history: the
// model's message, and one with the results of all calls in their order.
type TurnEnd struct {
	Meta
	Turn     int           `json:"turn"`
	Messages []run.Message `json:"messages"`
}

// Suspended says that the run waits for a person.
type Suspended struct {
	Meta
	Questions []*run.Question `json:"asks"`
	Wake      time.Time       `json:"wake,omitzero"` // when it continues without an answer; zero: never
}

// Compacted says that the oldest messages of the history were replaced.
type Compacted struct {
	Meta
	Replaced int `json:"replaced"` // how many
	By       int `json:"by"`       // by how many
}

// Warning says what went wrong and does not end the run.
type Warning struct {
	Meta

	// Text is for a person who knows the program: what went wrong, and what helps if something does. It
	// is in lower case, without a full stop. It may have names and words of servers in it: a terminal or
	// a page escapes it.
	Text string `json:"text"`
}

// String is the text: fmt prints a warning by it.
func (w *Warning) String() string { return w.Text }

// Output ends a run.
type Output struct {
	Meta
	Text         string     `json:"text"`
	StopReason   StopReason `json:"stop_reason"`
	FinishReason string     `json:"finish_reason,omitempty"` // the provider's own word for why its last message ended
}
