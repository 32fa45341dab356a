package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/convert"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// reply is a model's answer.
type reply struct {
	message run.Message
	id      string // the provider's
	text    string
	calls   []run.Part
	stop    *string // the answer of a hook in its place
	finish  string  // the provider's word for why it ended
	usage   run.Spent
	output  json.RawMessage // the structured answer that the text is, nil if it is none
	repair  bool            // it is asked for again in another form

	estimated bool     // the usage is an estimate
	dropped   []string // names of tools that the model asked for although it had none
}

// maxWord bounds what is kept of names that the model's host gives, in bytes.
const maxWord = 256

// reply reads a response. A model that it does not name is the one asked for.
func (d *dialog) reply(response *llms.ContentResponse) *reply {
	m, model := d.encoder.Reply(response), d.agent.modelName()
	if m.Model == "" {
		m.Model = model
	}
	m.Model = excerpt.CutAt(m.Model, maxWord)
	m.At = time.Now().UTC().Truncate(time.Millisecond)
	r := &reply{message: m, id: excerpt.CutAt(convert.ID(response), maxWord), text: m.Text(), finish: excerpt.CutAt(convert.Finish(response), maxWord), usage: convert.Usage(response)}
	r.usage.Turns = 1
	r.usage.Cost = d.cost(m.Model, r.usage)
	r.calls = callsOf(m.Parts)
	return r
}

// callsOf is the calls among the parts of a reply. Calls that stand together are shared with
// it.
func callsOf(parts []run.Part) []run.Part {
	from, to, n := 0, 0, 0
	for i := range parts {
		if parts[i].Type != run.CallPart {
			continue
		}
		if n == 0 {
			from = i
		}
		to, n = i+1, n+1
	}
	if n == to-from {
		return parts[from:to:to]
	}
	calls := make([]run.Part, 0, n)
	for i := range parts {
		if parts[i].Type == run.CallPart {
			calls = append(calls, parts[i])
		}
	}
	return calls
}

// keepCalls takes the calls out of a reply that may have none, but of one tool; nil is
// none.
func (r *reply) keepCalls(tool *adapter.Tool) {
	for _, p := range r.calls {
		if tool == nil || p.Name != tool.Name() {
			r.dropped = append(r.dropped, p.Name)
		}
	}
	not := func(p run.Part) bool { return p.Type == run.CallPart && (tool == nil || p.Name != tool.Name()) }
	r.calls = slices.DeleteFunc(slices.Clone(r.calls), not)
	r.message.Parts = slices.DeleteFunc(slices.Clone(r.message.Parts), not)
}

// noAnswer says what the model did in the place of an answer.
func (r *reply) noAnswer(stop StopReason) error {
	if len(r.dropped) == 0 {
		return fmt.Errorf("%w: neither text nor tool calls (it stopped with %q, the run with %q)", ErrNoAnswer, r.finish, stop)
	}
	names := slices.Compact(slices.Sorted(slices.Values(r.dropped)))
	return fmt.Errorf("%w: at the limit %s (%s) it asked for tools (%.200q), which it may not call any more", ErrNoAnswer, stop, stop.limit(), strings.Join(names, ", "))
}

func (r *reply) event(turn int, streamed bool, d time.Duration) *ModelEnd {
	return &ModelEnd{
		Turn: turn, Model: r.message.Model, Text: r.text, Reasoning: r.reasoning(), ToolCalls: r.calls,
		StopReason: r.finish, Usage: r.usage, Streamed: streamed, Duration: d,
	}
}

// size is the size of the reply in bytes.
func (r *reply) size() (n int) {
	for i := range r.message.Parts {
		p := &r.message.Parts[i]
		n += len(p.Text) + len(p.ID) + len(p.Name) + len(p.Arguments) + len(p.Data)
	}
	return n
}

func (r *reply) reasoning() string {
	var b strings.Builder
	for _, p := range r.message.Parts {
		if p.Type == run.ReasoningPart {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}
