package chat

import "regexp"

// profileOf returns the profile of the host for a model, with what earlier requests have shown.
func (c *Client) profileOf(model string) *Profile {
	if learned, ok := c.learned.Load(model); ok {
		return learned.(*Profile)
	}
	return &c.profile
}

var (
	refusal       = regexp.MustCompile(`(?i)unsupported|not support|not permitted|not allowed|unrecognized|unknown|unexpected`)
	stopName      = regexp.MustCompile(`\bstop\b`)
	penaltyName   = regexp.MustCompile(`(?i)\b(?:presence|frequency)_?penalty\b`)
	reasoningName = regexp.MustCompile(`\breasoning(?:_content|_details)?\b`)
	choiceName    = regexp.MustCompile(`\btool_choice\b`)
)

// adapt returns a profile by which the request is written without what the host refused, nil if the reason of the
// failure is unknown. Hosts have no codes for these reasons, only texts.
func (d *draft) adapt(failure *Error) *Profile {
	sent := func(field string) bool { return d.fields[field] != nil }
	isRefused := func(name *regexp.Regexp) bool {
		return refusal.MatchString(failure.Message) && name.MatchString(failure.Message)
	}
	p := *d.profile
	switch {
	case d.responses || !failure.refusesInput():
		return nil
	case failure.needsMaxTokens() && !sent(p.tokenField()):
		p.NeedsMaxTokens = true
	case isRefused(stopName) && sent("stop"):
		p.MaxStop = -1
	case isRefused(penaltyName) && !p.NoPenalties && (sent("presence_penalty") || sent("frequency_penalty")):
		p.NoPenalties = true
	case isRefused(choiceName) && d.fields["tool_choice"] == "none": // DeepSeek
		p.NoneDrops = true
	case isRefused(choiceName) && sent("tool_choice"): // DeepSeek and Qwen while they think
		p.Required, p.NamedChoice = requiredBySystem, false
	case isRefused(reasoningName) && d.hasReasoning && p.Reasoning == reasoningContent:
		p.Reasoning = plainReasoning
	case isRefused(reasoningName) && d.hasReasoning:
		p.Reasoning = ""
	default:
		return nil
	}
	return &p
}
