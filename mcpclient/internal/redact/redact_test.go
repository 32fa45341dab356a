package redact_test

import (
	"net/url"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/internal/redact"
)

// A server decides how many texts are searched: none of them costs memory.
func TestRedact(t *testing.T) {
	s := redact.Of(&url.URL{RawQuery: "key=abcdef"}, nil)
	s.Add("token-1")
	s.Add("token-1-longer")
	check.Equal(t, "a text", s.Redact("token-1 and token-1-longer, abcdef"), "[secret] and [secret], [secret]")
	s.Add("token-2")
	check.Equal(t, "after another token", s.Redact("token-1 token-2"), "[secret] [secret]")
	check.Equal(t, "allocations for a text without secrets", testing.AllocsPerRun(100, func() { s.Redact("neither of them") }), 0)
}
