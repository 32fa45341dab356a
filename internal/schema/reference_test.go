package schema

import (
	"strings"
	"testing"
)

// References that take long to resolve are refused, and so are long identifiers.
func TestReferencesAreBounded(t *testing.T) {
	deep := func(levels, n int, ref string) string {
		return `{"$defs":{"` + ref + `":{}},"allOf":[` + strings.Repeat(`{"not":`, levels) +
			`{"allOf":[` + many(n, `{"$ref":"#/$defs/`+ref+`"}`) + `]}` + strings.Repeat(`}`, levels) + `]}`
	}
	long := strings.Repeat("x", maxID+1)
	for name, tt := range map[string]struct{ schema, want string }{
		"many":                {deep(0, 9000, "a"), ""},
		"deep":                {deep(50, 1000, "a"), ""},
		"many and deep":       {deep(50, 9000, "a"), "at 53 levels of subschemas: put what refers to others into definitions at the root"},
		"long and deep":       {deep(50, 1000, strings.Repeat("a", 200)), "at 53 levels of subschemas"},
		"long identifier":     {`{"$id":"https://example.com/` + long + `"}`, `at "/$id": 1045 bytes, want at most 1024`},
		"long old identifier": {`{"properties":{"a":{"id":"` + long + `"}}}`, `at "/properties/a/id": 1025 bytes`},
		"other identifiers":   {`{"properties":{"id":{"const":{"$id":"` + long + `"}}}}`, ""},
	} {
		_, err := Compile([]byte(tt.schema))
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
	}
}
