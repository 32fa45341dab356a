package talk

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
)

// Trace appends events to a file, one JSON object on each line. A nil Trace writes nothing. Its methods may be called
// concurrently.
type Trace struct {
	mu   sync.Mutex // guards the fields below
	file *os.File
	err  error // the first failure to write
}

// traceLine is a line of a trace. Event is server, question, model_call, approval, tool_start, progress, tool_end,
// view_call, sampling, elicitation, server_lost, answer or error.
type traceLine struct {
	Event string    `json:"event"`
	Time  time.Time `json:"time"`
	Turn  int       `json:"turn,omitempty"` // of the conversation, from 1

	Server    string `json:"server,omitempty"`
	Tool      string `json:"tool,omitempty"`
	ID        string `json:"id,omitempty"` // of the tool call
	Arguments any    `json:"arguments,omitempty"`

	Model     string   `json:"model,omitempty"`
	Message   string   `json:"message,omitempty"` // the text of a question or a notice
	Text      string   `json:"text,omitempty"`    // the text of an answer
	ToolCalls []string `json:"tool_calls,omitempty"`
	Input     int      `json:"input_tokens,omitempty"`
	Output    int      `json:"output_tokens,omitempty"`
	Stop      string   `json:"stop_reason,omitempty"`

	Progress *float64 `json:"progress,omitempty"`
	Total    *float64 `json:"total,omitempty"`

	Action  string         `json:"action,omitempty"` // accept, decline or cancel; allow or deny
	Content map[string]any `json:"content,omitempty"`
	Media   int            `json:"media,omitempty"` // images and sounds of a result

	IsError  bool    `json:"is_error,omitempty"`
	Error    string  `json:"error,omitempty"`
	Duration float64 `json:"duration_ms,omitempty"`
}

// OpenTrace opens a file for appending. A new file can be read by its owner only, because it has the conversation. If
// path is "", OpenTrace returns nil.
func OpenTrace(path string) (*Trace, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the trace: %w", err)
	}
	return &Trace{file: f}, nil
}

// write writes a line with the current time. The conversation continues after a failure, which Close returns.
func (t *Trace) write(r traceLine) {
	if t == nil {
		return
	}
	r.Time = time.Now()
	line, err := json.Marshal(r)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		_, err = t.file.Write(append(line, '\n'))
	}
	if t.err == nil {
		t.err = err
	}
}

// Close closes the file, and returns the first error of all writes.
func (t *Trace) Close() error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.file.Close(); t.err == nil {
		t.err = err
	}
	if t.err != nil {
		return fmt.Errorf("write the trace: %w", t.err)
	}
	return nil
}

// event writes an event of the agent in a turn of the conversation.
func (t *Trace) event(turn int, e agent.Event) {
	if r, ok := traceOf(e); ok {
		r.Turn = turn
		t.write(r)
	}
}

// traceOf returns the line for an event, false if it is not traced.
func traceOf(e agent.Event) (traceLine, bool) {
	switch e := e.(type) {
	case *agent.ModelEnd:
		r := traceLine{
			Event: "model_call", Model: e.Model, Text: e.Text, Stop: e.StopReason,
			Input: int(e.Usage.Input), Output: int(e.Usage.Output), Duration: screen.Milliseconds(e.Duration),
		}
		for _, c := range e.ToolCalls {
			r.ToolCalls = append(r.ToolCalls, c.Name)
		}
		return r, true
	case *agent.ApprovalDecided:
		r := callLine("approval", &e.Call)
		r.Action, r.Text, r.Duration = "deny", e.Decision.Reason, screen.Milliseconds(e.Duration)
		if e.Decision.Allow {
			r.Action = "allow"
		}
		return r, true
	case *agent.ToolStart:
		return callLine("tool_start", &e.Call), true
	case *agent.ToolProgress:
		r := callLine("progress", &e.Call)
		r.Arguments = nil
		r.Progress, r.Total, r.Message = &e.Progress.Progress, e.Progress.Total, e.Progress.Message
		return r, true
	case *agent.ToolEnd:
		r := callLine("tool_end", &e.Call)
		r.Arguments = nil
		r.Text, r.IsError, r.Media, r.Duration = e.Result.Text, e.Result.IsError, len(e.Result.Media), screen.Milliseconds(e.Duration)
		r.Error = errorText(e.Result.Err)
		return r, true
	case *agent.ReplyEnd:
		if e.Question.Elicit == nil {
			return traceLine{}, false
		}
		r := traceLine{Event: "elicitation", Server: e.Question.Server, Tool: e.Question.Tool, ID: e.Question.Call}
		r.Message, r.Error, r.Duration = e.Question.Elicit.Message, errorText(e.Err), screen.Milliseconds(e.Duration)
		if e.Reply != nil {
			if result, err := e.Question.Elicited(*e.Reply); err == nil {
				r.Action, r.Content = result.Action, result.Content
			}
		}
		return r, true
	case *agent.ElicitationEnd:
		r := requestLine("elicitation", e.Server, e.Call)
		r.Message, r.Error, r.Duration = e.Params.Message, errorText(e.Err), screen.Milliseconds(e.Duration)
		if e.Result != nil {
			r.Action, r.Content = e.Result.Action, e.Result.Content
		}
		return r, true
	case *agent.SamplingEnd:
		r := requestLine("sampling", e.Server, e.Call)
		r.Message, r.Error, r.Duration = screen.MessagesText(e.Params.Messages), errorText(e.Err), screen.Milliseconds(e.Duration)
		if e.Result != nil {
			r.Model, r.Stop, r.Text = e.Result.Model, e.Result.StopReason, screen.ContentText(e.Result.Content)
		}
		return r, true
	case *agent.ServerLost:
		return traceLine{Event: "server_lost", Server: e.Server, Error: errorText(e.Err)}, true
	case *agent.Output:
		return traceLine{Event: "answer", Text: e.Text, Stop: string(e.StopReason)}, true
	}
	return traceLine{}, false
}

// callLine returns a line about a tool call.
func callLine(event string, c *agent.Call) traceLine {
	return traceLine{Event: event, Server: c.Server, Tool: cmp.Or(c.Tool, c.Name), ID: c.ID, Arguments: screen.Arguments(c.Arguments)}
}

// requestLine returns a line about a server's request during a call, which may be nil.
func requestLine(event, server string, c *agent.Call) traceLine {
	if c == nil {
		return traceLine{Event: event, Server: server}
	}
	r := callLine(event, c)
	r.Server, r.Arguments = server, nil
	return r
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
