package rewrite

import (
	"maps"
	"strconv"
)

// mender gives references their targets back that rewriting has moved: a part of
// an allOf that was merged, a property that was renamed. They become
// definitions.
type mender struct {
	*writer
	out   *Document         // what was written, to which definitions are added
	moved map[string]string // references by what they were
}

// mend visits a subschema, which is the writer's own, and all below it.
func (m *mender) mend(v any) {
	s, ok := v.(map[string]any)
	if !ok {
		return
	}
	if m.doc.movesBase(s) { // where references have other targets
		return
	}
	if ref, ok := s["$ref"].(string); ok {
		s["$ref"] = m.reference(ref)
	}
	for _, key := range holdsSchema {
		m.mend(s[key])
	}
	for _, key := range holdsList {
		for _, sub := range list(s[key]) {
			m.mend(sub)
		}
	}
	for _, key := range holdsMap {
		for _, name := range keys(object(s[key])) {
			m.mend(object(s[key])[name])
		}
	}
}

// reference returns what to refer to instead of ref.
func (m *mender) reference(ref string) string {
	if to, ok := m.moved[ref]; ok {
		return to
	}
	if _, ok := m.out.Resolve(ref); ok {
		return ref
	}
	target, ok := m.doc.Resolve(ref)
	if !ok {
		return ref
	}
	defs := maps.Clone(object(m.out.Root["$defs"]))
	if defs == nil {
		defs = map[string]any{}
	}
	name := "moved"
	for i := 2; defs[name] != nil; i++ {
		name = "moved" + strconv.Itoa(i)
	}
	m.moved[ref] = "#/$defs/" + name
	at := pointerOf(ref)
	moved := m.modern(m.plainBool(target, at), at)
	defs[name] = moved
	m.out.Root["$defs"] = defs
	m.note("", "$defs", Same, "what "+ref+" refers to is a definition now")
	m.mend(moved)
	return m.moved[ref]
}
