package results

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Everything that some revision has in an item of a list is read and written again.
func TestItemsAreWhole(t *testing.T) {
	const (
		icons       = `"icons":[{"src":"data:,","mimeType":"image/png","sizes":["1x1"],"theme":"dark"}]`
		annotations = `"annotations":{"audience":["user","assistant"],"priority":0.5,"lastModified":"2025-01-12T15:00:58Z"}`
		meta        = `"_meta":{"k":1}`
		named       = `"name":"n","title":"t","description":"d"`
	)
	checkItem(t, &Page[mcp.Tool]{Key: "tools"}, `{`+named+`,"inputSchema":{"type":"object"},"outputSchema":{"type":"array"},`+
		`"annotations":{"title":"a","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false},`+icons+`,"execution":{"taskSupport":"optional"},`+meta+`}`)
	checkItem(t, &Page[mcp.Resource]{Key: "resources"}, `{"uri":"file:///a",`+named+`,"mimeType":"text/plain","size":0,`+icons+`,`+annotations+`,`+meta+`}`)
	checkItem(t, &Page[mcp.ResourceTemplate]{Key: "resourceTemplates"}, `{"uriTemplate":"file:///{a}",`+named+`,"mimeType":"text/plain",`+icons+`,`+annotations+`,`+meta+`}`)
	checkItem(t, &Page[mcp.Prompt]{Key: "prompts"}, `{`+named+`,"arguments":[{`+named+`,"required":true}],`+icons+`,`+meta+`}`)
}

func checkItem[T any](t *testing.T, p *Page[T], item string) {
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
	want := []mcp.Icon{{Src: "a", Sizes: []string{"48x48", "96x96"}}, {Src: "b", Sizes: []string{"any"}}, {Src: "c"}, {Src: "d", Sizes: []string{"1x1"}}}
	tools := Page[mcp.Tool]{Key: "tools"}
	if err := jsonrpc.DecodeResult([]byte(`{"tools":[{"name":"t","inputSchema":{},"annotations":[],`+icons+`}]}`), &tools); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&mcp.Tool{Name: "t", InputSchema: json.RawMessage("{}"), Annotations: new(mcp.ToolAnnotations), Icons: want}, tools.Items[0]); diff != "" {
		t.Errorf("tools, got +, want -:\n%s", diff)
	}
	resources := Page[mcp.Resource]{Key: "resources"}
	if err := jsonrpc.DecodeResult([]byte(`{"resources":[{"uri":"u","name":"r","annotations":[ ],`+icons+`}]}`), &resources); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&mcp.Resource{URI: "u", Name: "r", Annotations: new(mcp.Annotations), Icons: want}, resources.Items[0]); diff != "" {
		t.Errorf("resources, got +, want -:\n%s", diff)
	}
	prompts := Page[mcp.Prompt]{Key: "prompts"}
	if err := jsonrpc.DecodeResult([]byte(`{"prompts":[{"name":"p",`+icons+`}]}`), &prompts); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&mcp.Prompt{Name: "p", Icons: want}, prompts.Items[0]); diff != "" {
		t.Errorf("prompts, got +, want -:\n%s", diff)
	}
	for _, wrong := range []string{`"icons":[{"src":"a","sizes":5}]`, `"icons":[{"src":"a","sizes":[5]}]`, `"annotations":[1]`, `"annotations":"x"`} {
		if err := jsonrpc.DecodeResult([]byte(`{"tools":[{"name":"t","inputSchema":{},`+wrong+`}]}`), &Page[mcp.Tool]{Key: "tools"}); err == nil {
			t.Errorf("%s: got no error", wrong)
		}
	}
	for _, wrong := range []string{`"annotations":[1]`, `"annotations":"x"`} {
		if err := jsonrpc.DecodeResult([]byte(`{"resources":[{"uri":"u",`+wrong+`}]}`), &Page[mcp.Resource]{Key: "resources"}); err == nil {
			t.Errorf("%s: got no error", wrong)
		}
	}
}

// A size of a resource and its annotations are read in every form whose meaning is
// plain, and cost neither the item nor the list where it is not.
func TestHintsInOtherForms(t *testing.T) {
	audience := func(all ...string) *mcp.Annotations { return &mcp.Annotations{Audience: all} }
	priority := func(p float64) *mcp.Annotations { return &mcp.Annotations{Priority: &p} }
	for member, want := range map[string]mcp.Resource{
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
			resources := Page[mcp.Resource]{Key: "resources"}
			if err := jsonrpc.DecodeResult([]byte(`{"resources":[{"uri":"a",`+member+`},{"uri":"b","name":"n"}]}`), &resources); err != nil {
				t.Fatal(err)
			}
			want.URI = "a"
			if diff := cmp.Diff([]*mcp.Resource{&want, {URI: "b", Name: "n"}}, resources.Items); diff != "" {
				t.Errorf("resources, got +, want -:\n%s", diff)
			}
			templates := Page[mcp.ResourceTemplate]{Key: "resourceTemplates"}
			if err := jsonrpc.DecodeResult([]byte(`{"resourceTemplates":[{"uriTemplate":"a",`+member+`}]}`), &templates); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&mcp.ResourceTemplate{URITemplate: "a", Annotations: want.Annotations}, templates.Items[0]); diff != "" {
				t.Errorf("templates, got +, want -:\n%s", diff)
			}
		})
	}
	for _, wrong := range []string{`"uri":5`, `"uri":"a","name":5`, `"uri":"a","annotations":{"lastModified":5}`} {
		if err := jsonrpc.DecodeResult([]byte(`{"resources":[{`+wrong+`}]}`), &Page[mcp.Resource]{Key: "resources"}); err == nil {
			t.Errorf("%s: got no error", wrong)
		}
	}
}

// What a server lists has a bound on its parts, not only on its bytes.
func TestPagesAreBounded(t *testing.T) {
	many := func(part string, n int) string { return "[" + strings.Repeat(part+",", n-1) + part + "]" }
	for name, test := range map[string]struct {
		page any
		text string
		want string
	}{
		"items":     {&Page[mcp.Tool]{Key: "tools"}, `{"tools":` + many("{}", jsonrpc.MaxElements+1) + `}`, "more than 10000 elements"},
		"icons":     {&Page[mcp.Tool]{Key: "tools"}, `{"tools":[{"name":"a","icons":` + many("{}", 10*jsonrpc.MaxElements+1) + `}]}`, "more than 100000 elements in all"},
		"arguments": {&Page[mcp.Prompt]{Key: "prompts"}, `{"prompts":[{"name":"a","arguments":` + many("{}", 10*jsonrpc.MaxElements+1) + `}]}`, "more than 100000 elements in all"},
	} {
		if err := jsonrpc.DecodeResult(json.RawMessage(test.text), test.page); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}
