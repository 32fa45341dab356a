package tree

import (
	"net/url"
	"reflect"
	"strconv"
	"strings"
)

// Document resolves the references of a schema and matches its patterns, until its steps are used
// up. It is for one goroutine at a time.
type Document struct {
	Root map[string]any // must not change
	Left int            // steps that may still be spent

	anchors  map[string]any      // subschema of each anchor; nil before the first search
	patterns map[string]*Pattern // nil for a pattern in another syntax
}

// Spend uses n steps. If there are not enough, it uses all and returns false.
func (d *Document) Spend(n int) bool {
	if n > d.Left {
		d.Left = 0
		return false
	}
	d.Left -= n
	return true
}

// Matches reports whether a text matches a pattern. known is false if the pattern has another
// syntax, which only the server checks, or if there are too few steps.
func (d *Document) Matches(expr, text string) (matches, known bool) {
	if d.Left == 0 {
		return false, false
	}
	compiled := d.pattern(expr)
	if !d.Spend(8) || compiled == nil || !d.Spend(compiled.Work(text)/workPerStep) {
		return false, false
	}
	return compiled.MatchString(text), true
}

// workPerStep is the work of matching that costs one step.
const workPerStep = 128

// Readable reports whether a pattern has the syntax of the validator.
func (d *Document) Readable(expr string) bool { return d.pattern(expr) != nil }

// pattern returns the compiled pattern, nil for another syntax. It compiles each once. Package
// schema bounds all patterns of a schema together.
func (d *Document) pattern(expr string) *Pattern {
	compiled, known := d.patterns[expr]
	if !known {
		compiled, _ = CompilePattern(expr)
		if d.patterns == nil {
			d.patterns = map[string]*Pattern{}
		}
		d.patterns[expr] = compiled
	}
	return compiled
}

// Resolve returns the target of a reference inside the document, by a pointer or by an anchor. It returns false for a
// target in a subschema with its own $id, because that is another document. A long reference costs steps.
func (d *Document) Resolve(ref string) (v any, ok bool) {
	if !d.Spend(len(ref) / 64) {
		return nil, false
	}
	place, ok := Fragment(ref)
	switch {
	case !ok:
		return nil, false
	case place == "":
		return d.Root, true
	case place[0] != '/':
		return d.anchor(place)
	}
	v = d.Root
	for _, segment := range Segments(place) {
		if d.MovesBase(Object(v)) {
			return nil, false
		}
		if v, ok = Step(v, segment); !ok {
			return nil, false
		}
	}
	return v, true
}

// Step returns a member of an object, or an item of a list by its index.
func Step(v any, segment string) (member any, ok bool) {
	switch v := v.(type) {
	case map[string]any:
		member, ok = v[segment]
		return member, ok
	case []any:
		if i, err := strconv.Atoi(segment); err == nil && i >= 0 && i < len(v) {
			return v[i], true
		}
	}
	return nil, false
}

// LostReferences lists the subschemas of a document with a $ref that is a pointer to nowhere, except below a subschema with
// its own $id.
func LostReferences(root any) (all []map[string]any) {
	doc := &Document{Root: Object(root)}
	var visit func(v any)
	visit = func(v any) {
		s := Object(v)
		if doc.MovesBase(s) {
			return
		}
		if ref, ok := s["$ref"].(string); ok && !Leads(root, ref) {
			all = append(all, s)
		}
		for _, sub := range Each(s) {
			visit(sub)
		}
	}
	visit(root)
	return all
}

// Leads reports whether the pointer of a reference leads to a value in the document. It returns true for a reference that
// has no pointer.
func Leads(root any, ref string) bool {
	place, ok := Fragment(ref)
	if !ok || place == "" || place[0] != '/' {
		return true
	}
	for _, segment := range Segments(place) {
		if root, ok = Step(root, segment); !ok {
			return false
		}
	}
	return true
}

// Plain returns the target of a subschema that is a reference, through further references, and any other subschema as it
// is. It returns nil if the result is not an object, or after 16 references.
func (d *Document) Plain(v any) map[string]any {
	s := Object(v)
	for range 16 {
		ref, ok := s["$ref"].(string)
		if !ok {
			return s
		}
		target, _ := d.Resolve(ref)
		s = Object(target)
	}
	return nil
}

// Fragment returns the pointer or the anchor of a reference inside the document.
func Fragment(ref string) (place string, ok bool) {
	place, ok = strings.CutPrefix(ref, "#")
	if !ok {
		return "", false
	}
	place, err := url.PathUnescape(place)
	return place, err == nil
}

// anchor returns the subschema with an anchor.
func (d *Document) anchor(name string) (v any, ok bool) {
	if d.anchors == nil {
		d.anchors = map[string]any{}
		d.collectAnchors(d.Root)
	}
	v, ok = d.anchors[name]
	return v, ok
}

// collectAnchors collects the anchors of a subschema and of all below it.
func (d *Document) collectAnchors(v any) {
	s, ok := v.(map[string]any)
	if !ok || d.MovesBase(s) {
		return
	}
	for _, key := range []string{"$anchor", "$dynamicAnchor"} {
		if name, ok := s[key].(string); ok {
			d.anchors[name] = s
		}
	}
	for _, key := range []string{"$id", "id"} { // an anchor, up to draft-07
		if name, ok := strings.CutPrefix(Text(s[key]), "#"); ok && name != "" {
			d.anchors[name] = s
		}
	}
	for _, sub := range Each(s) {
		d.collectAnchors(sub)
	}
}

// MovesBase reports whether a subschema has its own $id, so that references in it have other targets than outside.
func (d *Document) MovesBase(s map[string]any) bool {
	key := "$id"
	if strings.Contains(Text(d.Root["$schema"]), "draft-04") {
		key = "id"
	}
	id := Text(s[key])
	return id != "" && id[0] != '#' && !Same(s, d.Root)
}

// RefersToRoot reports whether a reference in a schema leads to its root, so that an addition to
// the root also applies elsewhere.
func RefersToRoot(root map[string]any) bool {
	doc := &Document{Root: root, Left: 1 << 20}
	for s := range All(root) {
		for _, key := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
			ref, ok := s[key].(string)
			ref = "#" + strings.TrimPrefix(strings.TrimPrefix(ref, Text(root["$id"])), "#")
			if target, _ := doc.Resolve(ref); ok && Same(target, root) {
				return true
			}
		}
	}
	return false
}

// Same reports whether a and b are the same object, not only equal.
func Same(a any, b map[string]any) bool {
	s, ok := a.(map[string]any)
	return ok && Address(s) == Address(b)
}

// Address identifies an object while it is in use.
func Address(s map[string]any) uintptr { return reflect.ValueOf(s).Pointer() }
