package mcpclient_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func TestProgressString(t *testing.T) {
	total := 1e6
	for want, p := range map[string]mcp.Progress{
		"0.5":                  {Progress: 0.5},
		`1 of 1000000: "a\nb"`: {Progress: 1, Total: &total, Message: "a\nb"},
		`2: "` + strings.Repeat("m", 1024) + `…"`: {Progress: 2, Message: strings.Repeat("m", 2000)},
	} {
		if got := fmt.Sprint(p); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
