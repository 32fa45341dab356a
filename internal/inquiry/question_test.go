package inquiry_test

import (
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func TestVisitable(t *testing.T) {
	for url, want := range map[string]bool{
		"https://bank.test/pay?to=a%40b": true, "http://127.0.0.1:8080/": true, "https://xn--bcher-kva.test/ü": true,
		"javascript:alert(1)": false, "file:///etc/passwd": false, "https:///x": false, "": false,
		"https://bank.test@evil.test/": false, "https://u:p@evil.test/": false,
		"https://evil.test\u202egnp.exe": false, "https://evil.test/\u202egnp.exe": false, "https://%E2%80%AEtset.live/": false,
		"https://bank.test\u200b.evil.test/": false, "https://evil.test/a\u2028b": false,
	} {
		check.Equal(t, url, inquiry.Visitable(url), want)
	}
}

// An approval is for one request: not for what its handler asks meanwhile.
func TestApprovalIsForOneRequest(t *testing.T) {
	params, other := new(mcp.CreateMessageParams), new(mcp.CreateMessageParams)
	ctx := inquiry.WithApproved(t.Context(), params, "m")
	model, ok := inquiry.Approved(ctx, params)
	check.That(t, ok && model == "m", "got %q, %v, want an approval for m", model, ok)
	_, ok = inquiry.Approved(ctx, other)
	check.Equal(t, "another request is approved, too", ok, false)
	_, ok = inquiry.Approved(t.Context(), nil)
	check.Equal(t, "no request is approved", ok, false)
}
