package tree

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

const everywhere = `{"not":{},"items":[{},true],"additionalItems":{},"allOf":[{}],"properties":{"b/c":{},"a":5},"dependencies":{"x":["y"],"z":{}},
	"const":{"not":{}},"enum":[{"items":{}}],"default":{"properties":{"p":{}}}}`

// Each visits subschemas, and other values in their places, but no data.
func TestEach(t *testing.T) {
	var got []string
	for place, sub := range Each(decode(t, everywhere)) {
		got = append(got, fmt.Sprintf("%s %d %s", place.Join(""), place.Kind, check.Value(json.Marshal(sub))(t)))
	}
	want := []string{
		"/not 0 {}", "/items/0 3 {}", "/items/1 3 true", "/additionalItems 3 {}", "/allOf/0 0 {}",
		"/properties/a 1 5", "/properties/b~1c 1 {}", "/dependencies/z 0 {}",
	}
	check.Same(t, "", got, want)
}

// Map replaces what Each visits, in a copy.
func TestMap(t *testing.T) {
	in := decode(t, everywhere)
	got := Map(in, func(p Place, _ any) any { return p.Join("") })
	want := decode(t, `{"not":"/not","items":["/items/0","/items/1"],"additionalItems":"/additionalItems","allOf":["/allOf/0"],
		"properties":{"b/c":"/properties/b~1c","a":"/properties/a"},"dependencies":{"x":["y"],"z":"/dependencies/z"},
		"const":{"not":{}},"enum":[{"items":{}}],"default":{"properties":{"p":{}}}}`)
	check.Same(t, "", got, want)
	check.Same(t, "the schema that was mapped", in, decode(t, everywhere))
}

func TestAll(t *testing.T) {
	var titles []string
	for s := range All(decode(t, `{"title":"a","items":{"title":"b","not":{"title":"c"}},"allOf":[true,{"title":"d"}],"enum":[{"title":"e"}]}`)) {
		titles = append(titles, s["title"].(string))
	}
	check.Equal(t, "abcd", strings.Join(titles, ""), "abcd")
}
