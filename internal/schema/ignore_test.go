package schema

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

func TestPatternsThatGoCannotSay(t *testing.T) {
	s := mustCompile(t, `{"properties":{"a":{"type":"string","pattern":"^(?!x)"},"b":{"pattern":"^y"}}}`)
	check.Same(t, "ignored", s.Ignored(), []string{"/properties/a/pattern"})
	check.NoError(t, s.Validate([]byte(`{"a":"x","b":"y"}`)))
	check.Text(t, s.Validate([]byte(`{"a":1}`)), "")
	pattern := s.Root().(map[string]any)["properties"].(map[string]any)["a"].(map[string]any)["pattern"]
	check.Equal(t, "the pattern in Root, as the peer wrote it", pattern, "^(?!x)")
}

// An ignored pattern demands nothing, wherever it is, and all other rules hold.
func TestSchemasWithIgnoredPatterns(t *testing.T) {
	for name, tt := range map[string]struct {
		schema                string
		ignored, fit, refused []string
	}{
		"names": {`{"patternProperties":{"^(?!x)/":{"type":"integer"},"^n":{"type":"integer"}},"properties":{"s":{"type":"string"}}}`,
			[]string{"/patternProperties/^(?!x)~1"}, []string{`{"/":"a","n":1}`}, []string{`{"n":"a"}`, `{"s":1}`}},
		"no others than names": {`{"patternProperties":{"^(?!x)":true},"properties":{"s":{"type":"string"}},"additionalProperties":false}`,
			[]string{"/patternProperties/^(?!x)"}, []string{`{"a":1,"s":"a"}`}, []string{`{"s":1}`}},
		"no others, seen from outside": {`{"allOf":[{"patternProperties":{"^(?!x)":true}}],"required":["s"],"unevaluatedProperties":false}`,
			[]string{"/allOf/0/patternProperties/^(?!x)"}, []string{`{"a":1,"s":1}`}, []string{`{"a":1}`}},
		"all names are described": {`{"patternProperties":{"":{"type":"integer"},"^(?!x)":{"type":"string"}}}`,
			[]string{"/patternProperties/^(?!x)"}, []string{`{"a":1}`}, []string{`{"a":"1"}`}},
		"inside of what is ignored": {`{"patternProperties":{"^(?!x)":{"pattern":"^(?=y)"}}}`,
			[]string{"/patternProperties/^(?!x)/pattern", "/patternProperties/^(?!x)"}, []string{`{"a":"z"}`}, nil},
		"not":   {`{"not":{"pattern":"^(?!x)"},"type":"string"}`, []string{"/not/pattern"}, []string{`"x"`, `"y"`}, []string{`1`}},
		"twice": {`{"not":{"not":{"pattern":"^(?!x)"}}}`, []string{"/not/not/pattern"}, []string{`"x"`, `"y"`, `1`}, nil},
		"if": {`{"if":{"pattern":"^(?!x)"},"then":{"minLength":3},"else":{"maxLength":1},"type":"string"}`, []string{"/if/pattern"}, []string{`"xx"`},
			[]string{`1`}},
		"then": {`{"if":{"type":"string"},"then":{"pattern":"^(?!x)","minLength":2}}`, []string{"/then/pattern"}, []string{`"xx"`}, []string{`"x"`}},
		"oneOf": {`{"oneOf":[{"type":"string","pattern":"^(?!x)"},{"const":"a"},{"type":"integer"}]}`, []string{"/oneOf/0/pattern"},
			[]string{`"a"`, `"x"`, `1`}, []string{`null`}},
		"oneOf beside anyOf": {`{"anyOf":[{"maxLength":1}],"oneOf":[{"pattern":"^(?!x)"},{"const":"a"}],"allOf":[{"type":"string"}]}`,
			[]string{"/oneOf/0/pattern"}, []string{`"a"`, `"x"`}, []string{`"aa"`, `1`}},
		"not, by reference": {`{"properties":{"v":{"not":{"$ref":"#/$defs/x"},"type":"string"}},"$defs":{"x":{"pattern":"^(?!x)"}}}`,
			[]string{"/$defs/x/pattern"}, []string{`{"v":"x"}`, `{"v":"y"}`}, []string{`{"v":1}`}},
		"if, by reference": {`{"if":{"allOf":[{"$ref":"#/$defs/x"}]},"then":{"minLength":3},"type":"string","$defs":{"x":{"pattern":"^(?!x)"}}}`,
			[]string{"/$defs/x/pattern"}, []string{`"xx"`}, []string{`1`}},
		"oneOf, by reference": {`{"oneOf":[{"$ref":"#/$defs/x"},{"$ref":"#/$defs/y"}],"$defs":{"x":{"type":"string","pattern":"^(?!x)"},"y":{"type":"string","pattern":"^(?=x)"}}}`,
			[]string{"/$defs/x/pattern", "/$defs/y/pattern"}, []string{`"x"`, `"y"`}, []string{`1`}},
		"contains": {`{"contains":{"pattern":"^(?!x)"},"maxContains":1}`, []string{"/contains/pattern"}, []string{`["a","x"]`}, []string{`[]`}},
	} {
		t.Run(name, func(t *testing.T) {
			s := mustCompile(t, tt.schema)
			check.Same(t, "ignored", s.Ignored(), tt.ignored)
			for _, value := range tt.fit {
				check.NoError(t, s.Validate([]byte(value)), value)
			}
			for _, value := range tt.refused {
				check.Fails(t, s.Validate([]byte(value)), value)
			}
		})
	}
}

// A pattern that would take gigabytes to compile is ignored, too.
func TestIgnoresLargePatterns(t *testing.T) {
	s := mustCompile(t, `{"type":"string","pattern":"`+strings.Repeat("a{0,1000}", 1000)+`"}`)
	check.Same(t, "ignored", s.Ignored(), []string{"/pattern"})
	check.NoError(t, s.Validate([]byte(`"b"`)))
}

// Small patterns can be too large together, wherever they are: all of them are compiled.
func TestPatternsAreBoundedTogether(t *testing.T) {
	const tooMany, few = 200, 100 // of about 2,000 instructions
	for name, format := range map[string]string{
		"texts":               `{"allOf":[%s]}` + "\n" + `{"pattern":"^(ab?){330}"}`,
		"names":               `{"patternProperties":{%s}}` + "\n" + `"^(ab?){330}%d":{}`,
		"of another language": `{"allOf":[%s]}` + "\n" + `{"pattern":"` + strings.Repeat("a", 2000) + `(?=b)"}`,
	} {
		document, part, _ := strings.Cut(format, "\n")
		schema := func(n int) []byte { return fmt.Appendf(nil, document, many(n, part)) }
		check.NoError(t, check.Err(Compile(schema(few))), name, "for few")
		_, err := Compile(schema(tooMany))
		check.Text(t, err, `schema: at "/`, name)
		check.Text(t, err, "patterns up to here compile to more than 250000 instructions together", name)
	}
}
