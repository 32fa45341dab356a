package adapter

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func TestMatching(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"read", "read", true}, {"read", "reads", false}, {"", "", true}, {"", "x", false},
		{"*", "", true}, {"read_*", "read_file", true}, {"*_file", "read_file", true}, {"r*d*e", "read_file", true},
		{"r*x*", "read_file", false}, {"read?file", "read_file", true}, {"?", "é", true}, {"??", "é", false},
		{"a/*", "a/b/c", true}, {"[a]", "a", false}, {"[a]", "[a]", true}, {"**b", "ab", true},
		{strings.Repeat("*a", 1000) + "b", strings.Repeat("a", 2000), false},
	} {
		got := matchesAny([]string{tt.pattern}, tt.name)
		check.That(t, got == tt.want, "%.20q and %.20q: got %v, want %v", tt.pattern, tt.name, got, tt.want)
	}
	check.That(t, !matchesAny(nil, ""), "got a match without patterns")
}

func TestFilters(t *testing.T) {
	yes, no := true, false
	for _, tt := range []struct {
		name        string
		annotations *mcp.ToolAnnotations
		readOnly    bool
	}{
		{"none", nil, false},
		{"empty", &mcp.ToolAnnotations{}, false},
		{"read only", &mcp.ToolAnnotations{ReadOnlyHint: &yes}, true},
		{"not read only", &mcp.ToolAnnotations{ReadOnlyHint: &no}, false},
		{"adds", &mcp.ToolAnnotations{DestructiveHint: &no}, false},
		{"destroys", &mcp.ToolAnnotations{DestructiveHint: &yes}, false},
	} {
		tool := &mcp.Tool{Annotations: tt.annotations}
		check.That(t, DeclaresReadOnly(tool) == tt.readOnly, "%s: got %v, want %v", tt.name, !tt.readOnly, tt.readOnly)
	}
}

func TestAllowAndDeny(t *testing.T) {
	for _, tt := range []struct {
		server Server
		want   []string
	}{
		{Server{}, []string{"delete_file", "read_dir", "read_file"}},
		{Server{Allow: []string{"read_*"}}, []string{"read_dir", "read_file"}},
		{Server{Deny: []string{"delete_*", "x"}}, []string{"read_dir", "read_file"}},
		{Server{Allow: []string{"*_file"}, Deny: []string{"delete_*"}}, []string{"read_file"}},
		{Server{Allow: []string{"read_*"}, Filter: DeclaresReadOnly}, []string{"read_file"}},
		{Server{Deny: []string{"*"}}, []string{}},
	} {
		p := newPeer().tool("read_dir", object, echo).tool("delete_file", object, echo)
		p.AddTool(&sdk.Tool{Name: "read_file", InputSchema: json.RawMessage(object), Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}}, echo)
		tt.server.Name, tt.server.Transport = "p", p.transport(t)
		check.Same(t, fmt.Sprintf("%v %v", tt.server.Allow, tt.server.Deny), toolNamesOf(open(t, nil, tt.server)), tt.want)
	}
}

// TestUnmatched checks that the status names entries of Allow and Deny that match no tool.
func TestUnmatched(t *testing.T) {
	p := newPeer().tool("greet", object, echo).tool("pay", object, echo)
	tools := open(t, nil, Server{Name: "p", Transport: p.transport(t), Allow: []string{"*", "gr*", "nosuch"}, Deny: []string{"payy", "p?y?"}})
	check.Same(t, "unmatched", tools.Servers()[0].Unmatched, []string{"nosuch", "payy", "p?y?"})
}
