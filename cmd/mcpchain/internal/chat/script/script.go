// Package script writes the turns of a conversation as JSON, one object on each line.
package script

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
)

// Turn is the object for a turn. Scripts depend on its members: later versions may only add some.
type Turn struct {
	Answer     string   `json:"answer"`      // the model's answer, or the result of a command as far as there is one
	StopReason string   `json:"stop_reason"` // "answer", "length" for one that is cut off, a limit such as "max_turns", "error" or "command"
	Error      *string  `json:"error"`
	Model      string   `json:"model"` // that answered
	Usage      Usage    `json:"usage"`
	Calls      []*Call  `json:"calls"`    // calls of tools, in the order in which they ended
	Problems   []string `json:"problems"` // such as servers that are left out, and refused questions
	Duration   float64  `json:"duration_ms"`
}

// Usage is the usage of the calls of the model, in tokens.
type Usage struct {
	Calls     int              `json:"model_calls"`
	Input     int64            `json:"input_tokens"`
	Output    int64            `json:"output_tokens"`
	Cached    int64            `json:"cached_tokens"`    // part of the input
	Reasoning int64            `json:"reasoning_tokens"` // part of the output
	Cost      map[string]int64 `json:"cost_micros"`      // millionths by currency; null: not known

	// Completions for servers are not model calls. Their tokens are part of the tokens above.
	Sampling       int   `json:"sampling_requests"`
	SamplingTokens int64 `json:"sampling_tokens"`
}

// Call is a call of a tool.
type Call struct {
	Server    string  `json:"server"`
	Tool      string  `json:"tool"` // by its name on the server
	ID        string  `json:"id"`
	Arguments any     `json:"arguments"` // a string if they are not JSON
	Denied    bool    `json:"denied"`
	IsError   bool    `json:"is_error"`
	Text      string  `json:"text"` // that the model got
	Duration  float64 `json:"duration_ms"`
}

// Screen wraps a screen, and writes the turns that are shown there. Its methods may be called concurrently.
type Screen struct {
	screen.Screen
	out io.Writer

	mu      sync.Mutex // guards the fields below
	begun   time.Time
	pending bool // the turn has something to write
	turn    Turn
	spent   run.Usage       // in the turn
	text    strings.Builder // output of a command
	denied  map[string]bool // calls by id
	err     error           // the first failure to write
}

// New returns a screen that writes the turns that are shown on s.
func New(out io.Writer, s screen.Screen) *Screen {
	w := &Screen{Screen: s, out: out}
	w.resetLocked()
	return w
}

// resetLocked begins another turn.
func (w *Screen) resetLocked() {
	w.turn = Turn{Calls: []*Call{}, Problems: []string{}}
	w.text.Reset()
	w.spent, w.denied = run.Usage{}, map[string]bool{}
	w.begun, w.pending = time.Now(), false
}

// Question implements [screen.Screen]. It writes the turn that has ended.
func (w *Screen) Question(ctx context.Context) (string, error) {
	w.flush()
	text, err := w.Screen.Question(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil && text != "" {
		w.begun, w.pending = time.Now(), true
	}
	return text, err
}

// Close writes the last turn, and closes the wrapped screen, which only writes to standard error.
// The error says that a turn could not be written: a script reads the turns.
func (w *Screen) Close() error {
	w.flush()
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.Screen.Close()
	return w.err
}

// flush writes the turn, if there is something to write.
func (w *Screen) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.pending {
		return // problems before the first turn are reported with it
	}
	t := &w.turn
	t.Duration = screen.Milliseconds(time.Since(w.begun))
	s := &w.spent
	t.Usage = Usage{
		Calls:          s.Turns,
		Input:          s.Input,
		Output:         s.Output,
		Cached:         s.Cached,
		Reasoning:      s.Reasoning,
		Cost:           s.Cost,
		Sampling:       s.Sampling.Requests,
		SamplingTokens: s.Sampling.Tokens,
	}
	if t.StopReason == "" {
		t.StopReason, t.Answer = "command", strings.TrimSuffix(w.text.String(), "\n")
	}
	if t.Error != nil {
		t.StopReason = "error"
	}
	if err := cli.WriteJSON(w.out, t, ""); err != nil && w.err == nil {
		w.err = fmt.Errorf("write the turn: %w", err)
	}
	w.resetLocked()
}

// Failed implements [screen.Failing].
func (w *Screen) Failed(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := err.Error()
	w.turn.Error, w.pending = &text, true
}

// Note implements [screen.Screen].
func (w *Screen) Note(style screen.Style, format string, args ...any) {
	if style == screen.Warn || style == screen.Fail {
		w.mu.Lock()
		w.turn.Problems = append(w.turn.Problems, fmt.Sprintf(format, args...))
		w.mu.Unlock()
	}
	w.Screen.Note(style, format, args...)
}

// List implements [screen.Screen].
func (w *Screen) List(style screen.Style, format string, args ...any) {
	w.addText(fmt.Sprintf(format, args...))
	w.Screen.List(style, format, args...)
}

// Deliver implements [screen.Screen].
func (w *Screen) Deliver(text string) {
	w.addText(text)
	w.Screen.Deliver(text)
}

// addText adds output of a command.
func (w *Screen) addText(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.WriteString(text + "\n")
	w.pending = true
}

// Begin implements [screen.Screen].
func (w *Screen) Begin() {
	w.mu.Lock()
	w.pending = true
	w.mu.Unlock()
	w.Screen.Begin()
}

// Show implements [screen.Screen].
func (w *Screen) Show(e agent.Event) {
	w.mu.Lock()
	w.recordLocked(e)
	w.mu.Unlock()
	w.Screen.Show(e)
}

// recordLocked adds an event to the turn.
func (w *Screen) recordLocked(e agent.Event) {
	switch e := e.(type) {
	case *agent.ModelEnd:
		w.turn.Model = cmp.Or(e.Model, w.turn.Model)
		w.spent.Add(e.Usage)
	case *agent.Sampled:
		w.spent.Add(e.Usage)
	case *agent.ApprovalDecided:
		w.denied[e.ID] = !e.Decision.Allow
	case *agent.ToolEnd:
		w.turn.Calls = append(w.turn.Calls, &Call{
			Server:    e.Server,
			Tool:      cmp.Or(e.Tool, e.Name),
			ID:        e.ID,
			Arguments: screen.Arguments(e.Arguments),
			Denied:    w.denied[e.ID],
			IsError:   e.Result.IsError,
			Text:      e.Result.Text,
			Duration:  screen.Milliseconds(e.Duration),
		})
	case *agent.Output:
		w.turn.Answer, w.turn.StopReason = e.Text, screen.StopReason(e)
	}
}
