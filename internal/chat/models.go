package chat

import "strings"

// A model of OpenAI restricts what a request may say. The rows are tried in
// order, the first whose prefix fits applies; ids that fit none are free.
type modelRule struct {
	prefix   string
	reasons  bool // unless told otherwise
	none     bool // takes reasoning_effort "none"
	sampling sampling
}

// sampling is when a model takes temperature, top_p and the penalties.
type sampling int

const (
	whenNotReasoning sampling = iota
	always
	never
)

func modelRules() []modelRule {
	return []modelRule{
		{prefix: "gpt-6-sol", reasons: true, none: true},
		{prefix: "gpt-6-luna", reasons: true, none: true},
		{prefix: "gpt-6", reasons: true, sampling: never},
		{prefix: "gpt-5.6", reasons: true, none: true},
		{prefix: "gpt-5.5-pro", reasons: true, sampling: never},
		{prefix: "gpt-5.4-pro", reasons: true, sampling: never},
		{prefix: "gpt-5.2-pro", reasons: true, sampling: never},
		{prefix: "gpt-5.1-chat", reasons: true, sampling: never},
		{prefix: "gpt-5.2-chat", reasons: true, sampling: never},
		{prefix: "gpt-5.3-chat", reasons: true, sampling: never},
		{prefix: "gpt-5.1-codex", reasons: true, sampling: never},
		{prefix: "gpt-5.5", reasons: true, none: true},
		{prefix: "gpt-5.1", none: true},
		{prefix: "gpt-5.2", none: true},
		{prefix: "gpt-5.3", none: true},
		{prefix: "gpt-5.4", none: true},
		{prefix: "gpt-5-chat", sampling: always},
		{prefix: "gpt-5", reasons: true, sampling: never},
		{prefix: "o1", reasons: true, sampling: never},
		{prefix: "o3", reasons: true, sampling: never},
		{prefix: "o4", reasons: true, sampling: never},
	}
}

// ruleOf finds the rule for a model id, which may name its vendor first.
func ruleOf(model string) modelRule {
	model = strings.TrimPrefix(strings.ToLower(model), "openai/")
	for _, r := range modelRules() {
		if strings.HasPrefix(model, r.prefix) {
			return r
		}
	}
	return modelRule{sampling: always}
}

// reasonsWith says whether the model reasons when asked with an effort.
func (r modelRule) reasonsWith(effort string) bool {
	switch effort {
	case "":
		return r.reasons
	case "none":
		return r.reasons && !r.none
	}
	return true
}

// samplingWith says whether temperature and its kin may be sent.
func (r modelRule) samplingWith(effort string) bool {
	switch r.sampling {
	case always:
		return true
	case never:
		return false
	}
	return !r.reasonsWith(effort)
}

// systemRole is the role in which a model takes its instructions.
func systemRole(p *Profile, model string, r modelRule) string {
	model = strings.TrimPrefix(strings.ToLower(model), "openai/")
	switch {
	case strings.HasPrefix(model, "o1-mini"), strings.HasPrefix(model, "o1-preview"):
		return string(User)
	case p.Developer && r.reasons:
		return "developer"
	}
	return string(System)
}
