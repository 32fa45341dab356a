package toolschema

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
)

type base struct {
	ID   int8   `json:"id"`
	Name string `json:"name" jsonschema:"inner"`
}

type leaf struct {
	Value    string  `json:"value"`
	Children []*leaf `json:"children,omitempty"`
}

type forest map[string]forest

type list []list

type array [2]*array

type handle *[]handle

type chain *chain

type number *int

type level uint8

func (l *level) UnmarshalText(text []byte) error { return nil }

type all struct {
	base
	Name    string         `json:"name" jsonschema:"The \"name\" <b>"`
	Color   string         `json:"color" enum:"red,green"`
	Tags    []string       `json:"tags,omitempty" enum:"a,b"`
	Count   int            `json:"count" minimum:"1" maximum:"10"`
	Size    uint           `json:"size,omitzero"`
	Ratio   *float64       `json:"ratio"`
	On      bool           `json:"on"`
	When    time.Time      `json:"when"`
	Host    netip.Addr     `json:"host"`
	Data    []byte         `json:"data"`
	Pair    [2]int64       `json:"pair"`
	Extra   map[string]any `json:"extra"`
	Any     any            `json:"any"`
	Number  json.Number    `json:"number"`
	Quoted  int            `json:"quoted,string"`
	Plain   string
	Tree    leaf   `json:"tree"`
	Skipped string `json:"-"`
	hidden  string
}

// oddTag is a struct with tags that vet and staticcheck report: encoding/json ignores string for lists, and names with quotes.
var oddTag = reflect.Zero(reflect.StructOf([]reflect.StructField{
	{Name: "L", Type: reflect.TypeFor[[]int](), Tag: `json:"l,string"`},
	{Name: "Q", Type: reflect.TypeFor[bool](), Tag: `json:"it's,omitempty"`},
	{Name: "B", Type: reflect.TypeFor[*bool](), Tag: `json:"b,string"`},
	{Name: "P", Type: reflect.TypeFor[number](), Tag: `json:"p,string"`},
})).Interface()

func TestOfType(t *testing.T) {
	_ = all{}.hidden
	for _, tt := range []struct {
		value any
		want  string
	}{
		{struct{}{}, `{"type":"object","properties":{},"additionalProperties":false}`},
		{&base{}, `{"type":"object","properties":{"id":{"type":"integer","minimum":-128,"maximum":127},"name":{"description":"inner","type":"string"}},"required":["id","name"],"additionalProperties":false}`},
		{oddTag, `{"type":"object","properties":{"l":{"type":"array","items":{"type":"integer"}},"Q":{"type":"boolean"},"b":{"type":"string","enum":["true","false"]},"p":{"type":"integer"}},"required":["l"],"additionalProperties":false}`},
		{struct{ *base }{}, `{"type":"object","properties":{},"additionalProperties":false}`},
		{struct {
			base `json:"base"`
		}{}, `{"type":"object","properties":{"base":{"type":"object","properties":{"id":{"type":"integer","minimum":-128,"maximum":127},"name":{"description":"inner","type":"string"}},"required":["id","name"],"additionalProperties":false}},"required":["base"],"additionalProperties":false}`},
		{map[string]int{}, `{"type":"object","additionalProperties":{"type":"integer"}}`},
		{json.RawMessage{}, `{}`},
		{leaf{}, `{"type":"object","properties":{"value":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/leaf"}}},"required":["value"],"additionalProperties":false,"$defs":{"leaf":{"type":"object","properties":{"value":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/leaf"}}},"required":["value"],"additionalProperties":false}}}`},
		{forest{}, `{"type":"object","additionalProperties":{"$ref":"#/$defs/forest"},"$defs":{"forest":{"type":"object","additionalProperties":{"$ref":"#/$defs/forest"}}}}`},
		{list{}, `{"type":"array","items":{"$ref":"#/$defs/list"},"$defs":{"list":{"type":"array","items":{"$ref":"#/$defs/list"}}}}`},
		{array{}, `{"type":"array","items":{"$ref":"#/$defs/array"},"minItems":2,"maxItems":2,"$defs":{"array":{"type":"array","items":{"$ref":"#/$defs/array"},"minItems":2,"maxItems":2}}}`},
		{handle(nil), `{"type":"array","items":{"type":"array","items":{"$ref":"#/$defs/slice"}},"$defs":{"slice":{"type":"array","items":{"type":"array","items":{"$ref":"#/$defs/slice"}}}}}`},
		{[]*leaf{}, `{"type":"array","items":{"type":"object","properties":{"value":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/leaf"}}},"required":["value"],"additionalProperties":false},` +
			`"$defs":{"leaf":{"type":"object","properties":{"value":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/leaf"}}},"required":["value"],"additionalProperties":false}}}`},
		{tagged(list(nil), `json:"l"`), `{"type":"object","properties":{"l":{"type":"array","items":{"$ref":"#/$defs/list"}}},"required":["l"],"additionalProperties":false,"$defs":{"list":{"type":"array","items":{"$ref":"#/$defs/list"}}}}`},
		{tagged([]level(nil), `json:"levels" enum:"low,high"`), `{"type":"object","properties":{"levels":{"type":"array","items":{"type":"string","enum":["low","high"]}}},"required":["levels"],"additionalProperties":false}`},
		{all{}, `{"type":"object","properties":{"id":{"type":"integer","minimum":-128,"maximum":127},"name":{"description":"The \"name\" <b>","type":"string"},` +
			`"color":{"type":"string","enum":["red","green"]},"tags":{"type":"array","items":{"type":"string","enum":["a","b"]}},"count":{"type":"integer","minimum":1,"maximum":10},` +
			`"size":{"type":"integer","minimum":0},"ratio":{"type":"number"},"on":{"type":"boolean"},"when":{"type":"string","format":"date-time"},"host":{"type":"string"},` +
			`"data":{"type":"string","contentEncoding":"base64"},"pair":{"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":2},"extra":{"type":"object","additionalProperties":{}},` +
			`"any":{},"number":{"type":"number"},"quoted":{"type":"string","pattern":"^-?[0-9]+$"},"Plain":{"type":"string"},` +
			`"tree":{"type":"object","properties":{"value":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/leaf"}}},"required":["value"],"additionalProperties":false}},` +
			`"required":["id","name","color","count","on","when","host","data","pair","extra","any","number","quoted","Plain","tree"],"additionalProperties":false,` +
			`"$defs":{"leaf":{"type":"object","properties":{"value":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/leaf"}}},"required":["value"],"additionalProperties":false}}}`},
	} {
		got, err := OfType(reflect.TypeOf(tt.value))
		check.NoError(t, err, reflect.TypeOf(tt.value))
		check.Same(t, reflect.TypeOf(tt.value), string(got), tt.want)
	}
}

// Values that fit a type's schema are decoded by encoding/json. Of fields with one name the outermost counts.
func TestFieldsOfOneName(t *testing.T) {
	type a struct{ X, Y int }
	type b struct {
		X int
		Y int `json:"Y"`
	}
	type both struct {
		a
		b
		Z int
	}
	got, err := OfType(reflect.TypeFor[both]())
	check.That(t, err == nil && strings.Contains(string(got), `"required":["Y","Z"]`), "got %s, %v, want Y and Z", got, err)
	value := both{a: a{1, 2}, b: b{3, 4}, Z: 5}
	check.Equal(t, "encoding/json", string(check.Value(json.Marshal(value))(t)), `{"Y":4,"Z":5}`)
}

// tagged returns a struct with a field F like value, with a tag.
func tagged(value any, tag reflect.StructTag) any {
	f := reflect.StructField{Name: "F", Type: reflect.TypeOf(value), Tag: tag}
	return reflect.Zero(reflect.StructOf([]reflect.StructField{f})).Interface()
}

func TestTypesWithoutSchema(t *testing.T) {
	for _, tt := range []struct {
		value any
		want  string
	}{
		{struct{ F func() }{}, "schema of struct { F func() }: field F: func() has no JSON"},
		{map[bool]int{}, "schema of map[bool]int: map[bool]int has keys that are not strings"},
		{chain(nil), "schema of toolschema.chain: toolschema.chain has no JSON"},
		{struct{ C []chan int }{}, "schema of struct { C []chan int }: field C: chan int has no JSON"},
		{tagged(0, `enum:"1,2"`), `tag enum is for strings, not for int`},
		{tagged(0, `minimum:"one"`), `minimum "one" is not a JSON number`},
		{tagged(0.0, `minimum:".5"`), `field F: minimum ".5" is not a JSON number`},
		{tagged(0.0, `maximum:"NaN"`), `maximum "NaN" is not a JSON number`},
		{tagged("", `minimum:"1"`), `tag minimum is for numbers, not for string`},
		{tagged(uint8(0), `minimum:"-5"`), `minimum -5 is not from 0 to 255`},
		{tagged(int8(0), `maximum:"300"`), `maximum 300 is not from -128 to 127`},
		{tagged(int8(0), `minimum:"5" maximum:"3"`), `maximum 3 is not from 5 to 127`},
		{tagged([]time.Time(nil), `enum:"2026-01-02T03:04:05Z,red"`), `field F: enum "red": parsing time "red"`},
		{tagged(int8(0), `json:",string" enum:"1,300"`), `field F: enum "300": json: `},
		{tagged("", `json:",string"`), `field F: the option string of the tag json is for numbers and booleans`},
	} {
		check.Text(t, check.Err(OfType(reflect.TypeOf(tt.value))), tt.want, tt.value)
	}
}
