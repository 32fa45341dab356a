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

// acceptedName is the pattern in the error of Anthropic for the name of a property, at any depth.
var acceptedName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

// refusedRune matches what no name may contain.
var refusedRune = regexp.MustCompile(`[^a-zA-Z0-9_.-]`)

// Aliases returns an alias for the name of every property that Anthropic refuses. The result maps aliases to names;
// it is nil if all names are accepted. An alias differs from the names that the schema mentions.
func Aliases(root any) map[string]string {
	mentioned, refused := map[string]bool{}, map[string]bool{}
	for s := range tree.All(root) {
		EachName(s, func(name string) { mentioned[name] = true })
		for name := range tree.Object(s["properties"]) {
			if !acceptedName.MatchString(name) {
				refused[name] = true
			}
		}
	}
	if len(refused) == 0 {
		return nil
	}
	out := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(refused)) {
		alias := aliasOf(name, mentioned)
		mentioned[alias], out[alias] = true, name
	}
	return out
}

// aliasOf returns the name with "_" instead of each refused character, followed by a part of its hash if that name is empty
// or taken.
func aliasOf(name string, taken map[string]bool) string {
	plain := refusedRune.ReplaceAllString(name, "_")
	sum := sha256.Sum256([]byte(name))
	alias := plain[:min(len(plain), maxPropertyName)]
	for n := 4; (alias == "" || taken[alias]) && n <= 12; n += 4 {
		suffix := "_" + hex.EncodeToString(sum[:n])
		alias = plain[:min(len(plain), maxPropertyName-len(suffix))] + suffix
	}
	return alias
}

// EachName visits the names of properties that the keywords of a subschema mention, but not the
// keywords of its own subschemas. It may visit a name more than once.
func EachName(s map[string]any, visit func(name string)) {
	for _, key := range []string{"properties", "dependentRequired", "dependentSchemas", "dependencies"} {
		for name, value := range tree.Object(s[key]) {
			visit(name)
			for _, other := range tree.Strings(value) { // the names that a property depends on
				visit(other)
			}
		}
	}
	for _, name := range tree.Strings(s["required"]) {
		visit(name)
	}
}

// aliased are the keywords whose members are named by properties.
var aliased = []string{"properties", "dependentSchemas", "dependentRequired"}

// aliases maps the names of properties in a schema to their aliases.
type aliases map[string]string

// write replaces the names that the keywords of a subschema mention, but not the keywords of its own subschemas. Beside
// a name that is replaced, the rules for names (propertyNames and patternProperties) are left to validation.
func (a aliases) write(out map[string]any, at string, r *report) {
	renames := false
	EachName(out, func(name string) {
		_, renamed := a[name]
		renames = renames || renamed
	})
	if !renames {
		return
	}
	for _, key := range aliased {
		if named := tree.Object(out[key]); named != nil {
			out[key] = a.members(named, tree.Join(at, key), r)
		}
	}
	if required := tree.List(out["required"]); required != nil {
		out["required"] = a.list(required)
	}
	if _, ok := out["patternProperties"]; ok { // an alias may match other patterns than its name
		r.record(at, "patternProperties", profile.Wider, "left to validation, because properties are renamed")
		if rest, key := tree.Rest(out); key != "" && rest != true {
			r.record(at, key, profile.Narrower, "it also applies to names that a pattern describes")
		}
		delete(out, "patternProperties")
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
		value := named[name]
		if others, ok := value.([]any); ok {
			value = a.list(others)
		}
		if alias, ok := a[name]; ok {
			r.record(tree.Join(at, name), "", profile.Same, "the property is called "+strconv.Quote(alias))
			name = alias
		}
		out[name] = value
	}
	return out
}

// list gives the names in a list their aliases.
func (a aliases) list(all []any) []any {
	out := slices.Clone(all)
	for i, name := range out {
		text, isText := name.(string)
		if alias, ok := a[text]; ok && isText {
			out[i] = alias
		}
	}
	return out
}
