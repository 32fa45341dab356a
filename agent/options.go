package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Options configure an [Agent]. Nil and the zero value are valid.
//
// A run waits for its callbacks: they must return when their context ends. A
// panic in Approve ends the run with an error, one in OnElicit is an error for
// the server that asked.
type Options struct {
	// System is the system prompt. It goes before the messages of every model
	// call and is not part of the history.
	System string

	// MaxTurns bounds the model calls of a run in which tools are offered.
	// Default 20.
	MaxTurns int

	// MaxToolCalls bounds the tool calls that the model may ask for in a run,
	// also if they fail. Later calls are not run, and the model reads that.
	// Default 100.
	MaxToolCalls int

	// MaxConsecutiveFailures bounds the turns in a row in which every tool call
	// failed or was denied. Default 5.
	MaxConsecutiveFailures int

	// Parallelism bounds the tool calls that run at the same time. Default 8.
	Parallelism int

	// MaxDuration bounds a run. A run that takes longer fails with
	// [context.DeadlineExceeded]. Default 0: the context's own deadline only.
	MaxDuration time.Duration

	// IdleTimeout bounds the silence of a tool call, which progress ends, and
	// CallTimeout the whole. They replace the toolset's limits; negative: none. Default
	// 0: the toolset's limits, which by default are 5 min and 24 h. The model reads
	// that a call took too long.
	IdleTimeout, CallTimeout time.Duration

	// Approve decides on calls instead of the Approve functions of the toolset, which
	// asks as ever: not about calls that [adapter.Server].Trust lets run or for which a
	// decision is remembered, and about one call of a user at a time. The calls of a
	// turn are asked about in their order, before any of them runs. An error ends the
	// run, and so does one of the toolset's functions. Default: those functions;
	// without any, every call is allowed, because the caller chose the tools.
	Approve adapter.ApproveFunc

	// OnElicit answers what servers ask a person during a tool call. Their clients
	// need an Elicitation handler, which declares that somebody answers: see
	// [OnlyInRuns]. OnElicit may run several times at once. A nil result without an
	// error leaves the answer to that handler. Default: always left to it.
	OnElicit func(ctx context.Context, q *Question) (*mcp.ElicitResult, error)

	// CallOptions go with every model call. The agent itself decides on tools,
	// streaming, and that there is one candidate.
	CallOptions []llms.CallOption

	// Stream says when the model's text is streamed as [TextDelta].
	Stream StreamPolicy

	// Dialect is the form of history that the model's provider needs. Default:
	// by the type of the model, see [Dialect].
	Dialect Dialect

	// Profile is the provider for which the schemas of tools are written. Default:
	// what the model names by a method
	//
	//	ToolProfile(options ...llms.CallOption) string
	//
	// as that of package openaimodel does by its host, and else by its dialect:
	// [adapter.Anthropic] and [adapter.GoogleAI] for those, [adapter.OpenAI] for
	// the others.
	Profile adapter.Profile

	// Media says whether the model takes a part of a tool's result that is not
	// text, by its MIME type; accepted parts follow the tool messages in a human
	// message. Default: PNG, JPEG, GIF and WebP images.
	Media func(mimeType string) bool
}

// StreamPolicy says when a model's text is streamed.
type StreamPolicy int

const (
	// StreamAuto streams when the model says that it streams tool calls
	// correctly, by a method
	//
	//	StreamsToolCalls() bool
	StreamAuto StreamPolicy = iota

	// StreamAlways streams with every model. Some mix up parallel tool calls,
	// pass them as text, or take a broken stream for a whole answer, langchaingo's
	// OpenAI provider among them.
	StreamAlways

	// StreamNever does not stream.
	StreamNever
)

// String is what the constant says in words.
func (p StreamPolicy) String() string {
	switch p {
	case StreamAuto:
		return "auto"
	case StreamAlways:
		return "always"
	case StreamNever:
		return "never"
	}
	return fmt.Sprintf("StreamPolicy(%d)", int(p))
}

// StopReason says why a run ended with an answer.
type StopReason string

const (
	// StopAnswer: the model answered without asking for tools.
	StopAnswer StopReason = "answer"

	// The other reasons name the limit that was reached. The model was then
	// asked for a final answer without tools.
	StopMaxTurns     StopReason = "max_turns"
	StopMaxToolCalls StopReason = "max_tool_calls"
	StopMaxFailures  StopReason = "max_failures"
)

func (o *Options) withDefaults() (*Options, error) {
	var out Options
	if o != nil {
		out = *o
	}
	for _, limit := range []struct {
		name  string
		value *int
		def   int
	}{
		{"MaxTurns", &out.MaxTurns, 20},
		{"MaxToolCalls", &out.MaxToolCalls, 100},
		{"MaxConsecutiveFailures", &out.MaxConsecutiveFailures, 5},
		{"Parallelism", &out.Parallelism, 8},
	} {
		if *limit.value < 0 {
			return nil, fmt.Errorf("options: %s is %d; give a positive number, or 0 for %d", limit.name, *limit.value, limit.def)
		}
		if *limit.value == 0 {
			*limit.value = limit.def
		}
	}
	if out.MaxDuration < 0 {
		return nil, fmt.Errorf("options: MaxDuration is %v; give a positive duration, or 0 for none", out.MaxDuration)
	}
	if out.Media == nil {
		out.Media = isCommonImage
	}
	out.CallOptions = append([]llms.CallOption(nil), out.CallOptions...)
	return &out, nil
}

func isCommonImage(mimeType string) bool {
	switch mimeType {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}
