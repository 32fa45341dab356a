package rewrite

import (
	"reflect"
	"slices"
)

// place is where a subschema of the original stood, so that changes are told of it
// wherever merging has put it.
type place struct {
	s    map[string]any // it, so that no other one gets its address
	in   map[string]any // the one that holds it, nil for none
	key  string         // the keyword that does, or without one that holds it where that is
	name string         // under the keyword, or the index
	many bool           // there are names or indexes under the keyword
}

// places are those of subschemas, by their address.
type places map[uintptr]place

func address(s map[string]any) uintptr { return reflect.ValueOf(s).Pointer() }

// put says where a subschema stands, if it is one.
func (p places) put(v any, at place) {
	if s := object(v); s != nil && p != nil {
		at.s = s
		p[address(s)] = at
	}
}

// origin is a keyword of a subschema that was merged at a place.
type origin struct{ at, keyword string }

// origins are the places where keywords stood that merging has put elsewhere: of
// several bounds that became one, all.
type origins map[origin][]string

// of is where a keyword stood that is at a place now.
func (o origins) of(at, keyword string) []string {
	if stood, ok := o[origin{at, keyword}]; ok {
		return stood
	}
	return []string{at}
}

// maxOrigins bounds the places of one keyword.
const maxOrigins = 100

// merge says that a part that stands at one place is merged into what stands at
// another one, beside the keywords that are there.
func (w *writer) merge(part map[string]any, from string, into map[string]any, to string) {
	if from == to {
		return
	}
	for key := range part {
		_, there := into[key]
		if there && !slices.Contains(lowerBounds, key) && !slices.Contains(upperBounds, key) {
			continue
		}
		if w.origins == nil {
			w.origins = origins{}
		}
		stood := w.origins.of(from, key)
		if there {
			stood = slices.Concat(w.origins.of(to, key), stood)
		}
		w.origins[origin{to, key}] = stood[:min(len(stood), maxOrigins)]
	}
}

// of is where a subschema stood, or at for one that did not stand anywhere.
func (p places) of(s map[string]any, at string) string {
	stood, ok := p[address(s)]
	switch {
	case !ok:
		return at
	case stood.in == nil:
		return stood.key
	case stood.many:
		return join(p.of(stood.in, ""), stood.key, stood.name)
	}
	return join(p.of(stood.in, ""), stood.key)
}
