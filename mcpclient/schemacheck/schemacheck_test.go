package schemacheck_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/mcpclient/schemacheck"
)

// Each dialect is checked, references are never fetched, and sizes are bounded.
func TestValidator(t *testing.T) {
	check := new(schemacheck.Validator)
	deep := strings.Repeat(`{"not":`, 100) + "true" + strings.Repeat("}", 100)
	for _, tt := range []struct{ schema, content, want string }{
		{`true`, `null`, ""},
		{`{"type":"null"}`, `null`, ""},
		{`{"type":"object","required":["degrees"]}`, `{}`, "degrees"},
		{`{"$ref":"#/$defs/d","$defs":{"d":{"type":"string"}}}`, `7`, "string"},
		{`{"$ref":"https://example.com/schema.json"}`, `{}`, "others are never fetched"},
		{`{"$id":"https://example.com/a","$ref":"b.json"}`, `{}`, "others are never fetched"},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}]}`, `[7]`, "string"},
		{`{"$schema":"https://json-schema.org/draft/2020-12/schema","prefixItems":[{"type":"string"}]}`, `[7]`, "string"},
		{`{"$schema":"https://example.com/own"}`, `{}`, "unsupported dialect"},
		{deep, `{}`, "nested deeper than 64 levels"},
		{`{"title":"` + strings.Repeat("x", 1<<20) + `"}`, `{}`, "want at most 1048576"},
		{`7`, `{}`, "want a schema (an object or a boolean)"},
	} {
		fits, err := check.Compile(json.RawMessage(tt.schema))
		if err == nil {
			err = fits(json.RawMessage(tt.content))
		}
		if got := fmt.Sprint(err); tt.want == "" && err != nil || !strings.Contains(got, tt.want) {
			t.Errorf("%.60s of %s: got %.200s, want %q", tt.content, tt.schema[:min(60, len(tt.schema))], got, tt.want)
		}
	}
}
