package compact

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpchain/mcpchain/agent/run"
)

// Summarizer returns a summary of messages, and what it has used. Among the messages are
// earlier summaries, which are replaced too. It may be called concurrently, does not change the messages, and
// returns what it has used beside an error, too.
type Summarizer func(ctx context.Context, messages []run.Message) (string, run.Spent, error)

const (
	summaryTokens = 1500     // that a summary is expected to take
	maxSummary    = 16 << 10 // bytes
)

// summaryHead begins a summary, so that the model knows it for one.
const summaryHead = "[Summary of older messages]\n"

// Summarize trims results as [Trim] does. If that is not enough, it replaces the oldest turns, and an earlier
// summary, with a summary. A summary has at most 16 KiB; a longer one is cut.
func Summarize(s Summarizer, o *Options) Compactor {
	opts := o.withDefaults()
	return func(ctx context.Context, messages []run.Message, b Budget) (*Result, error) {
		p := newPlan(messages, b, opts)
		if p == nil {
			return nil, nil
		}
		p.absorb = true
		p.make(summaryTokens)
		old := p.old()
		if old == nil {
			clear(p.gone) // an earlier summary alone
			return p.compacted(nil), nil
		}
		text, used, err := s(ctx, old)
		if text = strings.TrimSpace(text); text == "" && err == nil {
			err = errors.New("the summary is empty")
		}
		if err != nil {
			return &Result{Usage: used}, fmt.Errorf("summarize %d messages: %w", len(old), err)
		}
		c := p.compacted(once(summaryOf(text)))
		c.Usage = used
		return c, nil
	}
}

func summaryOf(text string) run.Message {
	return run.Message{Role: run.RoleUser, Parts: []run.Part{{Type: run.PartSummary, Text: summaryHead + shorten(text, maxSummary)}}}
}

// once is for the first gap: a summary is of all that is left out.
func once(m run.Message) func() (run.Message, bool) {
	done := false
	return func() (run.Message, bool) {
		first := !done
		done = true
		return m, first
	}
}

// old is what is summarized: what is left out, and the messages of the user among it. It is
// nil if only summaries would be.
func (p *plan) old() []run.Message {
	last := -1
	for i, gone := range p.gone {
		if gone && !p.units[i].summary {
			last = i
		}
	}
	var out []run.Message
	for i, u := range p.units[:last+1] {
		if p.gone[i] || p.messages[u.from].Role == run.RoleUser {
			out = append(out, p.messages[u.from:u.to]...)
		}
	}
	return out
}
