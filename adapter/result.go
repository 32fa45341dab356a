package adapter

import (
	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Result is the outcome of one call of a model. Whatever happened, it has an answer for the model.
type Result struct {
	// Call is the model's call.
	Call llms.ToolCall

	// Tool is the tool of the call, nil if there is none with that name.
	Tool *Tool

	// Text is the answer for the model. It is never empty, and at most [Policy.MaxResult] bytes long.
	Text string

	// Full is the complete text if Text is shortened, otherwise "".
	Full string

	// Media has the images and audio of the answer as [llms.BinaryContent], at most 8 MiB together.
	// A message with a tool's answer cannot contain them: send them in a human message after it.
	Media []llms.ContentPart

	// Raw is the server's result, with structured content and _meta. It is nil if there is none.
	Raw *mcp.CallToolResult

	// IsError reports whether Text tells the model of a failure.
	IsError bool

	// Err says why Raw is nil, or what is wrong with it: there is no such tool, the call was denied, an error that
	// matches [ErrArguments], [ErrStale] or [ErrUndecided], or one of an [Interceptor] or of
	// [mcpclient.Client.CallTool]. It is nil if the tool ran and failed. For a result that violates the output schema
	// it is an [*mcpclient.OutputError]. If the server needs input to continue a call made with
	// [mcpclient.WithManualInput] it is an [*mcp.InputRequired], for [Prepared.Continue], and not fatal; Text says so.
	Err error

	fatal   bool
	sent    bool // the server may have received the call, or its continuation
	begun   bool // the call continues: the server received it before
	inDoubt bool // the outcome of the call is unknown
}

// Unsent reports whether the call certainly had no effect: it was refused here, or the server could not be reached or
// did not accept it. It may be made again. For a call of [Prepared.Continue] it says so of the continuation only.
func (r *Result) Unsent() bool { return r.Err != nil && !r.sent }

// Interrupted reports whether it is unknown if the tool ran, or what came of it: the call was sent, but the
// connection was lost, the context ended or a timeout expired before the answer came, or the answer cannot be read.
func (r *Result) Interrupted() bool { return r.Err != nil && r.inDoubt }

// Fatal returns Err if the model cannot do better by trying again: the connection is lost, the server cannot be reached or
// requires a sign-in, no decision was made ([ErrUndecided]), the round or task to continue is not the call's, or the context
// has ended. It returns nil for unknown and stale tools, invalid arguments, denials, timeouts of single calls, and errors of
// an [Interceptor] or from the server.
func (r *Result) Fatal() error {
	if r.fatal {
		return r.Err
	}
	return nil
}

// message returns the answer as a message of the tool role. It has exactly one part, as
// providers require, and the name of the tool, which some need.
func (r *Result) message() llms.MessageContent {
	return llms.MessageContent{
		Role: llms.ChatMessageTypeTool,
		Parts: []llms.ContentPart{llms.ToolCallResponse{
			ToolCallID: r.Call.ID,
			Name:       function(r.Call).Name,
			Content:    r.Text,
		}},
	}
}

// function returns the function of a call, or an empty one.
func function(call llms.ToolCall) llms.FunctionCall {
	if call.FunctionCall == nil {
		return llms.FunctionCall{}
	}
	return *call.FunctionCall
}

// minResult is the least bound of a result's text, in bytes. It leaves room to say what was cut.
const minResult = 256

// shorten cuts text to limit bytes, see [excerpt.Shorten].
func shorten(text string, limit int) string { return excerpt.Shorten(text, limit, nil) }
