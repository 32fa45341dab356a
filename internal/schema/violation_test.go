package schema

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

func TestViolation(t *testing.T) {
	const person = `{
		"type":"object","required":["name"],"additionalProperties":false,
		"properties":{
			"name":{"type":"string","minLength":2},
			"age":{"type":"integer","minimum":0,"exclusiveMaximum":150},
			"unit":{"enum":["C","F",null]},
			"kind":{"const":"person"},
			"tags":{"type":"array","items":{"type":"string"},"maxItems":2,"uniqueItems":true},
			"a/b~c":{"type":["boolean","null"]},
			"id":{"anyOf":[{"type":"integer"},{"type":"object","required":["v"],"properties":{"v":{"type":"string"}}}]},
			"zip":{"type":"string","pattern":"^[0-9]{5}$"},
			"parent":{"$ref":"#"}
		}}`
	for _, tt := range []struct{ name, schema, value, path, message string }{
		{"type", person, `{"name":7}`, "/name", `want string, got number 7`},
		{"types", person, `{"name":"Al","a/b~c":"x"}`, "/a~1b~0c", `want boolean or null, got string "x"`},
		{"root", person, `[]`, "", `want object, got array of 0`},
		{"missing", person, `{}`, "", `missing required property "name"`},
		{"missing with a wrong sibling", person, `{"age":"x"}`, "", `missing required property "name"`},
		{"unknown", `{"properties":{"b":true,"a":true},"additionalProperties":false}`, `{"c":1}`, "", `unknown property "c"; known are "a", "b"`},
		{"minimum", person, `{"name":"Al","age":-1}`, "/age", `want a number >= 0, got number -1`},
		{"exclusive maximum", person, `{"name":"Al","age":150}`, "/age", `want a number < 150, got number 150`},
		{"enum", person, `{"name":"Al","unit":"K"}`, "/unit", `want one of "C", "F", null, got string "K"`},
		{"const", person, `{"name":"Al","kind":1}`, "/kind", `want "person", got number 1`},
		{"length", person, `{"name":"A"}`, "/name", `want at least 2 characters, got 1`},
		{"items", person, `{"name":"Al","tags":["a",1]}`, "/tags/1", `want string, got number 1`},
		{"too many", person, `{"name":"Al","tags":["a","b","c"]}`, "/tags", `want at most 2 items, got 3`},
		{"not unique", person, `{"name":"Al","tags":["a","a"]}`, "/tags", `want distinct items, but those at 0 and 1 are equal`},
		{"pattern", person, `{"name":"Al","zip":"1"}`, "/zip", `want text that matches the regular expression ^[0-9]{5}$, got string "1"`},
		{"reference", person, `{"name":"Al","parent":{"name":"Bo","parent":{"name":1}}}`, "/parent/parent/name", `want string, got number 1`},
		{"any of", person, `{"name":"Al","id":{"v":1}}`, "/id", `fits none of 2 alternatives: (1) want integer, got object of 1; (2) at "/v": want string, got number 1`},
		{"several of one of", `{"oneOf":[{"type":"integer"},{"minimum":1}]}`, `3`, "", `want a value that fits exactly one alternative, but it fits several (0, 1, counted from 0)`},
		{"property name", `{"propertyNames":{"maxLength":2}}`, `{"abc":1}`, "", `property name "abc": want at most 2 characters, got 3`},
		{"then", `{"if":{"required":["a"]},"then":{"required":["b"]}}`, `{"a":1}`, "", `missing required property "b"`},
		{"all of", `{"allOf":[{},{"properties":{"a":{"type":"null"}}}]}`, `{"a":1}`, "/a", `want null, got number 1`},
		{"dependent", `{"dependentSchemas":{"a":{"required":["b"]}}}`, `{"a":1}`, "", `missing required property "b"`},
		{"unevaluated", `{"properties":{"a":true},"unevaluatedProperties":false}`, `{"b":1}`, "", `unknown property "b"; known are "a"`},
		{"pattern property", `{"patternProperties":{"^x":{"type":"string"}}}`, `{"x1":2}`, "/x1", `want string, got number 2`},
		{"false", `{"properties":{"a":false}}`, `{"a":2}`, "/a", `no value is allowed here, got number 2`},
		{"not", `{"properties":{"a":{"not":{"type":"string"}}}}`, `{"a":"x"}`, "/a", `want a value that "not" does not exclude, got string "x"`},
		{"an enumeration of nothing", `{"properties":{"a":{"enum":[]}}}`, `{"a":"x"}`, "/a", `no value is allowed here, got string "x"`},
		{"first by path", `{"items":{"type":"string"}}`, `["",1,2,3,4,5,6,7,8,9,10,11]`, "/1", `want string, got number 1`},
		{"tuple", `{"prefixItems":[true,{"type":"string"}]}`, `[1,2]`, "/1", `want string, got number 2`},
		{"draft 4 bound", `{"$schema":"http://json-schema.org/draft-04/schema#","minimum":3,"exclusiveMinimum":true}`, `3`, "", `want a number > 3, got number 3`},
		{"draft 7 tuple", `{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}]}`, `[1]`, "/0", `want string, got number 1`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := mustCompile(t, tt.schema)
			// The validator walks maps in random order.
			for range 20 {
				var got *Violation
				err := s.Validate([]byte(tt.value))
				check.Require(t, errors.As(err, &got) && got.Path == tt.path && got.Message == tt.message, "got %v\nwant %q %s", err, tt.path, tt.message)
			}
		})
	}
}

// A long name does not make the paths below it long.
func TestPlacesAreBounded(t *testing.T) {
	const maxMemory = 100 << 20
	long := strings.Repeat("x", 200_000)
	var s *Schema
	var err error
	used := check.Allocated(func() {
		s = mustCompile(t, `{"properties":{"`+long+`":{"allOf":[`+strings.Repeat(`{"pattern":"(?!x)"},`, 3000)+`{"items":{"type":"string"}}]}}}`)
		err = s.Validate([]byte(`{"` + long + `":[` + strings.Repeat("1,", 3000) + `1]}`))
	})
	check.That(t, used <= maxMemory, "got %d bytes of memory, want at most %d", used, maxMemory)
	check.Equal(t, "the place without the long name", fmt.Sprint(err), `at "/…/0": want string, got number 1`)
	got := s.Ignored()
	check.That(t, len(got) == 3000 && got[0] == "/properties/…/allOf/0/pattern", "got %.10q, want places without the long name", got)
}

func TestViolationIsShort(t *testing.T) {
	long := strings.Repeat("é", 100_000)
	s := mustCompile(t, `{"enum":["`+long+`","b"],"required":["`+long+`"]}`)
	for _, value := range []string{`"` + long + `x"`, `{}`, `{"` + long + `x":1}`} {
		err := s.Validate([]byte(value))
		check.That(t, err != nil && len(err.Error()) <= 1000, "got %.2000v, want an error of at most 1000 bytes", err)
	}
}
