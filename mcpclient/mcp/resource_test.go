package mcp

import (
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

func TestExpand(t *testing.T) {
	values := map[string]string{"path": "a/c", "q": "x&y", "unused": "x", "large": strings.Repeat("x", maxExpansion/6)}
	for template, want := range map[string]string{
		"file:///{+path}{?q}":              "file:///a/c?q=x%26y",
		"a{/missing}/b{?x,q}":              "a/b?q=x%26y",
		"{path:1}{large}{":                 "error",
		"{large}{+large,large}":            "error",
		"{broken":                          "error",
		strings.Repeat("x", maxTemplate+1): "error",
	} {
		got, err := (&ResourceTemplate{URITemplate: template}).Expand(values)
		if want == "error" {
			check.Text(t, err, "expand \""+template[:4])
			continue
		}
		check.NoError(t, err, template)
		check.Equal(t, template, got, want)
	}
}
