package adapter

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
)

// TestSearch checks that a search uses all texts of tools, and finds no tool that models must not
// call.
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
		"housekeping": {"wipe"}, "a dangerous thing": {"wipe"}, "office": {"lookup", "pay", "wipe", "send_email"}, "nothing": {},
	} {
		check.Same(t, query, namesOf(ts.Catalog(profile.Plain).Search(query, 10)), want)
	}
	got := new(Catalog).Search("x", 3)
	check.That(t, len(got) == 0, "got %v in an empty catalog", got)
}

// TestSearchOfWhatFunctionsServe finds a function once by its Serves, and the entries that match.
func TestSearchOfWhatFunctionsServe(t *testing.T) {
	f := func(context.Context, struct{}) (string, error) { return "", nil }
	serves := map[string]string{"expenses": "Fills in a report of expenses.", "travel": "Books a journey, and reports it."}
	for i := range 200 {
		serves[fmt.Sprint("other", i)] = "Does something else."
	}
	c := Merge(Func("lookup", "Finds pages.", f, nil), Func("load_skill", "Reads a skill.", f, &FuncOptions{Topics: serves})).Catalog(profile.Plain)
	for query, want := range map[string][]string{"report expenses": {"load_skill", "expenses", "travel"}, "journeys": {"load_skill", "travel"}, "read": {"load_skill"}, "page": {"lookup"}} {
		var got []string
		for _, tool := range c.Search(query, 5) {
			got = append(got, tool.Name())
			for name := range tool.SearchTopics(query, 5) {
				got = append(got, name)
			}
		}
		check.Same(t, fmt.Sprintf("%q", query), got, want)
	}
}
