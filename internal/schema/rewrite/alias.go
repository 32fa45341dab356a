package rewrite

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// maxPropertyName is the longest name of a property that Anthropic accepts, in bytes.
const maxPropertyName = 64

// plainName is the pattern in the error of Anthropic for the name of a property, at any depth.
var plainName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

var oddRune = regexp.MustCompile(`[^a-zA-Z0-9_.-]`)

// Aliases returns an alias for the name of every property that Anthropic refuses. The result maps aliases to names;
// it is nil if all names are accepted. An alias differs from the names that the schema mentions, and matches no pattern
// for names that its name does not match, if there is such an alias.
func Aliases(root any) map[string]string {
	mentioned, odd, patterns := map[string]bool{}, map[string]bool{}, map[string]any{}
	for s := range tree.All(root) {
		maps.Copy(patterns, tree.Object(s["patternProperties"]))
		EachName(s, func(name string) { mentioned[name] = true })
		for name := range tree.Object(s["properties"]) {
			if !plainName.MatchString(name) {
				odd[name] = true
			}
		}
	}
	var out map[string]string
	doc := &tree.Document{Left: maxSteps}
	for _, name := range slices.Sorted(maps.Keys(odd)) {
		taken := func(alias string) bool {
			_, isAlias := out[alias]
			return mentioned[alias] || isAlias || alias == "" || matchesMore(doc, patterns, name, alias)
		}
		hash := sha256.Sum256([]byte(name))
		sum := hex.EncodeToString(hash[:])
		alias := ""
		for try := 0; taken(alias) && try < 12; try++ {
			between, suffix := "_.-"[try/4:][:1], ""
			if digits := try % 4 * 8; digits > 0 {
				suffix = between + sum[:digits]
			}
			plain := oddRune.ReplaceAllString(name, between)
			alias = plain[:min(len(plain), maxPropertyName-len(suffix))] + suffix
		}
		if out == nil {
			out = map[string]string{}
		}
		out[alias] = name
	}
	return out
}

// matchesMore reports whether an alias matches one of the patterns that its name does not match.
func matchesMore(doc *tree.Document, patterns map[string]any, name, alias string) bool {
	return slices.ContainsFunc(tree.Keys(patterns), func(pattern string) bool {
		byName, known := doc.Matches(pattern, name)
		byAlias, _ := doc.Matches(pattern, alias)
		return byAlias && known && !byName
	})
}

// EachName visits the names of properties that the keywords of a subschema mention, but not the
// keywords of its own subschemas. It may visit a name more than once.
func EachName(s map[string]any, visit func(name string)) {
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

// aliases maps the names of properties in a schema to their aliases.
type aliases map[string]string

func newAliases(root any) aliases {
	out := aliases{}
	for alias, name := range Aliases(root) {
		out[name] = alias
	}
	return out
}

// write replaces the names that the keywords of a subschema mention, but not the keywords of its own
// subschemas. The rules for names that only fit the names of the server are left to validation.
func (a aliases) write(out map[string]any, at string, doc *tree.Document, r *report) {
	var odd []string
	EachName(out, func(name string) {
		if _, ok := a[name]; ok {
			odd = append(odd, name)
		}
	})
	if odd == nil {
		return
	}
	for _, key := range []string{"properties", "dependentSchemas", "dependentRequired"} {
		if named := tree.Object(out[key]); named != nil {
			out[key] = a.members(named, tree.Join(at, key), r)
		}
	}
	if required := tree.List(out["required"]); required != nil {
		out["required"] = a.list(required)
	}
	patterns := tree.Object(out["patternProperties"])
	if slices.ContainsFunc(odd, func(name string) bool { return matchesMore(doc, patterns, name, a[name]) }) {
		r.record(at, "patternProperties", profile.Narrower, "a pattern also applies to a renamed property")
	}
	matched := slices.ContainsFunc(tree.Keys(patterns), func(pattern string) bool {
		return slices.ContainsFunc(odd, func(name string) bool {
			matches, known := doc.Matches(pattern, name)
			return matches || !known
		})
	})
	if matched {
		r.record(at, "patternProperties", profile.Wider, "left to validation for renamed properties")
	}
	if _, ok := out["propertyNames"]; ok { // an alias may not fit
		r.record(at, "propertyNames", profile.Wider, "left to validation, because properties are renamed")
		delete(out, "propertyNames")
	}
}

// members gives the members of an object their aliases.
func (a aliases) members(named map[string]any, at string, r *report) map[string]any {
	out := make(map[string]any, len(named))
	for _, name := range tree.Keys(named) {
		says := named[name]
		if others, ok := says.([]any); ok {
			says = a.list(others)
		}
		alias, odd := a[name]
		if odd {
			r.record(tree.Join(at, name), "", profile.Same, "the property is called "+strconv.Quote(alias))
			name = alias
		}
		out[name] = says
	}
	return out
}

// list gives the names in a list their aliases.
func (a aliases) list(all []any) []any {
	out := slices.Clone(all)
	for i, name := range out {
		text, isText := name.(string)
		if alias, odd := a[text]; odd && isText {
			out[i] = alias
		}
	}
	return out
}
