package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// The supported dialects, as indexes of their names. The newest is the default.
const (
	draft202012 = iota
	draft201909
	draft7
	draft6
	draft4
)

// dialects are the supported values of $schema, without scheme or empty fragment.
var dialects = []string{
	draft202012: "json-schema.org/draft/2020-12/schema",
	draft201909: "json-schema.org/draft/2019-09/schema",
	draft7:      "json-schema.org/draft-07/schema",
	draft6:      "json-schema.org/draft-06/schema",
	draft4:      "json-schema.org/draft-04/schema",
}

// introducedIn maps a keyword to the first dialect with it, unless that is the
// oldest. Older dialects ignore the keyword; the validator does not.
var introducedIn = map[string]int{
	"const": draft6, "contains": draft6, "propertyNames": draft6,
	"if": draft7, "then": draft7, "else": draft7,
	"dependentRequired": draft201909, "dependentSchemas": draft201909, "minContains": draft201909, "maxContains": draft201909,
	"unevaluatedItems": draft201909, "unevaluatedProperties": draft201909,
	"prefixItems": draft202012,
}

// setDialect sets the dialect that a schema declares for itself and its
// subschemas, and removes the keywords that the dialect in force does not know.
func (d *document) setDialect(s map[string]any) error {
	if v, ok := s["$schema"]; ok {
		uri, ok := v.(string)
		if !ok {
			return fmt.Errorf("$schema: want a string, got %s", describe(v))
		}
		d.dialect = dialectIndex(uri)
		if d.dialect < 0 {
			return fmt.Errorf("$schema %q: unsupported dialect; supported are 2020-12, 2019-09, draft-07, draft-06 and draft-04",
				excerpt.CutAt(uri, 200))
		}
	}
	d.hasOlder = d.hasOlder || d.dialect > draft202012
	removeKeywords(s, d.dialect)
	return nil
}

// removeKeywords removes the keywords that a dialect does not know.
func removeKeywords(s map[string]any, dialect int) {
	for keyword, first := range introducedIn {
		if dialect > first {
			delete(s, keyword)
		}
	}
}

// removeUnknownKeywords removes the keywords that the dialects in force do not know from a walked
// schema, so that no reader mistakes them for rules.
func removeUnknownKeywords(v any, dialect int) {
	s, ok := v.(map[string]any)
	if !ok {
		return
	}
	if uri, ok := s["$schema"].(string); ok {
		dialect = dialectIndex(uri)
	}
	removeKeywords(s, dialect)
	for _, sub := range tree.Each(s) {
		removeUnknownKeywords(sub, dialect)
	}
}

// dialectIndex returns the dialect of a value of $schema, -1 if unsupported.
func dialectIndex(uri string) int {
	name := strings.TrimSuffix(strings.TrimSpace(uri), "#")
	return slices.Index(dialects, strings.TrimPrefix(strings.TrimPrefix(name, "https://"), "http://"))
}
