package mcpclient

import (
	"encoding/json"
	"errors"
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
