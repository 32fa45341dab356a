package mcp

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// Everything that some revision has in an item of a list is read and written
// again.
func TestItemsAreWhole(t *testing.T) {
	const (
		icons       = `"icons":[{"src":"data:,","mimeType":"image/png","sizes":["1x1"],"theme":"dark"}]`
		annotations = `"annotations":{"audience":["user","assistant"],"priority":0.5,"lastModified":"2025-01-12T15:00:58Z"}`
		meta        = `"_meta":{"k":1}`
		named       = `"name":"n","title":"t","description":"d"`
	)
	checkItem(t, &PageResult[Tool]{Key: "tools"}, `{`+named+`,"inputSchema":{"type":"object"},"outputSchema":{"type":"array"},`+
		`"annotations":{"title":"a","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false},`+icons+`,"execution":{"taskSupport":"optional"},`+meta+`}`)
	checkItem(t, &PageResult[Resource]{Key: "resources"}, `{"uri":"file:///a",`+named+`,"mimeType":"text/plain","size":0,`+icons+`,`+annotations+`,`+meta+`}`)
	checkItem(t, &PageResult[ResourceTemplate]{Key: "resourceTemplates"}, `{"uriTemplate":"file:///{a}",`+named+`,"mimeType":"text/plain",`+icons+`,`+annotations+`,`+meta+`}`)
	checkItem(t, &PageResult[Prompt]{Key: "prompts"}, `{`+named+`,"arguments":[{`+named+`,"required":true}],`+icons+`,`+meta+`}`)
}

func checkItem[T any](t *testing.T, p *PageResult[T], item string) {
	t.Helper()
	if err := jsonrpc.DecodeResult([]byte(`{"`+p.Key+`":[`+item+`]}`), p); err != nil {
		t.Fatal(err)
	}
	got, err := jsonrpc.Marshal(p.Items[0])
	if err != nil {
		t.Fatal(err)
	}
	var want, read any
	if err := errors.Join(json.Unmarshal([]byte(item), &want), json.Unmarshal(got, &read)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, read); diff != "" {
		t.Errorf("%s: got +, want -:\n%s", p.Key, diff)
	}
}

// What some servers write in another form than the protocol has does not cost the
// list: the sizes of an icon in one string, as drafts had them, and an
// empty list for an empty object, as PHP writes that.
func TestItemsInOtherForms(t *testing.T) {
	const icons = `"icons":[{"src":"a","sizes":"48x48 96x96"},{"src":"b","sizes":"any"},{"src":"c","sizes":null},{"src":"d","sizes":["1x1"]}]`
	want := []Icon{{Src: "a", Sizes: []string{"48x48", "96x96"}}, {Src: "b", Sizes: []string{"any"}}, {Src: "c"}, {Src: "d", Sizes: []string{"1x1"}}}
	tools := PageResult[Tool]{Key: "tools"}
	if err := jsonrpc.DecodeResult([]byte(`{"tools":[{"name":"t","inputSchema":{},"annotations":[],`+icons+`}]}`), &tools); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&Tool{Name: "t", InputSchema: json.RawMessage("{}"), Annotations: new(ToolAnnotations), Icons: want}, tools.Items[0]); diff != "" {
		t.Errorf("tools, got +, want -:\n%s", diff)
	}
	resources := PageResult[Resource]{Key: "resources"}
	if err := jsonrpc.DecodeResult([]byte(`{"resources":[{"uri":"u","name":"r","annotations":[ ],`+icons+`}]}`), &resources); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&Resource{URI: "u", Name: "r", Annotations: new(Annotations), Icons: want}, resources.Items[0]); diff != "" {
		t.Errorf("resources, got +, want -:\n%s", diff)
	}
	prompts := PageResult[Prompt]{Key: "prompts"}
	if err := jsonrpc.DecodeResult([]byte(`{"prompts":[{"name":"p",`+icons+`}]}`), &prompts); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&Prompt{Name: "p", Icons: want}, prompts.Items[0]); diff != "" {
		t.Errorf("prompts, got +, want -:\n%s", diff)
	}
	var many Icon
	if err := json.Unmarshal([]byte(`{"src":"a","sizes":"`+strings.Repeat("1x1 ", 1000)+`"}`), &many); err != nil || len(many.Sizes) != maxSizes {
		t.Errorf("got %d sizes of 1,000, %v, want %d", len(many.Sizes), err, maxSizes)
	}
	for _, wrong := range []string{`"icons":[{"src":"a","sizes":5}]`, `"icons":[{"src":"a","sizes":[5]}]`, `"annotations":[1]`, `"annotations":"x"`} {
		if err := jsonrpc.DecodeResult([]byte(`{"tools":[{"name":"t","inputSchema":{},`+wrong+`}]}`), &PageResult[Tool]{Key: "tools"}); err == nil {
			t.Errorf("%s: got no error", wrong)
		}
	}
	for _, wrong := range []string{`"annotations":[1]`, `"annotations":"x"`} {
		if err := jsonrpc.DecodeResult([]byte(`{"resources":[{"uri":"u",`+wrong+`}]}`), &PageResult[Resource]{Key: "resources"}); err == nil {
			t.Errorf("%s: got no error", wrong)
		}
	}
}

// A size of a resource and its annotations are read in every form whose meaning is
// plain, and cost neither the item nor the list where it is not.
func TestHintsInOtherForms(t *testing.T) {
	audience := func(all ...string) *Annotations { return &Annotations{Audience: all} }
	priority := func(p float64) *Annotations { return &Annotations{Priority: &p} }
	for member, want := range map[string]Resource{
		`"size":12`:                   {Size: new(int64(12))},
		`"size":12.0`:                 {Size: new(int64(12))},
		`"size":1e3`:                  {Size: new(int64(1000))},
		`"size":1.5E1`:                {Size: new(int64(15))},
		`"size":"12"`:                 {Size: new(int64(12))},
		`"size":"12.0"`:               {Size: new(int64(12))},
		`"size":9223372036854775807`:  {Size: new(int64(math.MaxInt64))},
		`"size":9007199254740993.0`:   {Size: new(int64(1<<53 + 1))},
		`"size":9223372036854775808`:  {},
		`"size":-1`:                   {},
		`"size":1e400`:                {},
		`"size":1e999999999`:          {},
		`"size":12.5`:                 {},
		`"size":"12 KB"`:              {},
		`"size":"0x10"`:               {},
		`"size":""`:                   {},
		`"size":null`:                 {},
		`"size":true`:                 {},
		`"size":[12]`:                 {},
		`"size":{"bytes":12}`:         {},
		`"size":12,"size":"big"`:      {},
		`"annotations":null`:          {},
		`"annotations":{}`:            {Annotations: audience()},
		`"audience":["user","other"]`: {Annotations: audience("user", "other")},
		`"audience":"user"`:           {Annotations: audience("user")},
		`"audience":""`:               {Annotations: audience()},
		`"audience":null`:             {Annotations: audience()},
		`"audience":5`:                {Annotations: audience()},
		`"audience":["user",5]`:       {Annotations: audience()},
		`"audience":{"user":true}`:    {Annotations: audience()},
		`"priority":0.5`:              {Annotations: priority(0.5)},
		`"priority":"0.5"`:            {Annotations: priority(0.5)},
		`"priority":"1"`:              {Annotations: priority(1)},
		`"priority":"high"`:           {Annotations: audience()},
		`"priority":"NaN"`:            {Annotations: audience()},
		`"priority":1e400`:            {Annotations: audience()},
		`"priority":null`:             {Annotations: audience()},
		`"priority":true`:             {Annotations: audience()},
	} {
		t.Run(member, func(t *testing.T) {
			if want.Annotations != nil && !strings.HasPrefix(member, `"annotations"`) {
				member = `"annotations":{` + member + `}`
			}
			resources := PageResult[Resource]{Key: "resources"}
			if err := jsonrpc.DecodeResult([]byte(`{"resources":[{"uri":"a",`+member+`},{"uri":"b","name":"n"}]}`), &resources); err != nil {
				t.Fatal(err)
			}
			want.URI = "a"
			if diff := cmp.Diff([]*Resource{&want, {URI: "b", Name: "n"}}, resources.Items); diff != "" {
				t.Errorf("resources, got +, want -:\n%s", diff)
			}
			templates := PageResult[ResourceTemplate]{Key: "resourceTemplates"}
			if err := jsonrpc.DecodeResult([]byte(`{"resourceTemplates":[{"uriTemplate":"a",`+member+`}]}`), &templates); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&ResourceTemplate{URITemplate: "a", Annotations: want.Annotations}, templates.Items[0]); diff != "" {
				t.Errorf("templates, got +, want -:\n%s", diff)
			}
		})
	}
	for _, wrong := range []string{`"uri":5`, `"uri":"a","name":5`, `"uri":"a","annotations":{"lastModified":5}`} {
		if err := jsonrpc.DecodeResult([]byte(`{"resources":[{`+wrong+`}]}`), &PageResult[Resource]{Key: "resources"}); err == nil {
			t.Errorf("%s: got no error", wrong)
		}
	}
}
