package chat

import (
	"cmp"
	"regexp"
)

// quirks are what the host of a model demands or refuses beside its profile, as earlier requests have shown.
type quirks struct {
	needsMaxTokens bool
	refusesStop    bool           // the text is cut here
	movesReasoning bool           // reasoning goes back in the field reasoning, and not in that of the profile
	reasoning      reasoningField // "": it does not go back
}

// quirksOf returns the quirks of the host for a model.
func (c *Client) quirksOf(model string) quirks {
	known, _ := c.quirks.Load(model)
	q, _ := known.(quirks)
	return q
}

var (
	refusal       = regexp.MustCompile(`(?i)unsupported|not support|not permitted|not allowed|unrecognized|unknown|unexpected`)
	stopName      = regexp.MustCompile(`\bstop\b`)
	reasoningName = regexp.MustCompile(`\breasoning(?:_content|_details)?\b`)
)

// adapt changes a draft so that the host does not refuse it again for the same reason. It returns false for a reason
// that it does not know. Hosts have no codes for these, only texts.
func (c *Client) adapt(d *draft, failure *Error) bool {
	if failure.needsMaxTokens() {
		d.quirks.needsMaxTokens = c.addMaxTokens(d)
		return d.quirks.needsMaxTokens
	}
	switch isRefusal := failure.refusesInput() && refusal.MatchString(failure.Message); {
	case !isRefusal:
		return false
	case stopName.MatchString(failure.Message) && d.fields["stop"] != nil:
		delete(d.fields, "stop")
		d.quirks.refusesStop = true
		return true
	}
	return reasoningName.MatchString(failure.Message) && d.moveReasoning()
}

// moveReasoning moves the reasoning of all messages from reasoning_content to reasoning, or else removes it. It returns
// false if there is none.
func (d *draft) moveReasoning() (moved bool) {
	to := reasoningField("")
	for i := range d.messages {
		if d.messages[i].ReasoningContent != "" {
			to = plainReasoning
		}
	}
	for i := range d.messages {
		m := &d.messages[i]
		moved = moved || m.ReasoningContent != "" || m.Reasoning != "" || m.Details != nil
		text := cmp.Or(m.ReasoningContent, m.Reasoning)
		m.ReasoningContent, m.Reasoning, m.Details = "", "", nil
		if to != "" {
			m.Reasoning = text
		}
	}
	if moved {
		d.quirks.movesReasoning, d.quirks.reasoning = true, to
	}
	return moved
}
