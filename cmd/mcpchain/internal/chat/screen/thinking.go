package screen

import (
	"fmt"
	"math"
	"time"

	"github.com/mcpchain/mcpchain/agent"
)

// Thinking sums up the reasoning of a model in one line. The zero value is ready to use.
type Thinking struct{ from time.Time }

// Event handles an event of the agent. It returns a line when reasoning has ended, otherwise "".
func (t *Thinking) Event(e agent.Event) (line string) {
	switch e := e.(type) {
	case *agent.ModelStart:
		*t = Thinking{}
	case *agent.ReasoningDelta:
		if t.from.IsZero() {
			t.from = e.Time
		}
	case *agent.TextDelta:
		if !t.from.IsZero() {
			line = reasoningNote(t.from, e.Time)
			*t = Thinking{}
		}
	case *agent.ModelEnd:
		if e.Reasoning != "" && (!t.from.IsZero() || !e.Streamed) {
			line = reasoningNote(t.from, e.Time)
		}
		*t = Thinking{}
	}
	return line
}

// reasoningNote says how long the model thought. A zero from means that this is not known.
func reasoningNote(from, to time.Time) string {
	if from.IsZero() {
		return "thought about it (/reasoning shows it)"
	}
	return fmt.Sprintf("thought for %.0f s (/reasoning shows it)", math.Ceil(max(0, to.Sub(from)).Seconds()))
}
