package rewrite

import (
	"maps"
	"slices"
	"strconv"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// modernOptions are what a provider needs beyond 2020-12.
type modernOptions struct {
	inline     bool // references will be replaced by their targets
	addItems   bool // arrays without items get items
	plainNames bool // properties get names that Anthropic accepts
}

// document is a schema with the keywords of 2020-12.
type document struct {
	*tree.Document
	places map[uintptr]string // paths of its subschemas in the original, by address
}

// modernize returns a copy of a schema with the keywords of 2020-12.
func modernize(root map[string]any, o modernOptions, r *report) *document {
	m := modernizer{
		report:            r,
		modernOptions:     o,
		original:          &tree.Document{Root: root, Left: maxSteps},
		out:               &document{&tree.Document{Left: maxSteps}, map[uintptr]string{}},
		ignoresBesideRefs: isOldDraft(root),
	}
	if o.plainNames {
		m.aliases = aliases{}
		for alias, name := range Aliases(root) {
			m.aliases[name] = alias
		}
	}
	m.out.Root = tree.Object(m.schema(root, ""))
	return m.out
}

type modernizer struct {
	*report
	modernOptions
	original          *tree.Document
	out               *document
	aliases           aliases
	ignoresBesideRefs bool // draft-07 or older: other keywords beside $ref are ignored
	foreign           bool // inside a subschema with its own $id
}

// schema writes a subschema and all below it. The receiver is a copy: what is assigned to its fields holds in this
// subschema only.
func (m modernizer) schema(v any, at string) any {
	s, ok := v.(map[string]any)
	if !ok {
		return v
	}
	m.foreign = m.foreign || m.original.MovesBase(s)
	if _, ok := s["$schema"]; ok && at != "" { // the result has one dialect
		m.ignoresBesideRefs, m.silent = isOldDraft(s), true
		s = tree.Without(s, "$schema")
	}
	out := tree.Map(m.dropBesideRef(s, at), func(p tree.Place, sub any) any {
		path := p.Join(at)
		if p.Many {
			sub = m.expandBool(sub, path)
		}
		return m.schema(sub, path)
	})
	m.updateReference(out)
	m.upgradeKeywords(out, at)
	m.writeItems(out, at)
	m.aliases.write(out, at, m.report)
	m.out.places[tree.Address(out)] = at
	return out
}

// expandBool writes a boolean schema as an object.
func (m *modernizer) expandBool(v any, at string) any {
	allowed, ok := v.(bool)
	if !ok {
		return v
	}
	m.record(at, "", profile.Same, "the schema "+strconv.FormatBool(allowed)+" is written as an object")
	if allowed {
		return map[string]any{}
	}
	return maps.Clone(tree.Nothing)
}

// exclusiveBounds are the keywords that were booleans in draft-04, with the bounds that they made exclusive.
var exclusiveBounds = []struct{ exclusive, inclusive string }{
	{"exclusiveMinimum", "minimum"},
	{"exclusiveMaximum", "maximum"},
}

// upgradeKeywords replaces the keywords of older drafts, and values that 2020-12 does not allow.
func (m *modernizer) upgradeKeywords(out map[string]any, at string) {
	if values, ok := out["enum"].([]any); ok && len(values) == 0 {
		delete(out, "enum")
		out["not"] = map[string]any{}
		m.record(at, "enum", profile.Same, "an empty enum is written as not")
	}
	m.upgradeTuple(out, at)
	for _, bound := range exclusiveBounds {
		exclusive, ok := out[bound.exclusive].(bool)
		if !ok {
			continue
		}
		delete(out, bound.exclusive)
		if limit, ok := out[bound.inclusive]; ok && exclusive {
			out[bound.exclusive] = limit
			delete(out, bound.inclusive)
		}
		m.record(at, bound.exclusive, profile.Same, "the boolean is written as a number")
	}
	m.splitDependencies(out, at)
	for _, key := range tree.NegativeLimits(out) {
		delete(out, key)
		m.record(at, key, profile.Same, "left out, because it is negative")
	}
	for _, key := range []string{"required", "properties"} {
		if v, ok := out[key]; ok && v == nil {
			delete(out, key)
			m.record(at, key, profile.Same, "null was removed")
		}
	}
}

// isTuple reports whether a subschema has a list of items, which older drafts allow.
func isTuple(s map[string]any) bool { return tree.List(s["items"]) != nil }

// upgradeTuple writes a list of items as prefixItems.
func (m *modernizer) upgradeTuple(out map[string]any, at string) {
	if !isTuple(out) {
		return
	}
	m.record(at, "items", profile.Same, "the list of items is written as prefixItems")
	out["prefixItems"] = out["items"]
	delete(out, "items")
	if rest, ok := out["additionalItems"]; ok {
		out["items"] = rest
	}
	delete(out, "additionalItems")
}

// splitDependencies writes dependencies, a keyword up to draft-07, as the two keywords that replaced it.
func (m *modernizer) splitDependencies(out map[string]any, at string) {
	all, ok := out["dependencies"].(map[string]any)
	if !ok {
		return
	}
	delete(out, "dependencies")
	split := map[string]map[string]any{"dependentRequired": {}, "dependentSchemas": {}}
	for name, dependency := range all {
		if _, ok := dependency.([]any); ok {
			split["dependentRequired"][name] = dependency
		} else {
			split["dependentSchemas"][name] = dependency
		}
	}
	for keyword, dependencies := range split {
		if len(dependencies) > 0 {
			out[keyword], _ = mergeValues(keyword, tree.Object(out[keyword]), dependencies)
		}
	}
	m.record(at, "dependencies", profile.Same, "written as dependentRequired and dependentSchemas")
}

// itemApplicators are the keywords whose subschemas may evaluate items.
var itemApplicators = []string{"$ref", "allOf", "anyOf", "oneOf", "if", "contains", "dependentSchemas", "$dynamicRef"}

// closesByItems reports whether unevaluatedItems of a subschema is written as items: for a provider that needs items, or
// that has no unevaluatedItems, which is one for which references are inlined. Such a provider has no contains either,
// which evaluates items, too; beside it, unevaluatedItems is left to validation.
func (m *modernizer) closesByItems(s map[string]any) bool {
	_, closed := s["unevaluatedItems"]
	_, described := s["items"]
	if isTuple(s) {
		_, described = s["additionalItems"]
	}
	_, contains := s["contains"]
	isArray := slices.Contains(tree.Types(s), "array")
	return closed && !described && (m.addItems && isArray || m.inline && !contains)
}

// writeItems writes or drops unevaluatedItems if the provider wants that. Arrays without it and without items get items of
// any kind if the provider needs items.
func (m *modernizer) writeItems(s map[string]any, at string) {
	_, described := s["items"]
	unevaluated, closed := s["unevaluatedItems"]
	switch {
	case m.closesByItems(s):
		effect := profile.Same
		if tree.HasAny(s, itemApplicators) {
			effect = profile.Narrower
		}
		s["items"] = unevaluated
		delete(s, "unevaluatedItems")
		m.record(at, "unevaluatedItems", effect, "written as items")
	case closed && m.inline:
		effect := profile.Same // items describes all of them
		if !described {
			effect = profile.Wider
		}
		delete(s, "unevaluatedItems")
		m.record(at, "unevaluatedItems", effect, "left to validation")
	case m.addItems && !described && slices.Contains(tree.Types(s), "array"):
		s["items"] = map[string]any{}
		m.record(at, "items", profile.Same, "items of any kind are allowed explicitly")
	}
}
