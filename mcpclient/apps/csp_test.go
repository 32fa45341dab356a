package apps_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func TestCheckSource(t *testing.T) {
	for source, want := range map[string]string{
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
		got, ok := apps.CheckSource(source)
		check.That(t, ok && got == want, "%q: got %q and %v, want %q", source, got, ok, want)
	}
	for _, source := range hostile {
		got, ok := apps.CheckSource(source)
		check.That(t, !ok, "%q: got %q, want it refused", source, got)
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

func TestSourcesAreBounded(t *testing.T) {
	all := make([]string, 100)
	for i := range all {
		all[i] = fmt.Sprintf("https://h%d.example.com", i)
	}
	list := check.Value(json.Marshal(all))(t)
	about, _ := apps.OfResource(json.RawMessage(`{"ui":{"csp":{"connectDomains":` + string(list) + `}}}`))
	check.That(t, slices.Equal(about.CSP.ConnectDomains, all[:64]) && len(about.Refused) == 1,
		"got %d sources, refused %q, want 64", len(about.CSP.ConnectDomains), about.Refused)
}

// A megabyte of metadata takes little memory to read.
func TestMetadataIsReadWithoutCopies(t *testing.T) {
	list := "[" + strings.Repeat("1,", 1<<19) + "1]"
	object := "{" + strings.Repeat(`"a":1,`, 1<<17) + `"b":1}`
	meta := json.RawMessage(`{"ui":{"csp":{"connectDomains":` + list + `},"permissions":` + object + `,"visibility":` + list + `}}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	about, _ := apps.OfResource(meta)
	_, err := apps.ReadToolMeta(&mcp.Tool{Meta: meta})
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 || len(about.Refused) != 65 || err == nil {
		t.Errorf("got %d bytes allocated, %d sources refused, and the error %v, want at most 1 MiB, 65, and an error", got, len(about.Refused), err)
	}
}

func TestPrivate(t *testing.T) {
	for source, want := range map[string]bool{
		"https://example.com": false, "https://*.example.com": false, "https://192.0.2.1": false,
		"http://localhost:1": true, "http://127.0.0.1": true, "https://10.1.2.3": true, "https://192.168.1.1:80": true, "https://169.254.169.254": true,
		"https://[::1]": true, "https://[fd00::1]": true, "https://100.64.0.1": true, "https://100.128.0.1": false, "https://127.1": true, "https://0x7f000001": true, "https://[::ffff:10.0.0.1]": true, "https://[::ffff:7f00:1]": true, "https://[64:ff9b::7f00:1]": true, "https://[::7f00:1]": true, "https://198.18.0.1": true, "https://printer.local": true, "https://nas.home.arpa": true, "https://home.arpa": true, "https://intranet": true,
	} {
		check.Equal(t, source, apps.IsPrivate(source), want)
	}
}

func FuzzCheckSource(f *testing.F) {
	for _, source := range append(hostile, "https://*.example.com:8443/x", "http://[::1]:3000") {
		f.Add(source)
	}
	safe := regexp.MustCompile(`^(https?|wss?)://(\[[0-9a-f:.]+\]|(\*\.[^.*]+\.)?[a-z0-9_.~-]+)(:[0-9]+)?(/[A-Za-z0-9._~/\[\]-]*)?$`)
	f.Fuzz(func(t *testing.T, source string) {
		got, ok := apps.CheckSource(source)
		if !ok {
			return
		}
		check.That(t, safe.MatchString(got), "%q: got %q", source, got)
		again, ok := apps.CheckSource(got)
		check.That(t, ok && again == got, "%q: got %q, and of that %q", source, got, again)
	})
}
