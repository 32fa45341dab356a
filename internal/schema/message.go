package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kaptinlin/jsonschema"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// assertions are the keywords that say something about a value itself, in the order in which they are reported.
var assertions = []string{
	"schema", "type", "const", "enum", "required", "dependentRequired",
	"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf",
	"minLength", "maxLength", "pattern", "format",
	"minItems", "maxItems", "uniqueItems", "minContains", "maxContains",
	"minProperties", "maxProperties", "not",
}

// Bounds of quotes from the schema and the value in a message.
const (
	maxShown        = 80  // bytes of one value
	maxListed       = 400 // bytes of a list
	maxAlternatives = 4
)

// limitTexts describes the assertions that limit a value: what they want, and the validator's parameters with the limit and with
// what it found, "" for the value.
var limitTexts = map[string]struct{ want, limit, found string }{
	"minimum":          {"a number >= %v", "minimum", ""},
	"exclusiveMinimum": {"a number > %v", "exclusive_minimum", ""},
	"maximum":          {"a number <= %v", "maximum", ""},
	"exclusiveMaximum": {"a number < %v", "exclusive_maximum", ""},
	"minLength":        {"at least %v characters", "min_length", "length"},
	"maxLength":        {"at most %v characters", "max_length", "length"},
	"minItems":         {"at least %v items", "min_items", "count"},
	"maxItems":         {"at most %v items", "max_items", "count"},
}

// message describes a failed assertion: the wanted and the found value.
func (p location) message(e *jsonschema.EvaluationError) string {
	got := describe(p.value)
	if t, ok := limitTexts[e.Keyword]; ok {
		if t.found != "" {
			got = fmt.Sprint(e.Params[t.found])
		}
		return fmt.Sprintf("want "+t.want+", got %s", e.Params[t.limit], got)
	}
	switch e.Keyword {
	case "schema":
		return "no value is allowed here, got " + got
	case "type":
		want := fmt.Sprint(e.Params["expected"])
		return fmt.Sprintf("want %s, got %s", strings.ReplaceAll(want, ", ", " or "), got)
	case "const":
		if p.schema != nil && p.schema.Const != nil {
			return fmt.Sprintf("want %s, got %s", show(p.schema.Const.Value), got)
		}
	case "enum":
		if p.schema != nil {
			return fmt.Sprintf("want one of %s, got %s", showAll(p.schema.Enum), got)
		}
	case "required":
		return p.missing(e)
	case "multipleOf":
		return fmt.Sprintf("want a multiple of %v, got %s", e.Params["divisor"], got)
	case "pattern":
		pattern := excerpt.CutAt(fmt.Sprint(e.Params["pattern"]), maxListed)
		return fmt.Sprintf("want text that matches the regular expression %s, got %s", pattern, got)
	case "not":
		if p.schema != nil && p.schema.Enum != nil && len(p.schema.Enum) == 0 { // see keywords
			return "no value is allowed here, got " + got
		}
		return "want a value that \"not\" does not exclude, got " + got
	case "uniqueItems":
		return fmt.Sprintf("want distinct items, but those at %v and %v are equal", e.Params["index1"], e.Params["index2"])
	}
	return excerpt.CutAt(lowerFirst(e.Error()), maxListed)
}

// missing names the missing required properties.
func (p location) missing(e *jsonschema.EvaluationError) string {
	object, isObject := p.value.(map[string]any)
	if p.schema == nil || !isObject {
		return excerpt.CutAt(lowerFirst(e.Error()), maxListed)
	}
	var names []string
	for _, name := range p.schema.Required {
		if _, ok := object[name]; !ok {
			names = append(names, strconv.Quote(name))
		}
	}
	if len(names) == 1 {
		return "missing required property " + excerpt.CutAt(names[0], maxListed)
	}
	return "missing required properties " + excerpt.CutAt(strings.Join(names, ", "), maxListed)
}

// unknownProperty reports a forbidden property, with the allowed names.
func (p location) unknownProperty(d detail) *Violation {
	message := "unknown property " + strconv.Quote(excerpt.CutAt(d.key, 100))
	var known []string
	if p.schema != nil && p.schema.Properties != nil && len(*p.schema.Properties) > 0 {
		known = slices.Sorted(maps.Keys(*p.schema.Properties))
		message += "; known are " + excerpt.CutAt(`"`+strings.Join(known, `", "`)+`"`, maxListed)
	}
	return &Violation{
		Path:    p.path,
		Keyword: d.keyword,
		Message: message,
		Unknown: d.key,
		Known:   known,
	}
}

// alternatives explains why no branch of anyOf or oneOf fits, or that several branches of oneOf fit.
func (p location) alternatives(keyword string, e *jsonschema.EvaluationError) string {
	if matches, ok := e.Params["matches"].(string); ok {
		return fmt.Sprintf("want a value that fits exactly one alternative, but it fits several (%s, counted from 0)", matches)
	}
	var reasons []string
	count := 0
	for _, r := range p.result.Details {
		if r == nil || !strings.HasPrefix(r.EvaluationPath, "/"+keyword+"/") {
			continue
		}
		if count++; count > maxAlternatives {
			continue
		}
		inner := p.step(r, keyword).violation()
		inner.Path = strings.TrimPrefix(inner.Path, p.path)
		reasons = append(reasons, fmt.Sprintf("(%d) %s", count, excerpt.CutAt(inner.Error(), maxListed)))
	}
	if count > maxAlternatives {
		reasons = append(reasons, "…")
	}
	return fmt.Sprintf("fits none of %d alternatives: %s", count, strings.Join(reasons, "; "))
}

// describe names a value by its type, and shows a scalar.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean " + strconv.FormatBool(v)
	case string:
		return "string " + show(v)
	case json.Number:
		return "number " + show(v)
	case []any:
		return fmt.Sprintf("array of %d", len(v))
	case map[string]any:
		return fmt.Sprintf("object of %d", len(v))
	}
	return fmt.Sprintf("%T", v)
}

// show writes a value as JSON, cut to a few words.
func show(v any) string {
	b, err := jsonrpc.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%T", v)
	}
	return excerpt.CutAt(string(b), maxShown)
}

// showAll writes values as JSON, separated by commas.
func showAll(values []any) string {
	shown := make([]string, 0, len(values))
	size := 0
	for _, v := range values {
		if size > maxListed {
			shown = append(shown, "…")
			break
		}
		s := show(v)
		size += len(s)
		shown = append(shown, s)
	}
	return strings.Join(shown, ", ")
}

func lowerFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}
