package adapter

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// maxRepairs bounds the subschemas that one repair looks at.
const maxRepairs = 10_000

// maxCompared bounds the names and the values that one repair looks through, and
// the text that it matches with patterns, by 64 bytes.
const maxCompared = 1 << 20

// maxHops bounds the references from one subschema to the next.
const maxHops = 16

// repair changes a value to what its schema says was meant. It guesses nothing:
// every change keeps the information, and what it returns is validated anyway.
// Values are never changed in place.
type repair struct {
	root     any
	left     int                       // subschemas
	compared int                       // of maxCompared that are left
	patterns map[string]*regexp.Regexp // nil for those of another language
}

func newRepair(root any) *repair {
	return &repair{root: root, left: maxRepairs, compared: maxCompared}
}

// spend takes from what may be compared. It returns false when there is not
// enough, and from then on.
func (r *repair) spend(n int) bool {
	if n > r.compared {
		r.compared = -1
		return false
	}
	r.compared -= n
	return true
}

// value repairs v by the subschema s.
func (r *repair) value(s, v any) any {
	if r.left--; r.left < 0 {
		return v
	}
	sub := r.resolve(s)
	if sub == nil {
		return v
	}
	for _, part := range list(sub["allOf"]) {
		v = r.value(part, v)
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if branches := list(sub[keyword]); len(branches) > 0 {
			v = r.branch(branches, v)
		}
	}
	if types := typesOf(sub); len(types) > 0 && !fitsAny(types, v) {
		v = r.convert(types, v)
	}
	switch v := v.(type) {
	case map[string]any:
		return r.object(sub, v)
	case []any:
		return r.array(sub, v)
	case string:
		return enumerated(list(sub["enum"]), v)
	}
	return v
}

// resolve follows references inside the document. It returns nil for a subschema
// that says nothing that a repair could go by, or too much.
func (r *repair) resolve(s any) map[string]any {
	for range maxHops {
		sub, ok := s.(map[string]any)
		if !ok {
			return nil
		}
		ref, ok := sub["$ref"].(string)
		properties, _ := sub["properties"].(map[string]any)
		if !r.spend(len(list(sub["enum"])) + len(list(sub["required"])) + len(properties) + len(ref)/64) {
			return nil
		}
		if !ok {
			return sub
		}
		pointer, ok := strings.CutPrefix(ref, "#")
		if !ok {
			return nil
		}
		s = r.at(pointer)
	}
	return nil
}

// at finds what a JSON pointer points to, nil when there is nothing.
func (r *repair) at(pointer string) any {
	v := r.root
	if pointer == "" {
		return v
	}
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for key := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		switch node := v.(type) {
		case map[string]any:
			v = node[unescape.Replace(key)]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(node) {
				return nil
			}
			v = node[i]
		default:
			return nil
		}
	}
	return v
}

// object repairs the members of an object and drops null where an optional
// member cannot be null: models write it for "not given".
func (r *repair) object(sub, v map[string]any) map[string]any {
	properties, _ := sub["properties"].(map[string]any)
	required := stringList(sub["required"])
	out := make(map[string]any, len(v))
	for name, member := range v {
		property, ok := properties[name]
		if !ok {
			out[name] = r.undescribed(sub, name, member)
			continue
		}
		if member == nil && r.spend(len(required)) && !slices.Contains(required, name) && !r.acceptsNull(property) {
			continue
		}
		out[name] = r.value(property, member)
	}
	return out
}

// undescribed repairs a member that is no property by the patterns that its name
// has, or by what holds for all others.
func (r *repair) undescribed(sub map[string]any, name string, member any) any {
	patterns, _ := sub["patternProperties"].(map[string]any)
	matched := false
	for _, pattern := range slices.Sorted(maps.Keys(patterns)) {
		matches, known := r.matches(pattern, name)
		if !known {
			return member
		}
		if matches {
			member, matched = r.value(patterns[pattern], member), true
		}
	}
	if matched {
		return member
	}
	return r.value(sub["additionalProperties"], member)
}

func (r *repair) acceptsNull(s any) bool {
	sub := r.resolve(s)
	if sub == nil {
		return true
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if branches := list(sub[keyword]); len(branches) > 0 {
			return slices.ContainsFunc(branches, func(b any) bool {
				return fitsAny(typesOf(r.resolve(b)), nil)
			})
		}
	}
	return fitsAny(typesOf(sub), nil)
}

func (r *repair) array(sub map[string]any, v []any) []any {
	out := make([]any, len(v))
	for i, item := range v {
		out[i] = r.value(itemOf(sub, i), item)
	}
	if sub["uniqueItems"] == true {
		return distinct(out)
	}
	return out
}

// distinct leaves out what is there already: a list of unique items is a set.
func distinct(items []any) []any {
	seen := make(map[string]bool, len(items))
	return slices.DeleteFunc(items, func(item any) bool {
		key, err := json.Marshal(item)
		if err != nil || seen[string(key)] {
			return err == nil
		}
		seen[string(key)] = true
		return false
	})
}

// itemOf is the subschema of the item at an index, nil when there is none.
func itemOf(sub map[string]any, i int) any {
	prefix, items := list(sub["prefixItems"]), sub["items"]
	if tuple, ok := items.([]any); ok { // up to 2019-09
		prefix, items = tuple, sub["additionalItems"]
	}
	if i < len(prefix) {
		return prefix[i]
	}
	return items
}
