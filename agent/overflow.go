package agent

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/agent/compact"
	"github.com/mcpchain/mcpchain/agent/internal/returned"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// overflowError is the error of a call that is too long for the model's window.
type overflowError struct {
	error
	size int64 // the size of the call in bytes
}

func (e *overflowError) Unwrap() error { return e.error }

// finalError returns the error of a run whose history cannot be shortened.
func (e *overflowError) finalError() error {
	return fmt.Errorf("%w; the history cannot be made shorter: ask for less, or %s", e.error, moreRoom)
}

// refit learns the model's window from its refusal, and shortens the history to fit, by the agent's
// compactor or else by [compact.Trim]. If nothing can be left out, the error is the refusal, with
// what helps.
func (d *dialog) refit(o *overflowError) error {
	history := compact.Estimate(d.rec.state.History)
	fitting := history // a compactor leaves less than the window
	if refusal, ok := errors.AsType[*model.Error](o.error); ok && refusal.Window > 0 {
		d.agent.learnt.window.Store(refusal.Window)
		fitting = o.fittingHistory(refusal, history)
	}
	if fitting <= 0 {
		return fmt.Errorf("%w; the tools and the instructions alone do not fit: "+
			"offer fewer tools, or %s", o.error, moreRoom)
	}
	d.endModelCall()
	budget := compact.Budget{Window: fitting}
	change, err := d.shorten(d.agent.opts.Compact, budget)
	if err != nil {
		return err
	}
	if change == nil { // the compactor failed or declined
		if change, err = d.shorten(compact.Trim(nil), budget); err != nil {
			return err
		}
	}
	if change == nil {
		return o.finalError()
	}
	d.rec.show(&Warning{
		Text: fmt.Sprintf("the call was too long for the model, and is made again with a shorter history: %v", o),
	})
	return nil
}

// fittingHistory returns how many estimated tokens of history fit into the window of a refusal,
// beside the rest of the call. It converts the host's tokens to estimated ones.
func (e *overflowError) fittingHistory(refusal *model.Error, history int64) int64 {
	sent := max(e.size/meanTokenBytes, 1)
	prompt := refusal.Prompt
	if prompt == 0 {
		prompt = sent
	}
	window := float64(refusal.Window) * float64(sent) / float64(max(prompt, refusal.Window+1))
	return int64(window) - max(sent-history, 0)
}

// largerWindow names the settings by which hosts give a model a larger window.
const largerWindow = "-c of llama-server, --max-model-len of vLLM, OLLAMA_CONTEXT_LENGTH of Ollama"

// moreRoom says how to allow longer calls. The refusal says whether [model.Error.Window] is the model's window or the
// minute of the account.
const moreRoom = "give the model a larger window (" + largerWindow + ") or, if that is the limit, the account more tokens per minute"

// truncation detects a host that silently drops the beginning of calls: it counts fewer tokens
// than the texts can have.
type truncation struct {
	messages int   // number of messages that are counted in text
	text     int64 // bytes of the history

	// The longest call so far:
	input int64 // tokens by the host's count
	size  int64 // bytes of the history in it

	tools    int // number of tools in the calls
	reported bool
}

// maxTokenBytes is more bytes than a token has on average in any prose or data.
const maxTokenBytes = 8

// minMissing is how many tokens have to be missing at least.
const minMissing = 1024

// detect compares the host's count of a call with the texts sent, and reports, once, whether more
// than a quarter of the expected tokens, and more than minMissing, are missing.
func (t *truncation) detect(history []run.Message, tools int, input int64) bool {
	if t.messages > len(history) || t.tools != tools {
		*t = truncation{tools: tools, reported: t.reported}
	}
	for ; t.messages < len(history); t.messages++ {
		for i := range history[t.messages].Parts {
			if p := &history[t.messages].Parts[i]; p.Type != run.PartReasoning {
				t.text += int64(len(p.Text) + len(p.Arguments))
			}
		}
	}
	expected := t.input + (t.text-t.size)/maxTokenBytes
	if input >= t.input {
		t.input, t.size = input, t.text
	}
	isMissing := input < expected*3/4 && expected-input > minMissing && !t.reported
	t.reported = t.reported || isMissing
	return isMissing
}

// warnOfTruncation warns about a host that has read only part of the call.
func (d *dialog) warnOfTruncation(q *model.Request, used run.Usage) {
	if used.Input > 0 && d.truncation.detect(d.rec.state.History, len(q.Tools), used.Input) {
		d.rec.show(&Warning{Text: fmt.Sprintf("the host counts %d tokens of a call that has far more: "+
			"it leaves out the beginning, which may have the question. Give the model a larger window (%s), "+
			"or tell the agent the window: openaimodel.Options.Window, -window of the programs", used.Input, largerWindow)})
	}
}

// compact shortens the history if it is too long for the model. After a failure the history
// stays as it is, and the usage counts.
func (d *dialog) compact() error {
	budget := compact.Budget{Window: d.agent.learnt.window.Load()}
	if last := d.rec.state.Last; !last.Estimated && 0 < last.Messages && last.Messages <= len(d.rec.state.History) {
		returned := int64(returned.Size(&d.rec.state.History[last.Messages-1])) / meanTokenBytes
		budget.Tokens = last.Tokens() - max(last.Reasoning-returned, 0) // other reasoning is not sent again
		budget.Tokens += compact.Estimate(d.rec.state.History[last.Messages:])
	}
	_, err := d.shorten(d.agent.opts.Compact, budget)
	return err
}

// shorten asks a compactor, and records its change. The change is nil if there is none. If the
// compactor fails, the run gets a warning. What the compactor used counts in any case.
func (d *dialog) shorten(compactor compact.Compactor, budget compact.Budget) (*ledger.Compacted, error) {
	var short *compact.Result
	err := guard("compactor", func() (err error) {
		short, err = compactor(d.engine.ctx, d.rec.state.History, budget)
		return err
	})
	var used run.Usage
	if short != nil {
		used = clampUsage(short.Usage)
		used.Turns, used.Cost = max(short.Usage.Turns, 0), short.Usage.Cost
	}
	ended := d.engine.ctx.Err() != nil
	if short != nil && (err != nil || ended) {
		if recordErr := d.rec.record(nil, &ledger.Charged{Spent: used}); recordErr != nil {
			return nil, recordErr
		}
	}
	switch {
	case ended:
		return nil, d.engine.endError()
	case err != nil:
		d.rec.show(&Warning{Text: fmt.Sprintf("the history is not made shorter: %v", err)})
		return nil, nil
	case short == nil:
		return nil, nil
	}
	change := &ledger.Compacted{Replaced: short.Replaced, Messages: short.Messages, Usage: used}
	d.listKept(change)
	d.tally = tally{}
	d.truncation = truncation{reported: d.truncation.reported}
	return change, d.rec.record([]Event{&Compacted{Replaced: change.Replaced}}, change)
}

// listKept adds to the summary of a compaction the newest stored results that the history no longer
// mentions, so that the model knows about them. Without a summary it does nothing.
func (d *dialog) listKept(c *ledger.Compacted) {
	s := d.rec.state
	isSummary := func(p run.Part) bool { return p.Type == run.PartSummary }
	message := slices.IndexFunc(c.Messages, func(m run.Message) bool { return slices.ContainsFunc(m.Parts, isSummary) })
	reader := slices.IndexFunc(s.Offered, func(t ledger.OfferedTool) bool { return isReaderEntry(&t) })
	if message < 0 || reader < 0 {
		return
	}
	after := slices.Concat(c.Messages, s.History[min(c.Replaced, len(s.History)):])
	var lines []string
	for _, entry := range slices.Backward(s.Kept) {
		if len(lines) < maxHandles && !hasMention(after, entry.Handle) {
			lines = append(lines, fmt.Sprintf("\n- %s: %d bytes of %s, %s %s",
				entry.Handle, entry.Size, entry.Tool, entry.Kind, entry.Shape))
		}
	}
	if len(lines) == 0 {
		return
	}
	slices.Reverse(lines)
	c.Messages = slices.Clone(c.Messages)
	m := &c.Messages[message]
	m.Parts = slices.Clone(m.Parts)
	part := slices.IndexFunc(m.Parts, isSummary)
	m.Parts[part].Text += fmt.Sprintf("\n\nResults that are kept, for %s:%s", s.Offered[reader].Name, strings.Join(lines, ""))
}

// hasMention reports whether messages mention a handle.
func hasMention(messages []run.Message, handle string) bool {
	return slices.ContainsFunc(messages, func(m run.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p run.Part) bool {
			return strings.Contains(p.Text, handle) || strings.Contains(p.Arguments, handle)
		})
	})
}

// meanTokenBytes estimates the bytes of a token in a whole call, and in data that goes back to the
// model's host.
const meanTokenBytes = 4
