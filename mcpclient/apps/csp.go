package apps

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/internal/reach"
	"github.com/mcpchain/mcpchain/mcpclient/apps/internal/source"
)

// maxSources bounds a list of sources that a server declares.
const maxSources = 64

// CSP lists the origins that a view may access, as sources of a Content Security Policy. The zero value allows none.
// The sources in a result of [Load] are normalized: origins with a scheme, in lower case, and no keywords of a policy.
type CSP struct {
	ConnectDomains  []string `json:"connectDomains,omitempty"`  // requests and web sockets
	ResourceDomains []string `json:"resourceDomains,omitempty"` // images, scripts, styles, fonts, media
	FrameDomains    []string `json:"frameDomains,omitempty"`    // nested frames
	BaseURIDomains  []string `json:"baseUriDomains,omitempty"`  // base URIs of the document
}

// readCSP returns the valid sources of an object, and describes those that it refused.
func readCSP(object []byte) (csp CSP, refused []string) {
	read := func(name string, sockets bool) []string {
		valid, rest := readSources(jsonrpc.Lookup(object, name), sockets)
		for _, description := range rest {
			refused = append(refused, name+": "+description)
		}
		return valid
	}
	csp.ConnectDomains = read("connectDomains", true)
	csp.ResourceDomains = read("resourceDomains", false)
	csp.FrameDomains = read("frameDomains", false)
	csp.BaseURIDomains = read("baseUriDomains", false)
	return csp, refused
}

// readSources returns the valid sources of a list, and describes those that it refused. sockets accepts web sockets.
func readSources(raw []byte, sockets bool) (valid, refused []string) {
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return nil, nil
	case raw[0] != '[':
		return nil, []string{excerpt.Cut(string(raw))}
	}
	d := jsonrpc.NewDecoder(raw, maxSources)
	for range d.Elements {
		item := d.Raw()
		text, _ := jsonrpc.String(item) // "" for other types, which is refused
		if normalized, ok := source.Normalize(text, sockets); ok {
			valid = append(valid, normalized)
		} else {
			refused = append(refused, excerpt.Cut(string(item)))
		}
	}
	if d.Err() != nil {
		refused = append(refused, "more than "+strconv.Itoa(maxSources)+" sources")
	}
	return valid, refused
}

// IsPrivate reports whether a source, as in a result of [Load], may lead into the person's network. That is so for
// addresses that are not on the public internet, names without a dot, and names below .local, .internal and home.arpa.
// Hosts should warn, because a server there may trust everyone who can reach it.
func IsPrivate(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil {
		return true // fail closed
	}
	host := u.Hostname()
	if reach.ThisMachine(host) || hasPrivateName(host) {
		return true
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		_, ok := source.Normalize(host, true)
		return !ok // a browser may parse it as an address
	}
	return !reach.Public(ip)
}

// hasPrivateName reports whether a host has a name that only a local network resolves.
func hasPrivateName(host string) bool {
	if !strings.ContainsAny(host, ".:") {
		return true
	}
	for _, domain := range []string{".local", ".internal", ".home.arpa"} { // the last: RFC 8375
		if strings.HasSuffix("."+host, domain) {
			return true
		}
	}
	return false
}
