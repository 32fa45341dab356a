package adapter

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestSearch holds that a search finds tools by all that is known of them, and none that a model may not call.
func TestSearch(t *testing.T) {
	p := newPeer().visible("app_pages", echo, []string{"app"})
	for _, tool := range []sdk.Tool{
		{Name: "send_email", Title: "Mail a letter"},
		{Name: "lookup", Description: "Finds pages of the web."},
		{Name: "delete_pages", Description: "Deletes pages."},
		{Name: "pay", InputSchema: json.RawMessage(`{"type":"object","properties":{"iban":{"type":"string","description":"The account of the payee."}}}`)},
		{Name: "wipe", Meta: sdk.Meta{groupsKey: []any{"dangerous", map[string]any{"name": "housekeeping"}}}},
	} {
		if tool.InputSchema == nil {
			tool.InputSchema = json.RawMessage(object)
		}
		p.AddTool(&tool, echo)
	}
	ts := open(t, nil, Server{Name: "office", Transport: p.transport(t), Deny: []string{"delete_*"}})
	for query, want := range map[string][]string{
		"letter": {"send_email"}, "emails": {"send_email"}, "search the web for pages": {"lookup"}, "account": {"pay"}, "IBAN": {"pay"},
		"housekeping": {"wipe"}, "a dangerous thing": {"wipe"}, "office": {"lookup", "pay", "send_email", "wipe"}, "nothing": nil,
	} {
		var got []string
		for _, tool := range ts.Catalog(ProfilePlain).Search(query, 10) {
			got = append(got, tool.Name())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", query, diff)
		}
	}
	if got := new(Catalog).Search("x", 3); len(got) > 0 {
		t.Errorf("got %v in an empty catalog", got)
	}
}
