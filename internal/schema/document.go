package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kaptinlin/jsonschema"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// document is a schema before validation. Its walk visits only subschemas, never the data inside
// const, enum, default or examples, because a property may be called "$ref".
type document struct {
	left     int                // subschemas that may still follow
	patterns tree.PatternBudget // budget for all patterns, of texts and of names
	sizes    map[string]int     // sizes of patterns, in instructions
	ignored  []string           // pointers of rules that are not enforced
	dialect  int                // dialect of the current subschema
	hasOlder bool               // a part has an older dialect than the default
	depth    int                // depth of the current subschema
	hops     int                // hops of all references so far
	dynamic  map[string]string  // pointers of dynamic anchors, by name
}

// walk checks a subschema and everything below it, and removes keywords that must not reach the validator.
func (d *document) walk(v any, at string) error {
	if d.left--; d.left < 0 {
		return errors.New("too many subschemas")
	}
	s, ok := v.(map[string]any)
	if !ok {
		if _, ok := v.(bool); ok {
			return nil
		}
		return fmt.Errorf("at %q: want a schema (an object or a boolean), got %s", at, describe(v))
	}
	outer := d.dialect
	d.depth++
	defer func() { d.dialect, d.depth = outer, d.depth-1 }()
	if err := d.keywords(s, at); err != nil {
		return err
	}
	var around []string // the keywords around ignored patterns
	for a := range tree.Applicators() {
		before := len(d.ignored)
		for place, sub := range a.In(s) {
			if err := d.walk(sub, place.Join(at)); err != nil {
				return err
			}
		}
		if len(d.ignored) > before {
			around = append(around, a.Keyword)
		}
	}
	for _, keyword := range around { // now that all parts have been visited at their places
		relax(s, keyword)
	}
	return d.ignorePropertyPatterns(s, at)
}

// keywords checks the keywords of one subschema, and replaces or removes those that the validator would read differently.
func (d *document) keywords(s map[string]any, at string) error {
	if err := d.setDialect(s); err != nil {
		return err
	}
	for _, name := range tree.Types(s) {
		if !slices.Contains(knownTypes, name) {
			return fmt.Errorf("at %q: unknown type %q", at, excerpt.CutAt(name, 40))
		}
	}
	for _, key := range tree.NegativeLimits(s) {
		delete(s, key)
	}
	for _, key := range counts {
		if n, ok := tree.Rational(s[key]); ok && (n.Sign() < 0 || !n.IsInt()) {
			return fmt.Errorf("at %q: %s %v: want a whole number that is not negative", at, key, s[key])
		}
	}
	for _, check := range []func(map[string]any, string) error{d.identity, d.reference, d.dynamicAnchors, d.ignorePattern} {
		if err := check(s, at); err != nil {
			return err
		}
	}
	// 2020-12 validation, section 6.1.2: a value is valid "if its value is equal to
	// one of the elements". The validator treats an empty list like a missing one.
	if values, ok := s["enum"].([]any); ok && len(values) == 0 {
		s["not"] = map[string]any{}
	}
	// 2020-12 validation, section 8.2: "implementations MUST NOT automatically
	// decode, parse, and/or validate the string contents".
	for _, key := range []string{"contentEncoding", "contentMediaType", "contentSchema"} {
		delete(s, key)
	}
	return nil
}

// counts are the keywords for numbers of parts.
var counts = strings.Fields("minLength maxLength minItems maxItems minProperties maxProperties minContains maxContains")

var knownTypes = []string{"string", "number", "integer", "boolean", "object", "array", "null"}

// checkReferences returns an error for a reference that leads out of the document, or to nowhere.
func checkReferences(s *jsonschema.Schema) error {
	refs := s.UnresolvedReferenceURIs()
	if len(refs) == 0 {
		return nil
	}
	return fmt.Errorf("$ref %q: not in the schema itself, and others are never fetched", excerpt.CutAt(refs[0], 200))
}
