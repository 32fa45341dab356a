package chat

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// modelRule describes what a model of OpenAI accepts in a request. The first row with a matching prefix applies;
// other models accept all fields.
type modelRule struct {
	prefixes   []string
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
		{prefixes: []string{"gpt-5.5-pro", "gpt-5.4-pro", "gpt-5.2-pro", "gpt-5.1-chat", "gpt-5.2-chat", "gpt-5.3-chat", "gpt-5.1-codex"},
			reasons: true, sampling: never},
		{prefixes: []string{"gpt-6-sol", "gpt-6-luna", "gpt-5.6", "gpt-5.5"}, reasons: true, effortNone: true, addsTools: true},
		{prefixes: []string{"gpt-6"}, reasons: true, sampling: never, addsTools: true},
		{prefixes: []string{"gpt-5.4"}, effortNone: true, addsTools: true},
		{prefixes: []string{"gpt-5.1", "gpt-5.2", "gpt-5.3"}, effortNone: true},
		{prefixes: []string{"gpt-5-chat"}, sampling: always},
		{prefixes: []string{"gpt-5", "o1", "o3", "o4"}, reasons: true, sampling: never},
	}
}

// bareModel returns a model id in lower case and without OpenAI as its vendor.
func bareModel(model string) string { return strings.TrimPrefix(strings.ToLower(model), "openai/") }

// findRule finds the rule for a model id.
func findRule(model string) modelRule {
	model = bareModel(model)
	for _, r := range modelRules() {
		if begins(model, r.prefixes...) {
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

// begins reports whether a model's name begins with one of the prefixes.
func begins(model string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(model, prefix) })
}

// needsResponses reports whether a model accepts tools only at Responses. Others of its family
// accept them at Chat Completions if they do not reason.
func needsResponses(model string) bool { return begins(bareModel(model), "gpt-6-astra", "gpt-6.1") }

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

// takesFormat reports whether a model of OpenAI enforces the schema of a reply.
func takesFormat(model string) bool {
	model = strings.ToLower(model)
	return begins(model, "gpt-4o", "gpt-4.1", "gpt-4.5", "gpt-5", "gpt-6", "o1", "o3", "o4") &&
		!begins(model, "gpt-4o-2024-05-13", "gpt-4o-audio", "gpt-4o-mini-audio", "o1-mini", "o1-preview")
}

// systemRole returns the role of instructions for a model.
func systemRole(p *Profile, model string, r modelRule) string {
	switch {
	case begins(bareModel(model), "o1-mini", "o1-preview"):
		return string(User)
	case p.Developer && r.reasons:
		return "developer"
	}
	return string(System)
}

// The endpoints of OpenAI's API.
const (
	Chat      = "chat"      // Chat Completions
	Responses = "responses" // Responses, used without a store at the host
)

// Endpoint returns the endpoint for new conversations with a model.
func (c *Client) Endpoint(model string) string {
	switch {
	case c.api != "":
		return c.api
	case c.profile.Responses && wantsResponses(model):
		return Responses
	}
	return Chat
}

// EndpointOf returns the endpoint for a request: the endpoint of its conversation, if this host has
// it for the model, else the endpoint for new conversations.
func (c *Client) EndpointOf(r *Request) string {
	switch {
	case c.api != "":
	case r.Endpoint == Responses && c.profile.Responses:
		return Responses
	case r.Endpoint == Chat && !(len(r.Tools) > 0 && c.profile.Responses && needsResponses(r.Model)):
		return Chat
	}
	return c.Endpoint(r.Model)
}

var gptVersion = regexp.MustCompile(`^gpt-(\d+)(?:\.(\d+))?`)

// wantsResponses reports whether a model of OpenAI works better, or only, at Responses: models since gpt-5.4 reason
// there with tools and keep their reasoning between calls.
func wantsResponses(model string) bool {
	model = bareModel(model)
	if m := gptVersion.FindStringSubmatch(model); m != nil && !strings.Contains(model, "-chat") {
		major, _ := strconv.Atoi(m[1])
		minor, _ := strconv.Atoi(m[2])
		if major > 5 || major == 5 && minor >= 4 {
			return true
		}
	}
	return strings.Contains(model, "-codex") || strings.Contains(model, "-pro") || strings.Contains(model, "deep-research")
}
