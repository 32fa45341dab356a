package rewrite

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"regexp"
	"slices"
	"strconv"
)

// maxPropertyName is the longest name of a property that Anthropic takes.
const maxPropertyName = 64

var plainName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

var oddRune = regexp.MustCompile(`[^a-zA-Z0-9_.-]`)

// DocumentAliases gives a plain name to every property whose own name not all
// providers take, wherever a schema or a subschema of it names one. It returns the
// names by alias: a name has one alias, that no property has.
func DocumentAliases(root any) map[string]string {
	c := collector{}
	c.names(root)
	return Aliases(c)
}

// collector has the names of properties that a schema mentions.
type collector map[string]any

func (c collector) names(v any) {
	s := object(v)
	if s == nil {
		return
	}
	EachName(s, func(name string) { c[name] = nil })
	eachBelow(s, c.names)
}

// EachName visits the names of properties that a subschema mentions itself, some
// of them more than once.
func EachName(s map[string]any, visit func(name string)) {
	for _, key := range []string{"properties", "dependentRequired", "dependentSchemas", "dependencies"} {
		for name, says := range object(s[key]) {
			visit(name)
			for _, other := range names(says) {
				visit(other)
			}
		}
	}
	for _, name := range names(s["required"]) {
		visit(name)
	}
}

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

// plainNames gives properties names that Anthropic takes, wherever they are named.
func (w *writer) plainNames(out map[string]any, at string) {
	if w.target != Anthropic {
		return
	}
	if w.aliases == nil {
		w.aliases = map[string]string{}
		for alias, name := range DocumentAliases(w.doc.Root) {
			w.aliases[name] = alias
		}
	}
	if len(w.aliases) == 0 {
		return
	}
	w.patternedNames(out)
	for _, key := range []string{"properties", "dependentSchemas", "dependentRequired"} {
		if named := object(out[key]); named != nil {
			out[key] = w.renamed(named, join(at, key))
		}
	}
	if required := list(out["required"]); required != nil {
		out["required"] = w.aliased(required)
	}
}

// renamed gives the members of what is listed by the name of a property their
// aliases.
func (w *writer) renamed(named map[string]any, at string) map[string]any {
	out := make(map[string]any, len(named))
	for _, name := range keys(named) {
		says := named[name]
		if others, ok := says.([]any); ok {
			says = w.aliased(others)
		}
		alias, odd := w.aliases[name]
		if !odd {
			out[name] = says
			continue
		}
		out[alias] = says
		w.note(join(at, name), "", Same, "the property is called "+strconv.Quote(alias))
	}
	return out
}

// aliased lists names of properties as they are called.
func (w *writer) aliased(all []any) []any {
	out := slices.Clone(all)
	for i, name := range out {
		if alias, odd := w.aliases[text(name)]; odd && name == text(name) {
			out[i] = alias
		}
	}
	return out
}

// patternedNames describes properties that are only described by patterns of
// their names, which their aliases may not match.
func (w *writer) patternedNames(out map[string]any) {
	patterns := object(out["patternProperties"])
	if len(patterns) == 0 {
		return
	}
	properties := maps.Clone(object(out["properties"]))
	for _, name := range slices.Sorted(maps.Keys(w.aliases)) {
		for _, pattern := range keys(patterns) {
			if matches, _ := w.doc.Matches(pattern, name); !matches {
				continue
			}
			if properties == nil {
				properties = map[string]any{}
			}
			if old, ok := properties[name]; ok {
				properties[name] = allOf(old, patterns[pattern])
			} else {
				properties[name] = patterns[pattern]
			}
		}
	}
	if properties != nil {
		out["properties"] = properties
	}
}
