package rewrite

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"

	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// maxPropertyName is the longest name of a property that Anthropic accepts.
const maxPropertyName = 64

var plainName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

var oddRune = regexp.MustCompile(`[^a-zA-Z0-9_.-]`)

// Aliases returns an alias for every property whose name some provider refuses, wherever a schema
// mentions it. The result maps aliases to names. No alias is the name of a property.
func Aliases(root any) map[string]string {
	c := collector{names: map[string]bool{}, taken: map[string]bool{}}
	for s := range tree.All(root) {
		eachDescribed(s, func(name string) { c.names[name] = true })
		for _, value := range Enumerated(s) {
			c.addValue(value)
		}
		for says := range tree.All(s["propertyNames"]) {
			for _, name := range tree.Strings(Enumerated(says)) {
				c.taken[name] = true
			}
		}
	}
	return c.aliases()
}

// collector collects the names of properties that a schema mentions, and the names in its
// enumerated values, which no alias may have.
type collector struct{ names, taken map[string]bool }

// addValue collects the names in an enumerated value.
func (c *collector) addValue(v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			c.addValue(item)
		}
	case map[string]any:
		for name, member := range v {
			c.taken[name] = true
			c.addValue(member)
		}
	}
}

// Enumerated lists the values of enum and const.
func Enumerated(s map[string]any) []any {
	values := tree.List(s["enum"])
	if v, ok := s["const"]; ok {
		values = append(slices.Clip(values), v)
	}
	return values
}

// eachDescribed visits the names of properties that the keywords of a subschema mention. It may
// visit a name more than once.
func eachDescribed(s map[string]any, visit func(name string)) {
	for _, key := range []string{"properties", "dependentRequired", "dependentSchemas", "dependencies"} {
		for name, says := range tree.Object(s[key]) {
			visit(name)
			for _, other := range tree.Strings(says) {
				visit(other)
			}
		}
	}
	for _, name := range tree.Strings(s["required"]) {
		visit(name)
	}
}

// EachName visits the names of properties that a subschema mentions, also in its enumerated values.
// It may visit a name more than once.
func EachName(s map[string]any, visit func(name string)) {
	eachDescribed(s, visit)
	for _, value := range Enumerated(s) {
		for name := range tree.Object(value) {
			visit(name)
		}
	}
}

// aliases maps aliases to names. No alias is the name of a property or the alias of another name.
func (c *collector) aliases() map[string]string {
	var odd []string
	for name := range c.names {
		if !plainName.MatchString(name) {
			odd = append(odd, name)
		}
	}
	slices.Sort(odd)
	var out map[string]string
	for _, name := range odd {
		alias := oddRune.ReplaceAllString(name, "_")
		if len(alias) > maxPropertyName {
			alias = alias[:maxPropertyName]
		}
		taken := func(alias string) bool {
			_, isAlias := out[alias]
			return c.names[alias] || c.taken[alias] || isAlias || alias == ""
		}
		sum := sha256.Sum256([]byte(name))
		for salt := 8; taken(alias) && salt <= len(sum)*2; salt += 8 {
			suffix := "_" + hex.EncodeToString(sum[:])[:salt]
			alias = alias[:min(len(alias), max(maxPropertyName-len(suffix), 0))] + suffix
			alias = alias[:min(len(alias), maxPropertyName)]
		}
		if out == nil {
			out = map[string]string{}
		}
		out[alias] = name
	}
	return out
}
