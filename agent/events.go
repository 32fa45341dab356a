package agent

import (
	"time"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Event is something that happened in a run. The members are [*ModelStart],
// [*TextDelta], [*ModelEnd], [*ApprovalAsked], [*ApprovalDecided],
// [*ToolStart], [*ToolProgress], [*ToolEnd], [*ElicitationStart],
// [*ElicitationEnd], [*SamplingStart], [*SamplingEnd], [*ServerLost],
// [*TurnEnd] and [*Answer]; more may come, so a switch needs a default.
//
// A turn is one call of the model and the tool calls that it asks for:
//
//	ModelStart TextDelta… ModelEnd
//	  ApprovalAsked ApprovalDecided …                 one after the other
//	  ToolStart ToolProgress… ToolEnd …               calls run side by side
//	    ElicitationStart ElicitationEnd               within a call
//	    SamplingStart SamplingEnd
//	TurnEnd
//
// The last turn is followed by Answer, which ends the run. A run that fails
// ends with an error instead, and then an event that opened something may lack
// the one that closes it.
//
// Events are shared with the run: do not change what they point to.
type Event interface {
	isEvent()
}

// Call is the tool call that an event is about.
type Call struct {
	Turn      int    // from 1
	ID        string // of the call, as in the model's message
	Name      string // of the tool, as the model knows it
	Arguments string // as they are sent, or as the model wrote them if the call does not run
	Server    string // the host's label, empty when no tool has that name
	Tool      string // the server's own name of the tool, empty when no tool has that name
}

// ModelStart says that the model is being called.
type ModelStart struct {
	Turn  int
	Model string // as asked for by Options.CallOptions, empty when the model's own default

	// Final says that the model may not call tools any more, because a limit
	// was reached.
	Final bool

	// Messages is what the model gets, before it is put into the form that its
	// provider needs.
	Messages []llms.MessageContent
}

// TextDelta is a piece of text of a model that streams. The pieces of a turn
// joined are the Text of its [ModelEnd].
type TextDelta struct {
	Turn int
	Text string
}

// ModelEnd is the model's complete answer.
type ModelEnd struct {
	Turn       int
	Model      string // that answered, empty when neither the model nor the caller names one
	Text       string
	Reasoning  string // what the provider shows of it
	ToolCalls  []llms.ToolCall
	StopReason string // the provider's own word, such as "stop", "tool_calls", "end_turn", "length"
	Usage      Usage
	Streamed   bool // all of Text came as TextDelta already
	Duration   time.Duration
}

// ApprovalAsked says that whoever approves calls is being asked: [Options.Approve] or
// the toolset's function. Calls that a remembered decision or trust lets run have no
// such event.
type ApprovalAsked struct {
	Call
	Approval *adapter.Approval
}

// ApprovalDecided is the answer.
type ApprovalDecided struct {
	Call
	Approval *adapter.Approval
	Decision adapter.Decision
	Duration time.Duration
}

// ToolStart says that a tool is being called. A call that is not run has a
// [ToolEnd] only: the name or the arguments were wrong, it was denied, or a
// limit was reached.
type ToolStart struct {
	Call
}

// ToolProgress is a notice of the server about a call under way.
type ToolProgress struct {
	Call
	Progress mcp.Progress
}

// ToolEnd is what became of a call. Every call that the model asked for has
// exactly one.
type ToolEnd struct {
	Call
	Result   *adapter.Result
	Duration time.Duration // zero for a call that was not run
}

// ElicitationStart says that a server asks the person something.
type ElicitationStart struct {
	*Question
}

// ElicitationEnd is what the server was answered: Result, or Err when the
// callback failed or its context ended.
type ElicitationEnd struct {
	*Question
	Result   *mcp.ElicitResult
	Err      error
	Duration time.Duration
}

// SamplingStart says that a server asks for a completion of the host's model.
type SamplingStart struct {
	Server string // the host's label
	Call   *Call  // the tool call it belongs to, nil when that cannot be known
	Params *mcp.CreateMessageParams
}

// SamplingEnd is what the server was answered: Result, or Err.
type SamplingEnd struct {
	Server   string
	Call     *Call
	Params   *mcp.CreateMessageParams
	Result   *mcp.CreateMessageResult
	Err      error
	Duration time.Duration
}

// ServerLost says that the connection to a server has ended. It comes once for
// each server, when a call finds out; the run goes on with the other servers.
type ServerLost struct {
	Server string
	Err    error
}

// TurnEnd closes a turn. Messages is what the turn added to the history: the
// model's message, one tool message for every call in the order of the calls,
// and a human message with the images of the results when there are any. After
// each TurnEnd the history is one that a model takes; save it here.
type TurnEnd struct {
	Turn     int
	Messages []llms.MessageContent
}

// Answer ends a run.
type Answer struct {
	Text         string
	StopReason   StopReason
	FinishReason string // the provider's own word for why its last message ended
}

func (*ModelStart) isEvent()       {}
func (*TextDelta) isEvent()        {}
func (*ModelEnd) isEvent()         {}
func (*ApprovalAsked) isEvent()    {}
func (*ApprovalDecided) isEvent()  {}
func (*ToolStart) isEvent()        {}
func (*ToolProgress) isEvent()     {}
func (*ToolEnd) isEvent()          {}
func (*ElicitationStart) isEvent() {}
func (*ElicitationEnd) isEvent()   {}
func (*SamplingStart) isEvent()    {}
func (*SamplingEnd) isEvent()      {}
func (*ServerLost) isEvent()       {}
func (*TurnEnd) isEvent()          {}
func (*Answer) isEvent()           {}
