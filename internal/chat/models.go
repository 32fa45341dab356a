package chat

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// modelRule describes what a model of OpenAI accepts in a request. The first row with a matching prefix applies;
// other models accept all fields.
type modelRule struct {
	prefix     string
	reasons    bool // it reasons by default
	effortNone bool // it accepts the effort "none"
	sampling   sampling
	addsTools  bool // it accepts definitions of tools within a conversation, at Responses
}

// sampling specifies when a model accepts temperature, top_p and the penalties.
type sampling int

const (
	whenNotReasoning sampling = iota
	always
	never
)

func modelRules() []modelRule {
	return []modelRule{
		{prefix: "gpt-6-sol", reasons: true, effortNone: true, addsTools: true},
		{prefix: "gpt-6-luna", reasons: true, effortNone: true, addsTools: true},
		{prefix: "gpt-6", reasons: true, sampling: never, addsTools: true},
		{prefix: "gpt-5.6", reasons: true, effortNone: true, addsTools: true},
		{prefix: "gpt-5.5-pro", reasons: true, sampling: never},
		{prefix: "gpt-5.4-pro", reasons: true, sampling: never},
		{prefix: "gpt-5.2-pro", reasons: true, sampling: never},
		{prefix: "gpt-5.1-chat", reasons: true, sampling: never},
		{prefix: "gpt-5.2-chat", reasons: true, sampling: never},
		{prefix: "gpt-5.3-chat", reasons: true, sampling: never},
		{prefix: "gpt-5.1-codex", reasons: true, sampling: never},
		{prefix: "gpt-5.5", reasons: true, effortNone: true, addsTools: true},
		{prefix: "gpt-5.1", effortNone: true},
		{prefix: "gpt-5.2", effortNone: true},
		{prefix: "gpt-5.3", effortNone: true},
		{prefix: "gpt-5.4", effortNone: true, addsTools: true},
		{prefix: "gpt-5-chat", sampling: always},
		{prefix: "gpt-5", reasons: true, sampling: never},
		{prefix: "o1", reasons: true, sampling: never},
		{prefix: "o3", reasons: true, sampling: never},
		{prefix: "o4", reasons: true, sampling: never},
	}
}

// bareModel returns a model id in lower case and without OpenAI as its vendor.
func bareModel(model string) string { return strings.TrimPrefix(strings.ToLower(model), "openai/") }

// findRule finds the rule for a model id.
func findRule(model string) modelRule {
	model = bareModel(model)
	for _, r := range modelRules() {
		if strings.HasPrefix(model, r.prefix) {
			return r
		}
	}
	return modelRule{sampling: always}
}

// reasonsWith reports whether the model reasons at an effort.
func (r modelRule) reasonsWith(effort string) bool {
	switch effort {
	case "":
		return r.reasons
	case "none":
		return r.reasons && !r.effortNone
	}
	return true
}

// responsesOnlyModels returns the prefixes of models that take tools only at OpenAI's endpoint
// Responses. Others of their families take them at Chat Completions if they do not reason.
func responsesOnlyModels() []string { return []string{"gpt-6-astra", "gpt-6.1"} }

// needsResponses reports whether a model accepts tools only at Responses.
func needsResponses(model string) bool {
	model = bareModel(model)
	return slices.ContainsFunc(responsesOnlyModels(), func(prefix string) bool { return strings.HasPrefix(model, prefix) })
}

// effortWithTools returns the effort for a request with tools. If it must differ from the model's default, a warning says
// why. It is an error if the model takes no tools at Chat Completions.
func (p *Profile) effortWithTools(model string, r modelRule, effort string) (possible, warning string, err error) {
	if !p.Developer || effort != "" && effort != "none" {
		return effort, "", nil
	}
	switch {
	case needsResponses(model):
		return "", "", fmt.Errorf("model %s takes tools only at the Responses API, and this is Chat Completions: "+
			"set API to responses, or leave it empty", excerpt.Cut(model))
	case effort == "" && r.reasons && r.effortNone:
		warning = fmt.Sprintf("the model %s takes tools at Chat Completions only without reasoning: the effort is none", excerpt.Cut(model))
		return "none", warning, nil
	}
	return effort, "", nil
}

// samplingWith reports whether the model accepts temperature, top_p and the penalties at an effort.
func (r modelRule) samplingWith(effort string) bool {
	switch r.sampling {
	case always:
		return true
	case never:
		return false
	}
	return !r.reasonsWith(effort)
}

// formatModels returns the prefixes of OpenAI's models that enforce the schema of a reply.
func formatModels() []string {
	return []string{"gpt-4o", "gpt-4.1", "gpt-4.5", "gpt-5", "gpt-6", "o1", "o3", "o4"}
}

// formatlessModels returns prefixes of exceptions to formatModels.
func formatlessModels() []string {
	return []string{"gpt-4o-2024-05-13", "gpt-4o-audio", "gpt-4o-mini-audio", "o1-mini", "o1-preview"}
}

// takesFormat reports whether a model of OpenAI enforces the schema of a reply.
func takesFormat(model string) bool {
	begins := func(prefix string) bool { return strings.HasPrefix(strings.ToLower(model), prefix) }
	return slices.ContainsFunc(formatModels(), begins) && !slices.ContainsFunc(formatlessModels(), begins)
}

// systemRole returns the role of instructions for a model.
func systemRole(p *Profile, model string, r modelRule) string {
	model = bareModel(model)
	switch {
	case strings.HasPrefix(model, "o1-mini"), strings.HasPrefix(model, "o1-preview"):
		return string(User)
	case p.Developer && r.reasons:
		return "developer"
	}
	return string(System)
}
