package chat

import (
	"regexp"
	"slices"
	"strings"
)

// What hosts write about the fields that they refuse.
var (
	refusal       = regexp.MustCompile(`(?i)unsupported|deprecated|not support|not permitted|not allowed|only \S+ is allowed|unrecognized|unknown|unexpected`)
	stopName      = regexp.MustCompile(`\bstop\b`)
	effortName    = regexp.MustCompile(`\breasoning[._]effort\b|\binvalid thinking\b`)                           // the latter of Moonshot
	wrongEffort   = regexp.MustCompile(`\breasoning_effort\b.* (?:must|should) be |\binvalid reasoning value\b`) // Groq, SGLang; Ollama
	reasoningName = regexp.MustCompile(`\breasoning(?:_content|_details)?\b`)
	choiceName    = regexp.MustCompile(`\btool_choice\b`)
	noSignature   = regexp.MustCompile(`(?i)missing a thought_?signature`)
	noReasoning   = regexp.MustCompile(`(?i)\breasoning_content\b.*(?:must be passed back|is missing)`)
	boundName     = regexp.MustCompile(`\bmax_completion_tokens\b`)
)

// adapt returns a profile by which the request is written without what the host refused, nil if the reason of the
// failure is unknown. Hosts have no codes for these reasons, only texts.
func (d *draft) adapt(failure *Error) *Profile {
	sent := func(field string) bool { return d.fields[field] != nil }
	isRefused := func(name *regexp.Regexp) bool {
		return refusal.MatchString(failure.Message) && name.MatchString(failure.Message)
	}
	p := *d.profile
	effort := setting{effortField, d.wantedEffort}
	sentEffort := sent(effortField) || sent("reasoning") || sent("thinking")
	refusesEffort := isRefused(effortName) || wrongEffort.MatchString(failure.Message)
	onlyWithTools := strings.Contains(failure.Message, "tools") // without tools the host accepts the effort
	refused := d.refusedSampling(failure.Message)
	switch {
	case !failure.refusesInput():
		return nil
	case sentEffort && refusesEffort && !onlyWithTools && !p.hasRefused(effort):
		p.refuse(effort)
	case len(refused) > 0 && refusal.MatchString(failure.Message):
		p.refuse(refused...)
	case d.endpoint == Responses:
		return nil
	case failure.needsMaxTokens() && !sent(p.tokenField()):
		p.NeedsMaxTokens = true
	case isRefused(boundName) && p.TokenField == "" && sent("max_tokens"): // OpenAI's models behind a gateway
		p.TokenField = completionTokens
	case isRefused(boundName) && p.TokenField == completionTokens && sent(completionTokens): // Mistral's at Azure
		p.TokenField = "max_tokens"
	case noSignature.MatchString(failure.Message) && !p.FillExtra: // Gemini, for the calls of another model
		p.EchoExtra, p.FillExtra = true, true
	case noReasoning.MatchString(failure.Message) && !p.FillThoughts: // DeepSeek and Moonshot, likewise
		p.Reasoning, p.AllReasoning, p.FillThoughts = reasoningContent, true, true
	case isRefused(stopName) && sent("stop"):
		p.NoStop = true
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

// ofValue matches refusals of a value: another one may be accepted.
var ofValue = regexp.MustCompile(`(?i)\b(?:value|only)\b`)

// refusedSampling returns the settings of the request that a refusal names.
func (d *draft) refusedSampling(refusal string) (refused []setting) {
	for _, field := range []string{"temperature", "top_p", "presence_penalty", "frequency_penalty"} {
		value, isSent := d.fields[field].(float64)
		name := regexp.MustCompile(`(?i)\b` + strings.Replace(field, "_", "_?", 1) + `\b`) // xAI: presencePenalty
		switch {
		case !isSent || !name.MatchString(refusal):
		case ofValue.MatchString(refusal):
			refused = append(refused, setting{field, value})
		default:
			refused = append(refused, setting{field, nil})
		}
	}
	return refused
}

// refuse remembers refused settings.
func (p *Profile) refuse(refused ...setting) {
	p.Refused = append(slices.Clip(p.Refused), refused...)
	p.Refused = p.Refused[max(0, len(p.Refused)-maxRefused):]
}
