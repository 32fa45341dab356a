package adapter

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// toolWith returns a tool without a server.
func toolWith(t testing.TB, inputSchema string) *Tool {
	t.Helper()
	ts := newToolset(new(Options).withDefaults())
	def := &mcp.Tool{Name: "tool", Description: "Does it.", InputSchema: json.RawMessage(inputSchema)}
	tool := check.Value(newTool(newServerState(ts.opts, &Server{Name: "test"}), nil, def, &ts.connector.schemas))(t)
	tool.name = def.Name
	return tool
}

// valid returns an error if arguments do not fit the tool's schema without repair.
func (t *Tool) valid(arguments []byte) error { return check.Err(t.input.Check(arguments)) }

const (
	weather = `{"type":"object","required":["city"],"additionalProperties":false,"properties":{
		"city":{"type":"string"},"days":{"type":"integer","minimum":1},"tags":{"type":"array","items":{"type":"string"}},
		"metric":{"type":"boolean"},"ratio":{"type":"number"},"place":{"$ref":"#/$defs/place"},
		"unit":{"enum":["C","F"]},"level":{"enum":[1,2]},"maybe":{"type":["integer","null"]},
		"id":{"anyOf":[{"type":"integer"},{"type":"null"}]},
		"at":{"oneOf":[{"type":"object","properties":{"kind":{"const":"x"},"v":{"type":"integer"}},"required":["kind","v"]},
			{"type":"object","properties":{"kind":{"const":"y"},"v":{"type":"boolean"}},"required":["kind","v"]}]}},
		"$defs":{"place":{"type":"object","properties":{"lat":{"type":"number"},"in":{"$ref":"#/$defs/place"}}}}}`
	queried = `{"type":"object","required":["query"],"properties":{"query":{"type":"string"}}}`
	number  = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`
	several = `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a","b"]}`
	edits   = `{"type":"object","properties":{"edits":{"type":"array","items":{"type":"object","properties":{"mode":{"enum":["a","b"]}},"required":["line"]}}}}`
	nothing = `{"type":"object"}`
	enums   = `{"type":"object","properties":{"v":{"enum":[1,"two","3",3,true,null]}}}`
	odd     = `{"type":"object","properties":{"weird name":{"type":"integer"},"list":{"items":{"properties":{"a/b":{}}}},"plain":{}}}`
	choice  = `{"properties":{"a":{"type":"integer"},"b":{"type":"string"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`
	free    = `{"properties":{"o":{"type":"object"},"n":{"type":"object","additionalProperties":{"type":"integer"}},"l":{"type":["array","object"]}}}`
)

func TestArguments(t *testing.T) {
	for _, tt := range []struct{ name, schema, input, want string }{
		{"object", queried, `{"query":"x"}`, `{"query":"x"}`},
		{"white space", queried, "\ufeff\n {\"query\": \"x\"} \n", `{"query":"x"}`},
		{"empty", nothing, ``, `{}`},
		{"blank", nothing, " \n", `{}`},
		{"null", nothing, `null`, `{}`},
		{"none in words", nothing, `None`, `{}`},
		{"not applicable", nothing, `"N/A"`, `{}`},
		{"exact digits", `{"properties":{"n":{"type":"number"}}}`, `{"n":12345678901234567890.10}`, `{"n":12345678901234567890.10}`},
		{"no HTML escapes", queried, `{"query":"a<b>&"}`, `{"query":"a<b>&"}`},
		{"last duplicate", queried, `{"query":"x","query":"y"}`, `{"query":"y"}`},

		{"wrapped object", weather, `{"__arg1":{"city":"Rome"}}`, `{"city":"Rome"}`},
		{"wrapped JSON", weather, `{"__arg1":"{\"city\":\"Rome\"}"}`, `{"city":"Rome"}`},
		{"wrapped twice", weather, `{"__arg1":"{\"__arg1\":{\"city\":\"Rome\"}}"}`, `{"city":"Rome"}`},
		{"wrapped fence", weather, "{\"__arg1\":\"```json\\n{\\\"city\\\":\\\"Rome\\\"}\\n```\"}", `{"city":"Rome"}`},
		{"wrapped value", weather, `{"__arg1":"Rome"}`, `{"city":"Rome"}`},
		{"wrapped number", number, `{"__arg1":3}`, `{"n":3}`},
		{"wrapped nothing", nothing, `{"__arg1":""}`, `{}`},
		{"wrapped empty value", queried, `{"__arg1":""}`, `{"query":""}`},
		{"wrapped text with a tail", queried, `{"__arg1":"a\nThought: b"}`, `{"query":"a\nThought: b"}`},
		{"a parameter of that name", `{"properties":{"__arg1":{"type":"string"}}}`, `{"__arg1":"{}"}`, `{"__arg1":"{}"}`},
		{"JSON that is meant as text", queried, `{"__arg1":"{\"a\":1}"}`, `{"query":"{\"a\":1}"}`},

		{"one property for all", choice, `{"input":{"a":"3"}}`, `{"a":3}`},
		{"one property for all, as JSON", choice, `{"input":"{\"b\":\"x\"}"}`, `{"b":"x"}`},
		{"without the one property", choice, `{"b":"x"}`, `{"b":"x"}`},
		{"beside the one property", choice, `{"input":{"a":1},"b":"x"}`, `{"b":"x","input":{"a":1}}`},
		{"the one property has another name", `{"properties":{"input":{}},"anyOf":[{"required":["input"]}]}`, `{"input2":{"input":{"a":1}}}`, `{"input":{"a":1}}`},
		{"a parameter that is called input", `{"properties":{"input":{}},"anyOf":[{"required":["input"]}]}`, `{"input":{"input":1}}`, `{"input":{"input":1}}`},
		{"no property for all", nothing, `{"input":{"a":1}}`, `{"input":{"a":1}}`},

		{"names and values", free, `{"o":[{"key":"a","value":"x"},{"key":"b","json":"[1]"},{"key":"c"},{"key":"d","value":null}]}`, `{"o":{"a":"x","b":[1],"c":null,"d":null}}`},
		{"names and values of a type", free, `{"n":[{"key":"a","value":"1"},{"key":"b","value":2},{"key":"a","value":3}]}`, `{"n":{"a":3,"b":2}}`},
		{"no names and values", free, `{"o":[]}`, `{"o":{}}`},
		{"values that are no JSON", free, `{"o":[{"key":"a","json":"{"}]}`, `{"o":{"a":"{"}}`},
		{"an object where names and values may be", free, `{"o":{"key":"a"}}`, `{"o":{"key":"a"}}`},
		{"names and values where a list may be", free, `{"l":[{"key":"a"}]}`, `{"l":[{"key":"a"}]}`},

		{"fence", queried, "```json\n{\"query\":\"x\"}\n```", `{"query":"x"}`},
		{"fence without language", queried, "```\n{\"query\":\"x\"}\n```", `{"query":"x"}`},
		{"fence on one line", queried, "```{\"query\":\"x\"}```", `{"query":"x"}`},
		{"fence without end", queried, "```json\n{\"query\":\"x\"}", `{"query":"x"}`},
		{"fence and tail", queried, "```json\n{\"query\":\"x\"}\n```\nObservation: 3\nThought: done", `{"query":"x"}`},
		{"fence around a fence", queried, "```json\n{\"query\":\"```go\\nx\\n```\"}\n```\nObservation: ```3```", "{\"query\":\"```go\\nx\\n```\"}"},
		{"fence around text", queried, "```\nsome text\n```", `{"query":"some text"}`},
		{"tail", queried, "{\"query\":\"x\"}\nObservation: 3", `{"query":"x"}`},
		{"tail on the line", queried, `{"query":"x"} Observation: 3`, `{"query":"x"}`},
		{"text and tail", queried, "some text\nObservation: 3\nThought: I", `{"query":"some text"}`},

		{"bare text", queried, `some text`, `{"query":"some text"}`},
		{"bare quoted text", queried, `"some text"`, `{"query":"some text"}`},
		{"bare number", number, `3`, `{"n":3}`},
		{"bare number as text", queried, `3`, `{"query":"3"}`},
		{"bare value of the required one", weather, `Rome`, `{"city":"Rome"}`},
		{"bare list", `{"properties":{"l":{"type":"array"}}}`, `[1,2]`, `{"l":[1,2]}`},
		{"quoted object", queried, `"{\"query\":\"x\"}"`, `{"query":"x"}`},
		{"object quoted twice", queried, `"\"{\\\"query\\\":\\\"x\\\"}\""`, `{"query":"x"}`},

		{"text to number", weather, `{"city":"Rome","days":"3"}`, `{"city":"Rome","days":3}`},
		{"text to boolean", weather, `{"city":"Rome","metric":"True"}`, `{"city":"Rome","metric":true}`},
		{"text to fraction", weather, `{"city":"Rome","ratio":" 0.5 "}`, `{"city":"Rome","ratio":0.5}`},
		{"number to text", weather, `{"city":10115}`, `{"city":"10115"}`},
		{"boolean to text", weather, `{"city":true}`, `{"city":"true"}`},
		{"value to list", weather, `{"city":"Rome","tags":"a"}`, `{"city":"Rome","tags":["a"]}`},
		{"value to list of another type", weather, `{"city":"Rome","tags":7}`, `{"city":"Rome","tags":["7"]}`},
		{"text to list", weather, `{"city":"Rome","tags":"[\"a\",1]"}`, `{"city":"Rome","tags":["a","1"]}`},
		{"text to object", weather, `{"city":"Rome","place":"{\"lat\":\"1.5\"}"}`, `{"city":"Rome","place":{"lat":1.5}}`},
		{"through references", weather, `{"city":"Rome","place":{"in":{"in":{"lat":"2"}}}}`, `{"city":"Rome","place":{"in":{"in":{"lat":2}}}}`},
		{"text to enumerated number", weather, `{"city":"Rome","level":"2"}`, `{"city":"Rome","level":2}`},
		{"null for not given", weather, `{"city":"Rome","days":null,"unit":null}`, `{"city":"Rome"}`},
		{"null where it may be", weather, `{"city":"Rome","maybe":null,"id":null,"days":"1"}`, `{"city":"Rome","days":1,"id":null,"maybe":null}`},
		{"alternative", weather, `{"city":"Rome","id":"5"}`, `{"city":"Rome","id":5}`},
		{"alternative by its constant", weather, `{"city":"Rome","at":{"kind":"y","v":"true"}}`, `{"at":{"kind":"y","v":true},"city":"Rome"}`},
		{"an enumerated number as text", enums, `{"v":"1"}`, `{"v":1}`},
		{"a text that is enumerated", enums, `{"v":"3"}`, `{"v":"3"}`},
		{"an enumerated boolean as text", enums, `{"v":"true"}`, `{"v":true}`},
		{"by the pattern of a name", `{"properties":{"p":{"type":"boolean"}},"patternProperties":{"^x-":{"type":"string"},"^x-n":{"maxLength":3}},"additionalProperties":{"type":"integer"}}`,
			`{"n":"5","x-a":"3","x-n":4,"p":"true"}`, `{"n":5,"p":true,"x-a":"3","x-n":"4"}`},
		{"another name", odd, `{"weird_name":"1"}`, `{"weird name":1}`},
		{"another name beside the real one", odd, `{"weird name":1,"weird_name":2}`, `{"weird name":1,"weird_name":2}`},
		{"another name in a list", odd, `{"list":[{"a_b":true}],"plain":1}`, `{"list":[{"a/b":true}],"plain":1}`},
		{"what fits is left alone", `{"properties":{"v":{"anyOf":[{"type":"integer"},{"type":"string"}]}}}`, `{"v":"3"}`, `{"v":"3"}`},
	} {
		t.Run(tt.name, func(t *testing.T) { toolWith(t, tt.schema).sends(t, tt.input, tt.want) })
	}
}

func TestArgumentsRefused(t *testing.T) {
	for _, tt := range []struct{ name, schema, input, path, want string }{
		{"half an object", queried, `{"query":"x"`, "", "not valid JSON: it ends too early"},
		{"half an object in a fence", queried, "```json\n{\"query\":\n```", "", "not valid JSON"},
		{"inside of an item", edits, `{"edits":[{"line":1},{"mode":"a"}]}`, "/edits/1", `missing required property "line"`},
		{"an item's value", edits, `{"edits":[{"line":1,"mode":"c"}]}`, "/edits/0/mode", `want one of "a", "b", got string "c"`},
		{"not enumerated", enums, `{"v":"4"}`, "/v", "want"},
		{"a boolean that is not enumerated", enums, `{"v":"false"}`, "/v", "want"},
		{"two objects", queried, `{"query":"x"}{"query":"y"}`, "", "more text after the value"},
		{"text for several", several, `some text`, "", `want a JSON object with the properties "a", "b", got the text "some text"`},
		{"missing", several, `{"a":"x"}`, "", `missing required property "b"`},
		{"wrapped, unusable", several, `{"__arg1":"x"}`, "", `missing required properties "a", "b"`},
		{"unknown", weather, `{"city":"Rome","town":1}`, "", `unknown property "town"; known are "at", "city"`},
		{"not a number", weather, `{"city":"Rome","days":"three"}`, "/days", `want integer, got string "three"`},
		{"not integral", weather, `{"city":"Rome","days":"1.5"}`, "/days", `want integer, got string "1.5"`},
		{"below the minimum once repaired", weather, `{"city":"Rome","days":"0"}`, "/days", `want a number >= 1, got number 0`},
		{"no list for text", weather, `{"city":["Rome"]}`, "/city", `want string, got array of 1`},
		{"null for a required one", weather, `{"city":null}`, "/city", `want string, got null`},
		{"inside a list", weather, `{"city":"Rome","tags":["a",{}]}`, "/tags/1", `want string, got object of 0`},
		{"text for none", nothing, `please`, "", "want a JSON object with no properties"},
		{"too deep", queried, strings.Repeat(`{"a":`, 70) + "1" + strings.Repeat("}", 70), "", "nested deeper"},
		{"too large", queried, `{"query":"` + strings.Repeat("x", 4<<20) + `"}`, "", "want at most 4194304"},
		{"too many digits", number, `{"n":` + strings.Repeat("9", 2000) + `}`, "", "digits"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := toolWith(t, tt.schema).arguments(tt.input)
			var e *argumentError
			check.Require(t, errors.As(err, &e), "got %s and %v, want an argumentError", got, err)
			if tt.path != "" {
				tt.path = fmt.Sprintf("at %q: ", tt.path)
			}
			check.Contains(t, "", e.Error(), tt.path+tt.want)
			check.That(t, len(e.Error()) <= 2000, "got an error of %d bytes, want it short", len(e.Error()))
		})
	}
}

func FuzzArguments(f *testing.F) {
	tools := []*Tool{}
	for _, s := range []string{weather, queried, number, several, nothing} {
		tools = append(tools, toolWith(f, s))
	}
	for _, seed := range []string{
		`{"city":"Rome","days":"3","tags":"a"}`, `{"__arg1":"{\"city\":1}"}`, "```json\n{}\n```\nObservation: 1",
		`"\"x\""`, `[[[]]]`, `{"city":null,"at":{"kind":"x","v":"1"}}`, "\ufeff", `{"a":1e999}`, "```", `{}x`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, input string) {
		for _, tool := range tools {
			args, err := tool.arguments(input)
			if err != nil {
				var e *argumentError
				check.That(t, errors.As(err, &e) && e.err != nil && e.Error() != "", "got %v, want an argumentError that says why", err)
				continue
			}
			check.NoError(t, tool.valid(args), args, input, "which is not valid")
			tool.sends(t, string(args), string(args)) // when read again
		}
	})
}
