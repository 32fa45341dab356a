package rewrite

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// elsewhere is a reference that never has a target.
const elsewhere = "elsewhere"

// modernOptions say what a provider wants everywhere.
type modernOptions struct {
	Inline     bool // references are to be replaced by their targets
	Items      bool // lists that say nothing of their items get items
	PlainNames bool // of properties
}

// document is a schema in the words of 2020-12.
type document struct {
	*tree.Document
	Places map[uintptr]string // of its subschemas in the original, by address
}

// modernize writes a schema in the words of 2020-12, which stays as it is.
func modernize(root map[string]any, o modernOptions, r *Report) *document {
	doc := &tree.Document{Root: root, Left: maxSteps}
	out := &document{&tree.Document{Left: maxSteps}, map[uintptr]string{}}
	m := modernizer{Report: r, modernOptions: o, original: doc, out: out, early: early(root)}
	if o.PlainNames {
		m.names = newNames(doc)
	}
	out.Root = tree.Object(m.schema(root, ""))
	return out
}

type modernizer struct {
	*Report
	modernOptions
	original *tree.Document
	out      *document
	names    *names
	early    bool // it is of a draft in which a reference stands alone
	foreign  bool // it is inside of another document
}

// schema writes a subschema and all below it.
func (m modernizer) schema(v any, at string) any {
	s, ok := v.(map[string]any)
	if !ok {
		return v
	}
	m.foreign = m.foreign || m.original.MovesBase(s)
	if _, ok := s["$schema"]; ok && at != "" { // what is written is of one dialect
		m.early, m.Silent = early(s), true
		s = tree.Without(s, "$schema")
	}
	out := tree.Map(m.alone(s, at), func(p tree.Place, sub any) any {
		path := p.Join(at)
		if p.Many {
			sub = m.plainBool(sub, path)
		}
		return m.schema(sub, path)
	})
	m.reference(out)
	m.words(out, at)
	if m.wantsItems(out) {
		m.anyItems(out, at)
	}
	if m.names != nil {
		m.names.write(out, at, m.Report)
	}
	m.out.Places[tree.Address(out)] = at
	return out
}

// early reports whether a schema declares a draft up to draft-07, which says of a
// $ref: "All other properties in a "$ref" object MUST be ignored".
func early(s map[string]any) bool { return strings.Contains(tree.Text(s["$schema"]), "/draft-0") }

// alone leaves out what an early draft ignores beside a reference.
func (m *modernizer) alone(s map[string]any, at string) map[string]any {
	if _, ok := s["$ref"].(string); !ok || !m.early {
		return s
	}
	out := maps.Clone(s)
	for _, key := range tree.Keys(s) {
		switch {
		case key == "$ref", key == "definitions", key == "$defs", slices.Contains(tree.Remarks, key), strings.HasPrefix(key, "x-"):
		default:
			delete(out, key)
			m.Note(at, key, Same, "left out, because its draft ignores it beside $ref")
		}
	}
	return out
}

// reference writes where a reference leads now. If references are replaced by their
// targets, one that leads out of the document has none.
func (m *modernizer) reference(out map[string]any) {
	for _, key := range []string{"$dynamicRef", "$recursiveRef"} {
		if _, ok := out[key]; ok && m.Inline {
			delete(out, key)
			out["$ref"] = elsewhere
		}
	}
	ref, ok := out["$ref"].(string)
	switch {
	case ok && m.foreign && m.Inline:
		out["$ref"] = elsewhere
	case ok && !m.foreign:
		out["$ref"] = m.moved(ref)
	}
}

// moved is a reference to a place that has another name now.
func (m *modernizer) moved(ref string) string {
	place, ok := tree.Fragment(ref)
	if !ok || !strings.HasPrefix(place, "/") {
		return ref
	}
	var path []string
	v, changed := any(m.original.Root), false
	segments := strings.Split(place[1:], "/")
	for i := 0; i < len(segments); i++ {
		s, key := tree.Object(v), segments[i]
		a, ok := tree.Lookup(key)
		if !ok || s[key] == nil || m.original.MovesBase(s) {
			return ref
		}
		path = append(path, renamed(key, s))
		changed = changed || renamed(key, s) != key
		v = s[key]
		if i++; i < len(segments) && (a.Named() || tree.List(v) != nil) {
			name := tree.Unescape(segments[i])
			v = member(v, name)
			if alias, ok := m.names.alias(name); ok && key != "patternProperties" && a.Kind != tree.Definitions {
				name, changed = alias, true
			}
			path = append(path, name)
			continue
		}
		i--
	}
	if !changed {
		return ref
	}
	return "#" + tree.Join("", path...)
}

// renamed is a keyword of s in the words of 2020-12.
func renamed(key string, s map[string]any) string {
	tuple := tree.List(s["items"]) != nil
	switch {
	case key == "items" && tuple:
		return "prefixItems"
	case key == "additionalItems" && tuple:
		return "items"
	case key == "dependencies":
		return "dependentSchemas"
	}
	return key
}

// member is a member of an object, or an item of a list by its index.
func member(v any, name string) any {
	if named := tree.Object(v); named != nil {
		return named[name]
	}
	if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(tree.List(v)) {
		return tree.List(v)[i]
	}
	return nil
}

// plainBool writes a schema that is a boolean as an object.
func (m *modernizer) plainBool(v any, at string) any {
	allowed, ok := v.(bool)
	if !ok {
		return v
	}
	m.Note(at, "", Same, "the schema "+strconv.FormatBool(allowed)+" is written as an object")
	if allowed {
		return map[string]any{}
	}
	return maps.Clone(tree.Nothing)
}

// words writes the keywords of older drafts as those that followed them.
func (m *modernizer) words(out map[string]any, at string) {
	if values, ok := out["enum"].([]any); ok && len(values) == 0 {
		delete(out, "enum")
		out["not"] = map[string]any{}
		m.Note(at, "enum", Same, "an enumeration of nothing is written as not")
	}
	if tuple, ok := out["items"].([]any); ok {
		m.Note(at, "items", Same, "the list of items is written as prefixItems")
		out["prefixItems"] = tuple
		delete(out, "items")
		if rest, ok := out["additionalItems"]; ok {
			out["items"] = rest
		}
		delete(out, "additionalItems")
	}
	for exclusive, inclusive := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		on, ok := out[exclusive].(bool)
		if !ok {
			continue
		}
		delete(out, exclusive)
		if limit, ok := out[inclusive]; ok && on {
			out[exclusive] = limit
			delete(out, inclusive)
		}
		m.Note(at, exclusive, Same, "the boolean is written as a number")
	}
	m.dependencies(out, at)
	for _, key := range []string{"required", "properties"} {
		if v, ok := out[key]; ok && v == nil {
			delete(out, key)
			m.Note(at, key, Same, "null was removed")
		}
	}
}

// dependencies writes the one keyword, up to draft-07, as the two that followed it.
func (m *modernizer) dependencies(out map[string]any, at string) {
	all, ok := out["dependencies"].(map[string]any)
	if !ok {
		return
	}
	delete(out, "dependencies")
	split := map[string]map[string]any{"dependentRequired": {}, "dependentSchemas": {}}
	for name, says := range all {
		if _, ok := says.([]any); ok {
			split["dependentRequired"][name] = says
		} else {
			split["dependentSchemas"][name] = says
		}
	}
	for key, says := range split {
		if len(says) > 0 {
			merged, _ := together(key, tree.Object(out[key]), says)
			out[key] = merged
		}
	}
	m.Note(at, "dependencies", Same, "written as dependentRequired and dependentSchemas")
}

// wantsItems reports whether the items of a list are to be spelled out.
func (m *modernizer) wantsItems(s map[string]any) bool {
	_, there := s["items"]
	return !there && m.Items && slices.Contains(tree.Types(s), "array")
}

// applies are the keywords that evaluate items, beside prefixItems.
var applies = []string{"$ref", "allOf", "anyOf", "oneOf", "if", "contains", "dependentSchemas", "$dynamicRef"}

// anyItems spells out the items of a list that says nothing of them, or only of the
// unevaluated ones.
func (m *modernizer) anyItems(s map[string]any, at string) {
	rest, ok := s["unevaluatedItems"]
	if !ok {
		s["items"] = map[string]any{}
		m.Note(at, "items", Same, "items of any kind are spelled out")
		return
	}
	effect := Same
	if tree.Says(s, applies) {
		effect = Narrower
	}
	s["items"] = rest
	delete(s, "unevaluatedItems")
	m.Note(at, "unevaluatedItems", effect, "written as items")
}
