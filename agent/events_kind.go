package agent

// The types of events in JSON, see [TypeOf].

func (*ModelStart) kind() string       { return "model_start" }
func (*ReasoningDelta) kind() string   { return "reasoning_delta" }
func (*TextDelta) kind() string        { return "text_delta" }
func (*ModelEnd) kind() string         { return "model_end" }
func (*ApprovalAsked) kind() string    { return "approval_asked" }
func (*ApprovalDecided) kind() string  { return "approval_decided" }
func (*ToolStart) kind() string        { return "tool_start" }
func (*ToolProgress) kind() string     { return "tool_progress" }
func (*ToolEnd) kind() string          { return "tool_end" }
func (*Asked) kind() string            { return "asked" }
func (*ReplyStart) kind() string       { return "answer_start" }
func (*ReplyEnd) kind() string         { return "answer_end" }
func (*Replied) kind() string          { return "answered" }
func (*ElicitationStart) kind() string { return "elicitation_start" }
func (*ElicitationEnd) kind() string   { return "elicitation_end" }
func (*SamplingStart) kind() string    { return "sampling_start" }
func (*SamplingEnd) kind() string      { return "sampling_end" }
func (*ServerLost) kind() string       { return "server_lost" }
func (*TurnEnd) kind() string          { return "turn_end" }
func (*Suspended) kind() string        { return "suspended" }
func (*Output) kind() string           { return "answer" }
func (*Compacted) kind() string        { return "compacted" }
func (*Warning) kind() string          { return "warning" }
