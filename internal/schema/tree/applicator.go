// Package tree reads decoded JSON Schemas of peers: it visits subschemas, resolves references, and
// matches patterns within bounds.
package tree

import (
	"iter"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Kind is the part of a value to which a keyword applies its subschemas.
type Kind int

const (
	InPlace     Kind = iota // the value itself
	Members                 // the members of an object
	Names                   // the names of an object's members
	Items                   // the items of an array
	Definitions             // nothing, until a reference leads to them
)

// shape describes how a keyword holds subschemas.
type shape int

const (
	single shape = iota
	singleOrList
	listed
	byName
)

// Applicator is a keyword that holds subschemas.
type Applicator struct {
	Keyword string
	Kind    Kind
	shape   shape
}

// applicators are the keywords of all drafts from draft-04 to 2020-12, in the order in which they are visited.
var applicators = []Applicator{
	{"not", InPlace, single}, {"if", InPlace, single}, {"then", InPlace, single}, {"else", InPlace, single},
	{"items", Items, singleOrList}, // a list up to 2019-09
	{"additionalItems", Items, single}, {"unevaluatedItems", Items, single}, {"contains", Items, single},
	{"additionalProperties", Members, single}, {"unevaluatedProperties", Members, single}, {"propertyNames", Names, single},
	{"allOf", InPlace, listed}, {"anyOf", InPlace, listed}, {"oneOf", InPlace, listed}, {"prefixItems", Items, listed},
	{"properties", Members, byName}, {"patternProperties", Members, byName},
	{"$defs", Definitions, byName}, {"definitions", Definitions, byName},
	{"dependentSchemas", InPlace, byName},
	{"dependencies", InPlace, byName}, // up to draft-07, beside lists of names
}

// Applicators returns all keywords that hold subschemas.
func Applicators() iter.Seq[Applicator] { return slices.Values(applicators) }

var byKeyword = func() map[string]Applicator {
	out := make(map[string]Applicator, len(applicators))
	for _, a := range applicators {
		out[a.Keyword] = a
	}
	return out
}()

// Lookup returns the applicator with a keyword.
func Lookup(keyword string) (a Applicator, ok bool) {
	a, ok = byKeyword[keyword]
	return a, ok
}

// Named reports whether the keyword holds its subschemas by name, in an object.
func (a Applicator) Named() bool { return a.shape == byName }

// Place is where a schema holds a subschema.
type Place struct {
	Applicator
	Segment string // the name or the index, if Many
	Many    bool   // there are names or indexes under the keyword
}

// Join appends the place to a JSON pointer.
func (p Place) Join(at string) string {
	if p.Many {
		return Join(at, p.Keyword, p.Segment)
	}
	return Join(at, p.Keyword)
}

// Each visits the direct subschemas of a schema, names in order. It also visits values that are not
// schemas where a subschema belongs.
func Each(s map[string]any) iter.Seq2[Place, any] {
	return func(yield func(Place, any) bool) {
		for _, a := range applicators {
			for place, sub := range a.In(s) {
				if !yield(place, sub) {
					return
				}
			}
		}
	}
}

// In visits the direct subschemas of s that the keyword holds.
func (a Applicator) In(s map[string]any) iter.Seq2[Place, any] {
	return func(yield func(Place, any) bool) {
		held, ok := s[a.Keyword]
		if !ok {
			return
		}
		items, isList := held.([]any)
		switch {
		case a.shape == byName:
			named, _ := held.(map[string]any)
			for _, name := range slices.Sorted(maps.Keys(named)) {
				if _, names := named[name].([]any); names && a.Keyword == "dependencies" {
					continue
				}
				if !yield(Place{a, name, true}, named[name]) {
					return
				}
			}
		case a.shape == listed, a.shape == singleOrList && isList:
			for i, sub := range items {
				if !yield(Place{a, strconv.Itoa(i), true}, sub) {
					return
				}
			}
		default:
			yield(Place{a, "", false}, held)
		}
	}
}

// Map returns a copy of a schema in which each direct subschema is replaced.
func Map(s map[string]any, replace func(Place, any) any) map[string]any {
	out := maps.Clone(s)
	for _, a := range applicators {
		held, ok := s[a.Keyword]
		if !ok {
			continue
		}
		items, _ := held.([]any)
		named, _ := held.(map[string]any)
		items = slices.Clone(items)
		named = maps.Clone(named)
		for place, sub := range a.In(s) {
			sub = replace(place, sub)
			switch {
			case !place.Many:
				held = sub
			case a.shape == byName:
				named[place.Segment], held = sub, named
			default:
				i, _ := strconv.Atoi(place.Segment)
				items[i], held = sub, items
			}
		}
		out[a.Keyword] = held
	}
	return out
}

// All visits a schema and all subschemas below it that are objects.
func All(v any) iter.Seq[map[string]any] {
	return func(yield func(map[string]any) bool) { all(v, yield) }
}

// all visits v and all subschemas below it that are objects. It returns false if yield did.
func all(v any, yield func(map[string]any) bool) bool {
	s, ok := v.(map[string]any)
	if !ok {
		return true
	}
	if !yield(s) {
		return false
	}
	for _, sub := range Each(s) {
		if !all(sub, yield) {
			return false
		}
	}
	return true
}

// MaxPath is the length of a JSON pointer, in bytes, beyond which Join writes segments as marks.
const MaxPath = 1 << 10

// mark stands for omitted segments.
const mark = "…"

var (
	escapes   = strings.NewReplacer("~", "~0", "/", "~1")
	unescapes = strings.NewReplacer("~1", "/", "~0", "~")
)

// Join appends segments to a JSON pointer, escaped.
func Join(at string, segments ...string) string {
	for _, s := range segments {
		if len(at)+len(s) > MaxPath {
			s = mark
		}
		at += "/" + escapes.Replace(s)
	}
	return at
}

// Reference returns a reference to a place inside the document, whose segments it escapes.
func Reference(segments ...string) string {
	var pointer strings.Builder
	for _, s := range segments {
		pointer.WriteString("/" + escapes.Replace(s))
	}
	return (&url.URL{Fragment: pointer.String()}).String()
}

// Segments returns the segments of a JSON pointer that is not empty.
func Segments(pointer string) []string {
	segments := strings.Split(pointer[1:], "/")
	for i, s := range segments {
		segments[i] = unescapes.Replace(s)
	}
	return segments
}
