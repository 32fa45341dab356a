package rewrite

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
)

func TestAliases(t *testing.T) {
	long := strings.Repeat("é", 50)
	properties := map[string]any{"ok": true, "a b": true, "a/b": true, "a_b": true, "": true, long: true, strings.Repeat("x", 65): true}
	root := map[string]any{"properties": properties}
	aliases := Aliases(root)
	check.Equal(t, "one for each of 5 odd names", len(aliases), 5)
	for alias, name := range aliases {
		_, taken := properties[alias]
		check.That(t, !taken && acceptedName.MatchString(alias), "got the alias %q of %q, want a plain name of its own", alias, name)
	}
	check.Same(t, "got others the second time", Aliases(root), aliases)
}

// An alias is held to no pattern that its name does not match. If all aliases match one, that is reported.
func TestAliasesAndPatterns(t *testing.T) {
	for pattern, avoidable := range map[string]bool{`^a_`: true, `^\\w+$`: true, `^[a-z_]+$`: true, `^a_b$`: true, `^[\\w.-]+$`: false, `b`: true} {
		in := decode(t, `{"type":"object","properties":{"a b":{"type":"string"}},"patternProperties":{"`+pattern+`":{"type":"integer"}}}`)
		narrower := slices.ContainsFunc(For(profile.Anthropic, in, nil).Changes, func(c profile.Change) bool { return c.Effect == profile.Narrower })
		check.Equal(t, "narrower because of "+pattern, narrower, !avoidable)
		for alias := range Aliases(in) {
			check.Equal(t, alias+" matches "+pattern, regexp.MustCompile(strings.ReplaceAll(pattern, `\\`, `\`)).MatchString(alias), !avoidable || pattern == "b")
		}
	}
}
