package rewrite

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
)

// maxPropertyName is the longest name of a property that Anthropic takes.
const maxPropertyName = 64

var plainName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

var oddRune = regexp.MustCompile(`[^a-zA-Z0-9_.-]`)

// Aliases gives a plain name to every property whose own name not all providers
// take. It returns the names by alias. No alias is the name of a property, or
// the alias of another.
func Aliases(properties map[string]any) map[string]string {
	var odd []string
	for name := range properties {
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
			_, isProperty := properties[alias]
			_, isAlias := out[alias]
			return isProperty || isAlias || alias == ""
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
