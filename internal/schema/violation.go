package schema

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kaptinlin/jsonschema"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// Violation is the first mistake in a value by its schema, in the order of keywords and then of paths.
type Violation struct {
	Path    string // a JSON pointer into the value, "" for the value itself; "…" for keys that are too long
	Keyword string // keyword of the schema: "type", "required", …
	Message string // the expected and the found value

	Unknown string   // a property that the schema does not allow
	Known   []string // the properties that it knows instead, sorted
}

// Error gives the path and the message.
func (v *Violation) Error() string {
	if v.Path == "" {
		return v.Message
	}
	return fmt.Sprintf("at %q: %s", v.Path, v.Message)
}

// location is a result of the validator, with the value and the subschema that it is about. The validator's messages do not
// name the expected constant or properties, so the results are followed through the schema and the value.
type location struct {
	schema *jsonschema.Schema // nil if unknown
	value  any
	path   string
	result *jsonschema.EvaluationResult
}

// violation returns the first violation at this location or below it.
func (p location) violation() *Violation {
	for _, keyword := range assertions {
		if e := p.result.Errors[keyword]; e != nil {
			return &Violation{Path: p.path, Keyword: keyword, Message: p.message(e)}
		}
	}
	if below := p.below(); len(below) > 0 {
		return p.violationBelow(slices.MinFunc(below, detail.compare))
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if e := p.result.Errors[keyword]; e != nil {
			return &Violation{Path: p.path, Keyword: keyword, Message: p.alternatives(keyword, e)}
		}
	}
	return p.otherViolation()
}

// violationBelow reports the violation at a place below. If it is about the name of a property, it reports it here.
func (p location) violationBelow(d detail) *Violation {
	switch d.keyword {
	case "additionalProperties", "unevaluatedProperties":
		if d.result.Errors["schema"] != nil {
			return p.unknownProperty(d)
		}
	case "propertyNames":
		message := fmt.Sprintf("property name %q: %s", excerpt.CutAt(d.key, 100), d.violation().Message)
		return &Violation{Path: p.path, Keyword: d.keyword, Message: message}
	}
	return d.violation()
}

// otherViolation reports the first keyword, by name, with the message of the validator.
func (p location) otherViolation() *Violation {
	keywords := slices.Sorted(maps.Keys(p.result.Errors))
	if len(keywords) == 0 {
		return &Violation{Path: p.path, Message: "does not fit the schema"}
	}
	first := keywords[0]
	return &Violation{Path: p.path, Keyword: first, Message: excerpt.CutAt(p.result.Errors[first].Error(), 300)}
}

// detail is a place one step further, and the keyword that led there.
type detail struct {
	location
	keyword string
	key     string // the last segment of the path, unescaped
}

// below lists the places that made this one fail, in no order.
func (p location) below() []detail {
	var out []detail
	for _, r := range p.result.Details {
		if r == nil || r.IsValid() {
			continue
		}
		keyword, _, _ := strings.Cut(strings.TrimPrefix(r.EvaluationPath, "/"), "/")
		switch keyword {
		case "if", "not", "contains", "anyOf", "oneOf":
			continue
		case "":
			keyword = "$ref"
			if p.result.Errors["$ref"] == nil {
				keyword = "$dynamicRef"
			}
		}
		if p.result.Errors[reportedAs(keyword)] == nil {
			continue
		}
		out = append(out, p.step(r, keyword))
	}
	return out
}

// compare orders places by their paths: the validator walks maps in random order.
func (d detail) compare(other detail) int {
	return cmp.Or(compareKeys(d.key, other.key), cmp.Compare(d.result.EvaluationPath, other.result.EvaluationPath))
}

// reportedAs is the validator's key for an error of keyword.
func reportedAs(keyword string) string {
	switch keyword {
	case "patternProperties", "unevaluatedProperties":
		return "properties"
	}
	return keyword
}

// step follows a result of the validator, whose locations are relative and not escaped.
func (p location) step(r *jsonschema.EvaluationResult, keyword string) detail {
	d := detail{location: location{value: p.value, path: p.path, result: r}, keyword: keyword}
	_, rest, _ := strings.Cut(strings.TrimPrefix(r.EvaluationPath, "/"), "/")
	if p.schema != nil {
		d.schema = follow(p.schema, keyword, rest)
	}
	if keyword == "dependentSchemas" || r.InstanceLocation == "" {
		return d
	}
	d.key = strings.TrimPrefix(r.InstanceLocation, "/")
	if keyword == "propertyNames" {
		d.value = d.key
		return d
	}
	d.path = tree.Join(p.path, d.key)
	d.value, _ = tree.Step(p.value, d.key)
	return d
}

// follow finds the subschema under a keyword, nil if unknown.
func follow(s *jsonschema.Schema, keyword, rest string) *jsonschema.Schema {
	switch keyword {
	case "$ref":
		return s.ResolvedRef
	case "properties":
		if s.Properties != nil {
			return (*s.Properties)[rest]
		}
	case "items":
		return s.Items
	case "prefixItems":
		return branchAt(s.PrefixItems, rest)
	case "allOf":
		return branchAt(s.AllOf, rest)
	case "anyOf":
		return branchAt(s.AnyOf, rest)
	case "oneOf":
		return branchAt(s.OneOf, rest)
	case "then":
		return s.Then
	case "else":
		return s.Else
	case "additionalProperties":
		return s.AdditionalProperties
	case "propertyNames":
		return s.PropertyNames
	case "dependentSchemas":
		return s.DependentSchemas[rest]
	}
	return nil
}

func branchAt(list []*jsonschema.Schema, index string) *jsonschema.Schema {
	i, err := strconv.Atoi(index)
	if err != nil || i < 0 || i >= len(list) {
		return nil
	}
	return list[i]
}

// compareKeys orders the indexes of a list by number and other keys as text.
func compareKeys(a, b string) int {
	i, errA := strconv.Atoi(a)
	j, errB := strconv.Atoi(b)
	if errA == nil && errB == nil {
		return cmp.Compare(i, j)
	}
	return cmp.Compare(a, b)
}
