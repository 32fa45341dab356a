package inquiry_test

import (
	"testing"

	"github.com/mcpchain/mcpchain/internal/inquiry"
)

func TestVisitable(t *testing.T) {
	for url, want := range map[string]bool{
		"https://bank.test/pay?to=a%40b": true, "http://127.0.0.1:8080/": true, "https://xn--bcher-kva.test/ü": true,
		"javascript:alert(1)": false, "file:///etc/passwd": false, "https:///x": false, "": false,
		"https://bank.test@evil.test/": false, "https://u:p@evil.test/": false,
		"https://evil.test\u202egnp.exe": false, "https://evil.test/\u202egnp.exe": false, "https://%E2%80%AEtset.live/": false,
		"https://bank.test\u200b.evil.test/": false, "https://evil.test/a\u2028b": false,
	} {
		if got := inquiry.Visitable(url); got != want {
			t.Errorf("%q: got %t, want %t", url, got, want)
		}
	}
}
