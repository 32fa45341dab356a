package talk

import (
	"errors"
	"net/url"
	"strings"

	"github.com/mcpchain/mcpchain/hosttext"
)

// Link returns what the page needs to show and open an address, for JSON. The error says, for the user to read, why the
// page does not open it.
func Link(address string) (any, error) {
	l, wrong := linkOf(address)
	if wrong != "" {
		return nil, errors.New(wrong)
	}
	return l, nil
}

// linkOf splits an address, so that the page can highlight its host. wrong is why the page does not open it, "" if it
// does.
func linkOf(address string) (_ *linkJSON, wrong string) {
	parsed, err := hosttext.ParseLink(address)
	if err != nil {
		return nil, ErrorText(err.Error())
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, "the address cannot be read"
	}
	before, rest, _ := strings.Cut(parsed.URL, "://")
	before += "://"
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	if at := strings.LastIndexByte(rest[:end], '@'); at >= 0 {
		before, rest, end = before+rest[:at+1], rest[at+1:], end-at-1
	}
	return &linkJSON{
		Before:   before,
		Host:     rest[:end],
		After:    rest[end:],
		Href:     u.String(),
		Warnings: parsed.Warnings,
	}, ""
}
