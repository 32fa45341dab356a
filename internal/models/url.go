package models

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/mcpchain/mcpchain/hosttext"
)

// PublicURL returns a URL, valid or not, without its secret parts.
func PublicURL(text string) string {
	if u, err := url.Parse(text); err == nil && u.Host != "" {
		return hosttext.Line((&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String(), 200)
	}
	text, _, _ = strings.Cut(text, "#")
	text, _, _ = strings.Cut(text, "?")
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		scheme, rest = "", text
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		rest = rest[at+1:]
	}
	if found {
		rest = scheme + "://" + rest
	}
	return hosttext.Line(rest, 200)
}

// checkURL returns an error for a base URL that is not a complete one.
func checkURL(base string) error {
	u, err := url.Parse(base)
	if err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") {
		return nil
	}
	hint := ""
	if !strings.Contains(base, "://") {
		hint = "; is http:// or https:// missing before it?"
	}
	return fmt.Errorf("the base URL %q is not a complete http or https URL%s", PublicURL(base), hint)
}
