package talk

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/agent"
)

// Trace appends events to a file, one JSON object on each line. A nil Trace writes nothing. Its
// methods may be called concurrently.
type Trace struct {
	mu   sync.Mutex // guards the fields below
	file *os.File
	err  error // the first failure to write
}

// traceLine is a line about what is not an event of the agent.
type traceLine struct {
	Type string    `json:"type"` // server, question, view_call or error
	Time time.Time `json:"time"`
	Turn int       `json:"turn,omitempty"` // counts the turns of this program, from 1

	Server    string `json:"server,omitempty"`
	Tool      string `json:"tool,omitempty"`
	ID        string `json:"id,omitempty"` // the tool call's ID
	Arguments any    `json:"arguments,omitempty"`

	Text     string  `json:"text,omitempty"`
	IsError  bool    `json:"is_error,omitempty"`
	Error    string  `json:"error,omitempty"`
	Duration float64 `json:"duration_ms,omitempty"`
}

// OpenTrace opens a file for appending. A new file can be read by its owner only, because it has
// the conversation. If path is "", OpenTrace returns nil.
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

// write writes a line with the current time.
func (t *Trace) write(r traceLine) {
	r.Time = time.Now()
	t.append(json.Marshal(r))
}

// append writes a line, unless it could not be made. The conversation continues after a failure,
// which Close returns.
func (t *Trace) append(line []byte, err error) {
	if t == nil {
		return
	}
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

// writeEvent writes an event of the agent, unless other events have all of its text. The error of a
// tool follows on a line of its own: the model gets less of it.
func (t *Trace) writeEvent(turn int, e agent.Event) {
	if t == nil {
		return
	}
	switch e.(type) {
	case *agent.TextDelta, *agent.ReasoningDelta, *agent.TurnEnd:
	default:
		t.append(agent.MarshalEvent(e))
	}
	if e, ok := e.(*agent.ToolEnd); ok && e.Result.Err != nil {
		t.write(traceLine{
			Type:   "error",
			Turn:   turn,
			Server: e.Server,
			Tool:   e.Tool,
			ID:     e.ID,
			Error:  e.Result.Err.Error(),
		})
	}
}

// errorText returns the text of an error, "" for nil.
func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
