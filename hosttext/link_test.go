package hosttext

import (
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

func TestReadLink(t *testing.T) {
	const (
		unencrypted = "http is not encrypted: others can read and change what the page says"
		unseen      = "the host has invisible characters, written as escapes here"
		lookalike   = `the host has characters that only look like one of . / \ ? # @ : %`
		address     = "the host is an IP address, which does not say whose it is"
	)
	for raw, want := range map[string]*Link{
		"https://example.com/a b\u00a0c":    {URL: "https://example.com/a%20b%C2%A0c", Host: "example.com"},
		"https://example.com/login?x=1#y":   {URL: "https://example.com/login?x=1#y", Host: "example.com"},
		"https://EXAMPLE.com.:8443/ü":       {URL: "https://EXAMPLE.com.:8443/ü", Host: "EXAMPLE.com.:8443"},
		"http://localhost:1/":               {URL: "http://localhost:1/", Host: "localhost:1"},
		"http://127.0.0.1:1/":               {URL: "http://127.0.0.1:1/", Host: "127.0.0.1:1"},
		"http://[::1]:1/":                   {URL: "http://[::1]:1/", Host: "[::1]:1"},
		"http://example.com":                {URL: "http://example.com", Host: "example.com", Warnings: []string{unencrypted}},
		"HTTP://example.com":                {URL: "HTTP://example.com", Host: "example.com", Warnings: []string{unencrypted}},
		"http://a.localhost:1/":             {URL: "http://a.localhost:1/", Host: "a.localhost:1"},
		"http://localhost.example.com":      {URL: "http://localhost.example.com", Host: "localhost.example.com", Warnings: []string{unencrypted}},
		"https://bank.com@evil.example":     {URL: "https://bank.com@evil.example", Host: "evil.example", Warnings: []string{"what stands before the @ is a user name; the host follows it"}},
		"https://2130706433/":               {URL: "https://2130706433/", Host: "2130706433", Warnings: []string{address}},
		"https://0x7f.1/":                   {URL: "https://0x7f.1/", Host: "0x7f.1", Warnings: []string{address}},
		"https://1.0xC0ffee":                {URL: "https://1.0xC0ffee", Host: "1.0xC0ffee", Warnings: []string{address}},
		"https://[2001:db8::1]/":            {URL: "https://[2001:db8::1]/", Host: "[2001:db8::1]", Warnings: []string{address}},
		"https://exam\u200bple.com/":        {URL: `https://exam\u200bple.com/`, Host: `exam\u200bple.com`, Warnings: []string{unseen, `exam\u200bple has characters beyond ASCII (Latin): it may look like another name`}},
		"https://exam%E2%80%8Bple.com/":     {URL: `https://exam%E2%80%8Bple.com/`, Host: `exam\u200bple.com`, Warnings: []string{unseen, `exam\u200bple has characters beyond ASCII (Latin): it may look like another name`}},
		"https://example.com/\u202etxt.exe": {URL: `https://example.com/\u202etxt.exe`, Host: "example.com"},
		"https://WWW.XN--80ak6aa92e.com":    {URL: "https://WWW.XN--80ak6aa92e.com", Host: "WWW.XN--80ak6aa92e.com", Warnings: []string{"a browser may show XN--80ak6aa92e in other letters, like another name (it is in punycode)"}},
		"https://аррӏе.com":                 {URL: "https://аррӏе.com", Host: "аррӏе.com", Warnings: []string{"аррӏе has characters beyond ASCII (Cyrillic): it may look like another name"}},
		"https://pаypal.com":                {URL: "https://pаypal.com", Host: "pаypal.com", Warnings: []string{"pаypal mixes scripts (Cyrillic, Latin): it may look like another name"}},
		"https://ｇoogle.com":                {URL: "https://ｇoogle.com", Host: "ｇoogle.com", Warnings: []string{"ｇoogle has characters beyond ASCII (Latin): it may look like another name"}},
		"https://☃.example":                 {URL: "https://☃.example", Host: "☃.example", Warnings: []string{"☃ has characters beyond ASCII: it may look like another name"}},
		"https://google.com／evil.example": {URL: "https://google.com／evil.example", Host: "google.com／evil.example",
			Warnings: []string{lookalike, "com／evil has characters beyond ASCII (Latin): it may look like another name"}},
	} {
		got, err := ParseLink(raw)
		check.NoError(t, err, raw)
		check.Same(t, raw, got, want)
	}
}

func TestWrongLink(t *testing.T) {
	for raw, want := range map[string]string{
		"":                                    "not a web address: want http or https",
		"javascript:alert(1)":                 "not a web address: want http or https",
		"file:///etc/passwd":                  "not a web address: want http or https",
		"https:example.com":                   "names no host",
		"https://:80/":                        "names no host",
		"https://a\x1b[2J/":                   "cannot be read",
		"https://evil.example\\@good.me":      "cannot be read",
		"https://" + strings.Repeat("а", 501): "longer than a name can be",
		"https://a/" + strings.Repeat("x", maxURL): "too long to be shown",
		"https://a b/": "cannot be read",
	} {
		_, err := ParseLink(raw)
		check.That(t, err != nil && strings.Contains(err.Error(), want) && !strings.ContainsRune(err.Error(), '\x1b'), "%q: got %v, want %s", raw, err, want)
	}
}

// The address stays visible for a host of many parts.
func TestWarningsAreFew(t *testing.T) {
	link, err := ParseLink("http://" + strings.Repeat("а.", 200) + "example")
	check.That(t, err == nil && len(link.Warnings) == maxWarnings+1 && link.Warnings[maxWarnings] == "more parts of the host are like these: 195",
		"got %d warnings, %v: %q", len(link.Warnings), err, link.Warnings)
}

func FuzzReadLink(f *testing.F) {
	f.Add("https://a\u200b.example/\u00a0x")
	f.Fuzz(func(t *testing.T, raw string) {
		link, err := ParseLink(raw)
		if err != nil {
			return
		}
		for _, shown := range append(link.Warnings, link.URL, link.Host) {
			check.That(t, Escape(shown) == shown && !strings.Contains(shown, "\n"), "%q: got %q, want it safe to show", raw, shown)
		}
		check.That(t, !strings.ContainsAny(link.URL, " \t") && len(link.Warnings) <= maxWarnings+1,
			"%q: got %q and %d warnings", raw, link.URL, len(link.Warnings))
	})
}
