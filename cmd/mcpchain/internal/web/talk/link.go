package talk

import (
	"errors"
	"net/url"
	"strings"

	"github.com/mcpchain/mcpchain/hosttext"
)

// Link returns, for JSON, what the page shows of an address and opens. The error says why it opens
// none, for the user to read.
func Link(address string) (any, error) {
	l, wrong := linkOf(address)
	if wrong != "" {
		return nil, errors.New(wrong)
	}
	return l, nil
}

// linkOf splits an address, so that the page can highlight its host. wrong says why the page does
// not open it, "" if it does.
func linkOf(address string) (_ *link, wrong string) {
	read, err := hosttext.ParseLink(address)
	if err != nil {
		return nil, ErrorText(err.Error())
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, "the address cannot be read"
	}
	before, rest, _ := strings.Cut(read.URL, "://")
	before += "://"
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	if at := strings.LastIndexByte(rest[:end], '@'); at >= 0 {
		before, rest, end = before+rest[:at+1], rest[at+1:], end-at-1
	}
	return &link{
		Before:   before,
		Host:     rest[:end],
		After:    rest[end:],
		Href:     u.String(),
		Warnings: read.Warnings,
	}, ""
}
