package anthropicmodel

import (
	"strings"

	"github.com/mcpchain/mcpchain/agent/model"
)

// rule is what a family of Claude's models takes.
type rule struct {
	prefix   string
	window   int64 // tokens
	reply    int   // the longest one, in tokens
	thinking thinking
	sampling bool   // takes temperature
	efforts  string // that it takes, as output_config.effort; "" for none
	formats  bool   // holds a reply to a schema
	early    bool   // takes the definitions of tools before all messages alone
}

// thinking is how a model thinks.
type thinking int

const (
	thinksNever   thinking = iota
	thinksBudget           // if a request gives a number of tokens
	thinksIfAsked          // adaptively, if a request asks for it
	thinksUnless           // adaptively, unless a request forbids it
	thinksAlways           // adaptively; a request cannot forbid it
)

const (
	threeEfforts = " low medium high "
	fourEfforts  = threeEfforts + "max "
	allEfforts   = fourEfforts + "xhigh "
)

// rules are looked up by the first prefix that fits. A model that no row has is taken for one that is newer
// than all of them.
var rules = []rule{
	{prefix: "claude-fable", window: 1_000_000, reply: 128_000, thinking: thinksAlways, efforts: allEfforts, formats: true},
	{prefix: "claude-mythos", window: 1_000_000, reply: 128_000, thinking: thinksAlways, efforts: allEfforts, formats: true},
	{prefix: "claude-opus-5", window: 1_000_000, reply: 128_000, thinking: thinksUnless, efforts: allEfforts, formats: true},
	{prefix: "claude-sonnet-5", window: 1_000_000, reply: 128_000, thinking: thinksUnless, efforts: allEfforts, formats: true},
	{prefix: "claude-opus-4-8", window: 1_000_000, reply: 128_000, thinking: thinksIfAsked, efforts: allEfforts, formats: true},
	{prefix: "claude-opus-4-7", window: 1_000_000, reply: 128_000, thinking: thinksIfAsked, efforts: allEfforts, formats: true},
	{prefix: "claude-opus-4-6", window: 1_000_000, reply: 128_000, thinking: thinksIfAsked, sampling: true, efforts: fourEfforts, formats: true},
	{prefix: "claude-sonnet-4-6", window: 1_000_000, reply: 64_000, thinking: thinksIfAsked, sampling: true, efforts: fourEfforts, formats: true},
	{prefix: "claude-opus-4-5", window: 200_000, reply: 64_000, thinking: thinksBudget, sampling: true, efforts: threeEfforts, formats: true},
	{prefix: "claude-sonnet-4-5", window: 200_000, reply: 64_000, thinking: thinksBudget, sampling: true, formats: true},
	{prefix: "claude-haiku-4-5", window: 200_000, reply: 64_000, thinking: thinksBudget, sampling: true, formats: true},
	{prefix: "claude-opus-4-1", window: 200_000, reply: 32_000, thinking: thinksBudget, sampling: true, formats: true, early: true},
	{prefix: "claude-opus-4", window: 200_000, reply: 32_000, thinking: thinksBudget, sampling: true, early: true},
	{prefix: "claude-sonnet-4", window: 200_000, reply: 64_000, thinking: thinksBudget, sampling: true, early: true},
	{prefix: "claude-3-7", window: 200_000, reply: 64_000, thinking: thinksBudget, sampling: true, early: true},
	{prefix: "claude-3-5", window: 200_000, reply: 8_192, sampling: true, early: true},
	{prefix: "claude-3", window: 200_000, reply: 4_096, sampling: true, early: true},
	{prefix: "", window: 200_000, reply: 64_000, thinking: thinksAlways, efforts: threeEfforts, formats: true},
}

// ruleOf finds the rule for a model. Its name may have the prefixes of a gateway or a region before it, as in
// anthropic/claude-opus-4-8 or eu.anthropic.claude-opus-4-8.
func ruleOf(name string) rule {
	name = strings.ToLower(name)
	if i := strings.Index(name, "claude-"); i > 0 {
		name = name[i:]
	}
	for _, r := range rules {
		if strings.HasPrefix(name, r.prefix) {
			return r
		}
	}
	panic("unreachable: the last prefix is empty")
}

const (
	usualReply  = 32_000 // tokens of a reply, thoughts included, if neither the request nor the options bound it
	deepReply   = 64_000 // with the efforts xhigh and max
	leastBudget = 1_024  // tokens of thoughts that the API takes
)

// bound is the bound of a reply in tokens.
func (r *rule) bound(asked, option int, effort string) int {
	switch {
	case asked > 0:
		return min(asked, r.reply)
	case option > 0:
		return min(option, r.reply)
	case effort == "xhigh" || effort == "max":
		return min(deepReply, r.reply)
	}
	return min(usualReply, r.reply)
}

// effort is the nearest one that the model takes.
func (r *rule) effort(asked string) string {
	switch asked {
	case "minimal":
		asked = "low"
	case "xhigh":
		if !strings.Contains(r.efforts, " xhigh ") {
			asked = "high"
		}
	case "max":
		if !strings.Contains(r.efforts, " max ") {
			asked = "high"
		}
	}
	if !strings.Contains(r.efforts, " "+asked+" ") {
		return ""
	}
	return asked
}

// budgets are tokens of thoughts for models that take no effort for them.
var budgets = map[string]int{"minimal": leastBudget, "low": 4_096, "medium": 8_192, "high": 16_384, "xhigh": 24_576, "max": 32_000}

// knownEffort reports whether an effort is one that this package knows.
func knownEffort(effort string) bool { return effort == "" || effort == "none" || budgets[effort] > 0 }

// forced reports whether a choice leaves the model no room to think first.
func forced(c model.Choice) bool { return c == model.ChoiceRequired || c == model.ChoiceTool }
