package mcpclient_test

import (
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func TestExpand(t *testing.T) {
	for _, test := range []struct {
		template string
		values   map[string]string
		want     string
	}{
		{"file:///{path}", map[string]string{"path": "a b/c"}, "file:///a%20b%2Fc"},
		{"file:///{+path}{?q}", map[string]string{"path": "a/c", "q": "x&y"}, "file:///a/c?q=x%26y"},
		{"file:///{path}", nil, "file:///"},
		{"file:///{path}", map[string]string{"path": "käse"}, "file:///k%C3%A4se"},
		{"file:///fixed", map[string]string{"unused": "x"}, "file:///fixed"},
	} {
		got, err := (&mcp.ResourceTemplate{URITemplate: test.template}).Expand(test.values)
		if err != nil || got != test.want {
			t.Errorf("%s: got %q, %v, want %q", test.template, got, err, test.want)
		}
	}
	if _, err := (&mcp.ResourceTemplate{URITemplate: "{broken"}).Expand(nil); err == nil || !strings.Contains(err.Error(), `"{broken"`) {
		t.Errorf("got %v, want an error with the template", err)
	}
}
