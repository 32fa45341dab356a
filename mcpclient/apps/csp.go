package apps

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/internal/reach"
)

// Bounds of the sources that a server declares.
const (
	maxSources = 64  // of a list
	maxSource  = 256 // bytes
)

// CSP lists the origins that a view may access, as sources of a Content Security Policy. The zero
// value allows none. The sources in a result of [Load] are normalized by [CheckSource].
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

// readSources returns the valid sources of a list, and describes those that it refused. sockets
// accepts web sockets.
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
		source, _ := jsonrpc.String(item) // "" for other types, which is refused
		if normalized, ok := normalizeSource(source, sockets); ok {
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

// CheckSource normalizes a source for a policy. It accepts an origin with an optional path, of at
// most 256 bytes. The scheme is https (the default) or wss; http and ws are accepted for the
// person's own machine only. The first label of the host may be *, if at least two others follow.
// For anything else ok is false.
//
// It rejects keywords of a policy ('unsafe-eval'), bare schemes (data:), characters that end a
// source or a directive, and a wildcard for all hosts.
func CheckSource(source string) (normalized string, ok bool) {
	return normalizeSource(source, true)
}

// normalizeSource is [CheckSource]. Only with sockets it accepts wss and ws.
func normalizeSource(source string, sockets bool) (string, bool) {
	if source == "" || len(source) > maxSource {
		return "", false
	}
	for _, c := range []byte(source) {
		if !isSourceByte(c) {
			return "", false
		}
	}
	if !strings.Contains(source, "://") {
		source = "https://" + source
	}
	scheme, rest, _ := strings.Cut(source, "://")
	authority, path, _ := strings.Cut(rest, "/")
	host, port, ok := splitPort(authority)
	if !ok || !isPlainPath(path) {
		return "", false
	}
	scheme = strings.ToLower(scheme)
	secure, isSocket := scheme == "https" || scheme == "wss", scheme == "wss" || scheme == "ws"
	switch {
	case !secure && scheme != "http" && scheme != "ws", isSocket && !sockets:
		return "", false
	case !secure && !reach.ThisMachine(strings.Trim(host, "[]")), !isHost(host):
		return "", false
	}
	normalized := scheme + "://" + strings.ToLower(host) + port
	if path != "" {
		normalized += "/" + path
	}
	return normalized, true
}

// isPlainPath reports whether a path, without its first slash, can only be read as a path: a colon,
// a star or an empty segment may mean more.
func isPlainPath(path string) bool {
	return !strings.ContainsAny(path, ":*") && !strings.Contains("/"+path, "//")
}

// isSourceByte reports whether a byte may appear in a source. Only ASCII may: hosts are written
// in Punycode.
func isSourceByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~:/*[]", c) >= 0
}

// splitPort splits an authority into host and port, which includes the colon.
func splitPort(authority string) (host, port string, ok bool) {
	host = authority
	if i := strings.LastIndexByte(authority, ':'); i >= 0 && !strings.HasSuffix(authority, "]") {
		host, port = authority[:i], authority[i:]
		n, err := strconv.ParseUint(port[1:], 10, 16)
		if err != nil || n == 0 {
			return "", "", false
		}
	}
	return host, port, true
}

// isHost reports whether a text is an IPv6 address in brackets, an IPv4 address, or a name whose
// labels have 1 to 63 bytes, optionally after "*.".
func isHost(host string) bool {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		addr, err := netip.ParseAddr(inner)
		return ok && err == nil && addr.Is6() && addr.Zone() == ""
	}
	rest, wild := strings.CutPrefix(host, "*.")
	labels := strings.Split(rest, ".")
	if wild && len(labels) < 2 {
		return false
	}
	for _, label := range labels {
		if label == "" || len(label) > 63 || label[0] == '-' || strings.ContainsAny(label, "*:[]/~") {
			return false
		}
	}
	if _, err := netip.ParseAddr(rest); err == nil {
		return !wild // an address has no names below it
	}
	return len(host) <= 253 && !reach.EndsInNumber(rest)
}

// IsPrivate reports whether a source, as returned by [CheckSource], may lead into the person's
// network. That is so for addresses that are not on the public internet, names without a dot, and
// names below .local, .internal and home.arpa. Hosts should warn, because a server there may trust
// everyone who can reach it.
func IsPrivate(source string) bool {
	u, err := url.Parse(source)
	if err != nil {
		return true // fail closed
	}
	host := u.Hostname()
	if reach.ThisMachine(host) || hasPrivateName(host) {
		return true
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		_, ok := CheckSource(host)
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
