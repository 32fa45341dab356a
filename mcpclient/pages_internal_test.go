package mcpclient

import (
	"encoding/json"
	"errors"
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
	checkItem(t, &paged[Tool]{key: "tools"}, `{`+named+`,"inputSchema":{"type":"object"},"outputSchema":{"type":"array"},`+
		`"annotations":{"title":"a","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false},`+icons+`,"execution":{"taskSupport":"optional"},`+meta+`}`)
	checkItem(t, &paged[Resource]{key: "resources"}, `{"uri":"file:///a",`+named+`,"mimeType":"text/plain","size":0,`+icons+`,`+annotations+`,`+meta+`}`)
	checkItem(t, &paged[ResourceTemplate]{key: "resourceTemplates"}, `{"uriTemplate":"file:///{a}",`+named+`,"mimeType":"text/plain",`+icons+`,`+annotations+`,`+meta+`}`)
	checkItem(t, &paged[Prompt]{key: "prompts"}, `{`+named+`,"arguments":[{`+named+`,"required":true}],`+icons+`,`+meta+`}`)
}

func checkItem[T any](t *testing.T, p *paged[T], item string) {
	t.Helper()
	if err := decodeResult([]byte(`{"`+p.key+`":[`+item+`]}`), p); err != nil {
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
		t.Errorf("%s: got +, want -:\n%s", p.key, diff)
	}
}

// What some servers write in another form than the protocol has does not cost the
// list: the sizes of an icon in one string, as drafts had them, and an
// empty list for an empty object, as PHP writes that.
func TestItemsInOtherForms(t *testing.T) {
	const icons = `"icons":[{"src":"a","sizes":"48x48 96x96"},{"src":"b","sizes":"any"},{"src":"c","sizes":null},{"src":"d","sizes":["1x1"]}]`
	want := []Icon{{Src: "a", Sizes: []string{"48x48", "96x96"}}, {Src: "b", Sizes: []string{"any"}}, {Src: "c"}, {Src: "d", Sizes: []string{"1x1"}}}
	tools := paged[Tool]{key: "tools"}
	if err := decodeResult([]byte(`{"tools":[{"name":"t","inputSchema":{},"annotations":[],`+icons+`}]}`), &tools); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&Tool{Name: "t", InputSchema: json.RawMessage("{}"), Annotations: new(ToolAnnotations), Icons: want}, tools.Items[0]); diff != "" {
		t.Errorf("tools, got +, want -:\n%s", diff)
	}
	resources := paged[Resource]{key: "resources"}
	if err := decodeResult([]byte(`{"resources":[{"uri":"u","name":"r","annotations":[ ],`+icons+`}]}`), &resources); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&Resource{URI: "u", Name: "r", Annotations: new(Annotations), Icons: want}, resources.Items[0]); diff != "" {
		t.Errorf("resources, got +, want -:\n%s", diff)
	}
	prompts := paged[Prompt]{key: "prompts"}
	if err := decodeResult([]byte(`{"prompts":[{"name":"p",`+icons+`}]}`), &prompts); err != nil {
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
		if err := decodeResult([]byte(`{"tools":[{"name":"t","inputSchema":{},`+wrong+`}]}`), &paged[Tool]{key: "tools"}); err == nil {
			t.Errorf("%s: got no error", wrong)
		}
	}
	for _, wrong := range []string{`"annotations":[1]`, `"annotations":"x"`} {
		if err := decodeResult([]byte(`{"resources":[{"uri":"u",`+wrong+`}]}`), &paged[Resource]{key: "resources"}); err == nil {
			t.Errorf("%s: got no error", wrong)
		}
	}
}
