package anthropicmodel

import (
	"cmp"
	"strings"

	"github.com/mcpchain/mcpchain/agent/model"
)

// rule describes what a family of Claude models accepts.
type rule struct {
	prefixes         string // the beginnings of the models' names, with spaces between them
	window           int64  // tokens
	reply            int    // longest reply in tokens
	thinking         thinking
	takesTemperature bool
	efforts          string // accepted values of output_config.effort, each between spaces
	enforcesFormat   bool   // enforces a schema for a reply
	toolsFirst       bool   // accepts definitions of tools only before all messages
}

// thinking specifies when a model thinks.
type thinking int

const (
	thinksNever   thinking = iota
	thinksBudget           // if a request gives a number of tokens
	thinksIfAsked          // adaptively, if a request asks for it
	thinksUnless           // adaptively, unless a request forbids it
	thinksBetween          // as thinksAlways; a request can limit it to notes between calls
	thinksAlways           // adaptively; a request cannot forbid it
)

const (
	threeEfforts = " low medium high "
	fourEfforts  = threeEfforts + "max "
	allEfforts   = fourEfforts + "xhigh "
)

// rules has the rules of the families; the first matching prefix counts.
var rules = []rule{
	{prefixes: "claude-fable claude-mythos claude-opus-5-5",
		window: 1_000_000, reply: 128_000, thinking: thinksAlways, efforts: allEfforts, enforcesFormat: true},
	{prefixes: "claude-sonnet-5-5", window: 1_000_000, reply: 128_000, thinking: thinksBetween, efforts: allEfforts, enforcesFormat: true},
	{prefixes: "claude-haiku-5-5 claude-opus-5 claude-sonnet-5",
		window: 1_000_000, reply: 128_000, thinking: thinksUnless, efforts: allEfforts, enforcesFormat: true},
	{prefixes: "claude-opus-4-8 claude-opus-4-7",
		window: 1_000_000, reply: 128_000, thinking: thinksIfAsked, efforts: allEfforts, enforcesFormat: true},
	{prefixes: "claude-opus-4-6", window: 1_000_000, reply: 128_000, thinking: thinksIfAsked, takesTemperature: true, efforts: fourEfforts, enforcesFormat: true},
	{prefixes: "claude-sonnet-4-6", window: 1_000_000, reply: 64_000, thinking: thinksIfAsked, takesTemperature: true, efforts: fourEfforts, enforcesFormat: true},
	{prefixes: "claude-opus-4-5", window: 200_000, reply: 64_000, thinking: thinksBudget, takesTemperature: true, efforts: threeEfforts, enforcesFormat: true},
	{prefixes: "claude-sonnet-4-5 claude-haiku-4-5", window: 200_000, reply: 64_000, thinking: thinksBudget, takesTemperature: true, enforcesFormat: true},
	{prefixes: "claude-opus-4-1", window: 200_000, reply: 32_000, thinking: thinksBudget, takesTemperature: true, enforcesFormat: true, toolsFirst: true},
	{prefixes: "claude-opus-4", window: 200_000, reply: 32_000, thinking: thinksBudget, takesTemperature: true, toolsFirst: true},
	{prefixes: "claude-sonnet-4 claude-3-7", window: 200_000, reply: 64_000, thinking: thinksBudget, takesTemperature: true, toolsFirst: true},
	{prefixes: "claude-3-5", window: 200_000, reply: 8_192, takesTemperature: true, toolsFirst: true},
	{prefixes: "claude-3", window: 200_000, reply: 4_096, takesTemperature: true, toolsFirst: true},
}

// newest is the rule of an unknown model, which is assumed to be newer than all others.
var newest = rule{window: 200_000, reply: 64_000, thinking: thinksAlways, efforts: threeEfforts, enforcesFormat: true}

// findRule finds the rule for a model. The name may have the prefix of a gateway or a region, and a
// dot in the version, as in anthropic/claude-opus-4.8 or eu.anthropic.claude-opus-4-8.
func findRule(name string) rule {
	name = strings.ToLower(name)
	if i := strings.Index(name, "claude-"); i > 0 {
		name = name[i:]
	}
	name = strings.ReplaceAll(name, ".", "-")
	for _, r := range rules {
		for prefix := range strings.FieldsSeq(r.prefixes) {
			if strings.HasPrefix(name, prefix) {
				return r
			}
		}
	}
	return newest
}

const (
	defaultReply = 32_000 // tokens of a reply, thoughts included, if neither the request nor the options bound it
	deepReply    = 64_000 // with the efforts xhigh and max
	leastBudget  = 1_024  // fewest tokens of thoughts that the API accepts
)

// maxTokens returns the bound of a reply in tokens: the request's, or else the options', or else by effort.
func (r *rule) maxTokens(asked, option int, effort string) int {
	byEffort := defaultReply
	if effort == "xhigh" || effort == "max" {
		byEffort = deepReply
	}
	return min(cmp.Or(max(0, asked), max(0, option), byEffort), r.reply)
}

// effort returns the nearest effort that the model accepts, "" if it accepts none.
func (r *rule) effort(asked string) string {
	switch asked {
	case "minimal":
		asked = "low"
	case "xhigh", "max":
		if !strings.Contains(r.efforts, " "+asked+" ") {
			asked = "high"
		}
	}
	if !strings.Contains(r.efforts, " "+asked+" ") {
		return ""
	}
	return asked
}

// budgets are the tokens of thoughts by effort, for models that need a budget.
var budgets = map[string]int{"minimal": leastBudget, "low": 4_096, "medium": 8_192, "high": 16_384, "xhigh": 24_576, "max": 32_000}

// isKnownEffort reports whether this package knows an effort.
func isKnownEffort(effort string) bool {
	return effort == "" || effort == "none" || budgets[effort] > 0
}

// isForced reports whether the model must call a tool immediately, without thinking.
func isForced(c model.Choice) bool { return c == model.ChoiceRequired || c == model.ChoiceTool }
