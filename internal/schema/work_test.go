package schema

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// many writes n texts with commas between. Each %d becomes the number of the text.
func many(n int, format string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = strings.ReplaceAll(format, "%d", fmt.Sprint(i))
	}
	return strings.Join(all, ",")
}

// Steps of the validator inside one application of a subschema are counted, too.
func TestWorkBesidesSubschemasIsBounded(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	for name, tt := range map[string]struct{ schema, value string }{
		"members noted by true":         {`{"anyOf":[` + many(9000, `true`) + `]}`, `{` + many(5000, `"p%d":1`) + `}`},
		"members noted by alternatives": {`{"allOf":[` + many(3000, `{"allOf":[{"additionalProperties":true}]}`) + `]}`, `{` + many(500, `"p%d":1`) + `}`},
		"unique items":                  {`{"allOf":[` + many(9000, `{"uniqueItems":true}`) + `]}`, `[` + many(2000, `"%d"`) + `]`},
		"unique items in items":         {`{"allOf":[` + many(9000, `{"uniqueItems":true}`) + `]}`, `[["` + long + `"],1]`},
		"a constant":                    {`{"allOf":[` + many(9000, `{"$ref":"#/$defs/c"}`) + `],"$defs":{"c":{"const":[` + many(2000, `1`) + `]}}}`, `[` + many(2000, `1`) + `]`},
		"tiny divisors":                 {`{"items":{"multipleOf":1e-1000}}`, `[` + many(20_000, `1e1000`) + `]`},
		"huge limits":                   {`{"allOf":[` + many(9000, `{"maximum":7e1000}`) + `]}`, `1e1000`},
		"large numbers":                 {`{"items":{"enum":[` + many(10_000, `1e999`) + `]}}`, `[` + many(100, `1e1000`) + `]`},
		"a place":                       {`{"$id":"https://example.com/` + strings.Repeat("x", 1000) + `","items":{}}`, `[` + many(30_000, `1`) + `]`},
		"long names":                    {`{"anyOf":[` + many(1000, `{"additionalProperties":{"type":"string"}}`) + `]}`, `{"` + long + `":1}`},
		"names that are missing":        {`{"properties":{` + many(9000, `"p%d":{}`) + `},"required":[` + many(50_000, `"q%d"`) + `]}`, `{}`},
		"properties that are missing":   {`{"items":{"properties":{` + many(900, `"p%d":{}`) + `},"required":[` + many(900, `"p%d"`) + `]}}`, `[` + many(200, `{}`) + `]`},
		"required names":                {`{"items":{"required":["` + long + `"]}}`, `[` + many(1000, `{}`) + `]`},
		"types":                         {`{"items":{"type":[` + many(50_000, `"string"`) + `]}}`, `[` + many(1000, `1`) + `]`},
		"patterns of names, compiled":   {`{"items":{"patternProperties":{` + many(1000, `"^p%d(a|b){50}$":{}`) + `}}}`, `[` + many(10_000, `{}`) + `]`},
		"patterns of names, matched":    {`{"patternProperties":{` + many(1000, `"^p%d(a|b){50}$":true`) + `}}`, `{` + many(10_000, `"p%d":1`) + `}`},
		"names that do not fit":         {`{"patternProperties":{"":false}}`, `{` + many(20_000, `"p%d":1`) + `}`},
		"a large pattern":               {`{"pattern":"(a?){1000}(a?){1000}b"}`, `"` + strings.Repeat("a", 100_000) + `"`},
		"a large pattern of items":      {`{"items":{"pattern":"(a?){1000}(a?){1000}b"}}`, `[` + many(10_000, `"aaaaaaaaaaaaaaa"`) + `]`},
		"a chain of references": {`{"items":{"$ref":"#/$defs/d0"},"$defs":{` + func() string {
			var all strings.Builder
			for i := range 2000 {
				fmt.Fprintf(&all, `"d%d":{"$ref":"#/$defs/d%d"},`, i, i+1)
			}
			return all.String()
		}() + `"d2000":{}}}`, `[` + many(40, `1`) + `]`},
	} {
		t.Run(name, func(t *testing.T) {
			v := check.Value(Decode([]byte(tt.value)))(t)
			s := mustCompile(t, tt.schema)
			w := work{left: maxSteps, sizes: s.sizes}
			check.That(t, !w.apply(s.compiled, v, nil), "got %d steps of %d, want it too large to be checked", maxSteps-w.left, maxSteps)
		})
	}
}

// A large value that costs no more than its size is checked.
func TestLargeValuesAreChecked(t *testing.T) {
	for name, tt := range map[string]struct{ schema, value string }{
		"text in base64":  {`{"pattern":"^data:image/(png|jpeg);base64,[A-Za-z0-9+/]*={0,2}$"}`, `"data:image/png;base64,` + strings.Repeat("QUJD", 600_000) + `"`},
		"a short pattern": {`{"pattern":"^.{1,1000}$"}`, `"` + strings.Repeat("a", 900) + `"`},
		"many counts":     {`{"allOf":[` + many(9000, `{"minProperties":%d}`) + `]}`, `{` + many(9000, `"p%d":1`) + `}`},
		"rows":            {`{"items":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"}},"required":["a"]}}`, `[` + many(30_000, `{"a":%d,"b":"x"}`) + `]`},
		"members":         {`{"additionalProperties":{"type":"integer"}}`, `{` + many(60_000, `"p%d":%d`) + `}`},
		"unique items":    {`{"uniqueItems":true,"items":{"type":"integer"}}`, `[` + many(90_000, `%d`) + `]`},
	} {
		check.NoError(t, mustCompile(t, tt.schema).Validate([]byte(tt.value)), name)
	}
}

// References that take long to resolve are refused, and so are long identifiers.
func TestReferencesAreBounded(t *testing.T) {
	deep := func(levels, n int, ref string) string {
		return `{"$defs":{"` + ref + `":{}},"allOf":[` + strings.Repeat(`{"not":`, levels) +
			`{"allOf":[` + many(n, `{"$ref":"#/$defs/`+ref+`"}`) + `]}` + strings.Repeat(`}`, levels) + `]}`
	}
	long := strings.Repeat("x", maxID+1)
	for name, tt := range map[string]struct{ schema, want string }{
		"many":                {deep(0, 9000, "a"), "<nil>"},
		"deep":                {deep(50, 1000, "a"), "<nil>"},
		"many and deep":       {deep(50, 9000, "a"), "at 53 levels of subschemas: put what refers to others into definitions at the root"},
		"long and deep":       {deep(50, 1000, strings.Repeat("a", 200)), "at 53 levels of subschemas"},
		"long identifier":     {`{"$id":"https://example.com/` + long + `"}`, `at "/$id": 1045 bytes, want at most 1024`},
		"long old identifier": {`{"properties":{"a":{"id":"` + long + `"}}}`, `at "/properties/a/id": 1025 bytes`},
		"other identifiers":   {`{"properties":{"id":{"const":{"$id":"` + long + `"}}}}`, "<nil>"},
	} {
		check.Contains(t, name, fmt.Sprint(check.Err(Compile([]byte(tt.schema)))), tt.want)
	}
}

func TestCacheCompilesOnce(t *testing.T) {
	var c Cache
	raw := []byte(`{"type":"string"}`)
	got := make([]*Schema, 16)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() { got[i], _ = c.Compile(raw) })
	}
	wg.Wait()
	for i, s := range got {
		check.That(t, s != nil && s == got[0], "got schema %d %p, want all the same %p", i, s, got[0])
	}
	raw[9] = 'S' // the cache holds a copy
	check.Text(t, check.Err(c.Compile(raw)), "")
}

func TestCacheRemembersErrors(t *testing.T) {
	var c Cache
	_, first := c.Compile([]byte(`{"type":"x"}`))
	_, second := c.Compile([]byte(`{"type":"x"}`))
	check.That(t, first != nil && first == second, "got %v then %v, want the same error", first, second)
}

func TestCacheIsBounded(t *testing.T) {
	var c Cache
	for i := range maxCached + 10 {
		c.entry(fmt.Appendf(nil, `{"const":%d}`, i))
	}
	check.Equal(t, "entries after the cache was full", len(c.compile), 10)
	large := strings.Repeat(" ", MaxSize-20)
	for i := range 100 {
		c.entry(fmt.Appendf(nil, `%s{"const":%d}`, large, i))
	}
	check.That(t, c.bytes <= maxCachedBytes, "got %d bytes, want at most %d", c.bytes, maxCachedBytes)
	check.Text(t, check.Err(c.Compile(make([]byte, MaxSize+1))), "want at most", "a schema over the bound refused")
}

// One schema may check many values at a time, even while its validator compiles patterns.
func TestConcurrentChecks(t *testing.T) {
	s := mustCompile(t, `{"patternProperties":{"^a":{"pattern":"^x+$"},"^b":{"type":"integer"}},"additionalProperties":false}`)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				check.NoError(t, s.Validate([]byte(`{"a":"xx","b":1}`)))
				check.Text(t, s.Validate([]byte(`{"a":"y"}`)), "")
			}
		})
	}
	wg.Wait()
}
