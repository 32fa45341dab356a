package source_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/apps/internal/source"
)

func TestNormalize(t *testing.T) {
	for text, want := range map[string]string{
		"https://example.com":            "https://example.com",
		"https://example.com/":           "https://example.com",
		"HTTPS://Example.COM":            "https://example.com",
		"https://example.com:8443":       "https://example.com:8443",
		"https://cdn.example.com/lib/v1": "https://cdn.example.com/lib/v1",
		"https://*.example.com":          "https://*.example.com",
		"*.example.com":                  "https://*.example.com",
		"example.com":                    "https://example.com",
		"wss://example.com":              "wss://example.com",
		"http://localhost:3000":          "http://localhost:3000",
		"ws://127.0.0.1:3000":            "ws://127.0.0.1:3000",
		"http://[::1]:3000":              "http://[::1]:3000",
		"https://192.0.2.1":              "https://192.0.2.1",
		"https://[2001:db8::1]":          "https://[2001:db8::1]",
	} {
		got, ok := source.Normalize(text, true)
		check.That(t, ok && got == want, "%q: got %q and %v, want %q", text, got, ok, want)
	}
	for _, text := range hostile {
		got, ok := source.Normalize(text, true)
		check.That(t, !ok, "%q: got %q, want it refused", text, got)
	}
}

// hostile are sources that loosen a policy, or end it.
var hostile = []string{
	"", "*", "https:", "https://", "https://*", "*:443", "https://*:*", "https://*.com", "*.*.example.com", "https://a.*.com", "https://*example.com",
	"'unsafe-eval'", "'unsafe-inline'", "'self'", "'none'", "'strict-dynamic'", "'nonce-x'", "unsafe-eval'",
	"data:", "blob:", "filesystem:", "javascript:", "about:", "ui://x", "file:///etc", "mediastream:", "http://example.com", "ws://example.com", "ftp://example.com",
	"https://example.com; script-src *", "https://example.com;", "https://example.com *", "https://example.com,https://x.com", "https://example.com\nscript-src *",
	"https://example.com\r\nX: y", "https://example.com\x00", "https://example.com\t*", "https://example.com/;x", "https://example.com/a b", "https://example.com/\"x",
	"https://user@example.com", "https://user:pw@example.com", "https://example.com?x", "https://example.com#x", "https://example.com:*", "https://example.com:0", "https://example.com:99999", "https://example.com:x",
	"https://exämple.com", "https://example.com/%3b", "https://.example.com", "https://example..com", "https://-x.example.com", "https://[::1", "https://[fe80::1%25eth0]", "https://" + strings.Repeat("a", 300) + ".com",
	"https://127.1", "https://2130706433", "https://0x7f000001", "https://a.0x1", "https://1.2.3.4.5", "https://256.1.1.1", "https://010.0.0.1", "https://*.1.2", "https://*.1.2.3.4",
	"https://example.com//x", "//example.com", "/x", "https://https://x.com", "https://example.com/*",
}

func FuzzNormalize(f *testing.F) {
	for _, text := range append(hostile, "https://*.example.com:8443/x", "http://[::1]:3000") {
		f.Add(text)
	}
	safe := regexp.MustCompile(`^(https?|wss?)://(\[[0-9a-f:.]+\]|(\*\.[^.*]+\.)?[a-z0-9_.~-]+)(:[0-9]+)?(/[A-Za-z0-9._~/\[\]-]*)?$`)
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := source.Normalize(text, true)
		if !ok {
			return
		}
		check.That(t, safe.MatchString(got), "%q: got %q", text, got)
		again, ok := source.Normalize(got, true)
		check.That(t, ok && again == got, "%q: got %q, and of that %q", text, got, again)
	})
}
