package rewrite

import (
	"reflect"
	"slices"
)

// split is what makes an alternative of a oneOf fit values only that no other
// one fits.
type split struct {
	drop    bool
	without []string // properties
}

// separate tells alternatives of a oneOf apart that values can fit two of. Of
// two objects each must lack what only the other one requires, and one that
// requires nothing else is left out. It returns false when that does not help.
func (w *writer) separate(branches []map[string]any) (splits []split, effect Effect, ok bool) {
	splits = make([]split, len(branches))
	for i, a := range branches {
		for j := i + 1; j < len(branches); j++ {
			b := branches[j]
			if w.apart(w.doc.plain(a), w.doc.plain(b), maxApart) {
				continue
			}
			if w.doc.Left == 0 || !requires(a, b) && !requires(b, a) {
				return nil, Wider, false
			}
			for _, pair := range [][2]int{{i, j}, {j, i}} {
				own, other := branches[pair[0]], branches[pair[1]]
				more := difference(names(other["required"]), names(own["required"]))
				switch lacks := &splits[pair[0]]; {
				case len(more) == 0:
					lacks.drop = true
				case !w.doc.Spend(len(lacks.without)):
					return nil, Wider, false
				case !slices.Contains(lacks.without, more[0]):
					lacks.without = append(lacks.without, more[0])
				}
				if len(more) > 1 || !w.onlyRequires(other, own) {
					effect = Narrower
				}
			}
		}
	}
	return splits, effect, true
}

// requires reports whether a and b are objects, of which a requires more.
func requires(a, b map[string]any) bool {
	return slices.Equal(types(a), []string{"object"}) && slices.Equal(types(b), []string{"object"}) &&
		len(difference(names(a["required"]), names(b["required"]))) > 0
}

// onlyRequires reports whether s demands nothing but properties beside what other
// demands, too.
func (w *writer) onlyRequires(s, other map[string]any) bool {
	if !w.doc.Spend(breadth(s)) {
		return false
	}
	for key, v := range s {
		if key != "type" && key != "required" && !slices.Contains(remarks, key) && !reflect.DeepEqual(v, other[key]) {
			return false
		}
	}
	return true
}

// difference lists the names of a that are not in b.
func difference(a, b []string) []string {
	there := setOf(anys(b))
	return slices.DeleteFunc(slices.Clone(a), func(name string) bool { return there.has(name) })
}

// once lists the values that are in one list only.
func once(lists [][]any) []any {
	count := map[any]int{}
	for _, values := range lists {
		for _, v := range union(values, nil) {
			count[Identity(v)]++
		}
	}
	var out []any
	for _, values := range lists {
		for _, v := range union(values, nil) {
			if count[Identity(v)] == 1 {
				out = append(out, v)
			}
		}
	}
	return out
}
