package chat

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

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

// adapt returns a profile by which the request is written without what the host refused, nil if the reason of the
// failure is unknown. Hosts have no codes for these reasons, only texts.
func (d *draft) adapt(failure *Error) *Profile {
	sent := func(field string) bool { return d.fields[field] != nil }
	isRefused := func(name *regexp.Regexp) bool {
		return refusal.MatchString(failure.Message) && name.MatchString(failure.Message)
	}
	p := *d.profile
	effort := setting{effortField, d.wantedEffort}
	refused := d.refusedSampling(failure.Message)
	switch {
	case !failure.refusesInput():
		return nil
	case (isRefused(effortName) || wrongEffort.MatchString(failure.Message)) && !p.hasRefused(effort) &&
		(sent(effortField) || sent("reasoning") || sent("thinking")) && !strings.Contains(failure.Message, "tools"):
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

// refuse remembers refused settings.
func (p *Profile) refuse(refused ...setting) {
	p.Refused = append(slices.Clip(p.Refused), refused...)
	p.Refused = p.Refused[max(0, len(p.Refused)-maxRefused):]
}

// badGrammar matches the errors of llama.cpp, and of programs built on it, about a tool's schema that cannot become a
// grammar. They refuse all tools of the request and name none.
var badGrammar = regexp.MustCompile(`(?i)failed to parse grammar|failed to initialize samplers|json schema conversion failed|` +
	`unrecognized schema|invalid pattern|error parsing grammar|unable to generate parser|must be set for an integer|min_value or max_value`)

// searchTime bounds the search for the tool that a host refuses.
const searchTime = 2 * time.Minute

// findRefusedTool finds the tool whose schema the host refuses, by bisection, and names it in the error. Each step is a
// request for one token. It returns err unchanged if it has another reason, or if the search fails or takes longer than
// searchTime.
func (c *Client) findRefusedTool(ctx context.Context, r *Request, err error) error {
	failure, ok := errors.AsType[*Error](err)
	if !ok || failure.Status < http.StatusBadRequest || !badGrammar.MatchString(failure.Message) {
		return err
	}
	if len(r.Tools) == 0 || r.Format != nil { // a format is a grammar, too
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	suspects := r.Tools
	for len(suspects) > 1 {
		half := suspects[:len(suspects)/2]
		probe := &Request{Model: r.Model, Messages: []Message{Text(User, "Hi")}, Tools: half, MaxTokens: 1}
		d, wrong := c.encode(probe, false)
		if wrong != nil {
			return err
		}
		wrong = c.wire.attempt(ctx, d.request, func(ctx context.Context) Answer { return d.newAnswer(ctx, Deltas{}) })
		switch refused, ok := errors.AsType[*Error](wrong); {
		case ctx.Err() != nil:
			return err
		case ok && badGrammar.MatchString(refused.Message):
			suspects = half
		case ok && (refused.Code == CodeUnreachable || refused.Status >= http.StatusBadRequest):
			return err // another reason
		default:
			suspects = suspects[len(half):]
		}
	}
	named := *failure
	named.Message = fmt.Sprintf("the host refuses the schema of the tool %q, and with it all tools: %s", suspects[0].Name, failure.Message)
	return &named
}
