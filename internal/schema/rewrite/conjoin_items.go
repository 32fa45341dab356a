package rewrite

// The keywords that speak of items, and those that go by the place or by what else
// speaks of an item.
var (
	ofItems = []string{"prefixItems", "items", "unevaluatedItems", "contains"}
	byPlace = []string{"prefixItems", "unevaluatedItems"}
)

// sequence writes what a and b say of items by their place.
func sequence(out, a, b map[string]any) {
	first, second := list(a["prefixItems"]), list(b["prefixItems"])
	others := func(s map[string]any) any {
		if _, ok := s["items"]; !ok {
			return orTrue(s, "unevaluatedItems")
		}
		return s["items"]
	}
	at := func(s map[string]any, prefix []any, i int) any {
		if i < len(prefix) {
			return prefix[i]
		}
		return others(s)
	}
	prefix := make([]any, max(len(first), len(second)))
	for i := range prefix {
		prefix[i] = allOf(at(a, first, i), at(b, second, i))
	}
	if len(prefix) > 0 {
		out["prefixItems"] = prefix
	}
	delete(out, "unevaluatedItems")
	if out["items"] = allOf(others(a), others(b)); out["items"] == true {
		delete(out, "items")
	}
}
