package apps

import (
	"encoding/json"
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

// CSP lists the origins that a view may access, as sources of a Content Security Policy. The
// zero value allows none. The result of [Load] has passed [CheckSource].
type CSP struct {
	ConnectDomains  []string `json:"connectDomains,omitempty"`  // requests and web sockets
	ResourceDomains []string `json:"resourceDomains,omitempty"` // images, scripts, styles, fonts, media
	FrameDomains    []string `json:"frameDomains,omitempty"`    // nested frames
	BaseURIDomains  []string `json:"baseUriDomains,omitempty"`  // base URIs of the document
}

// readCSP returns the valid sources, and lists the others.
func readCSP(ui map[string]json.RawMessage) (csp CSP, refused []string) {
	list := func(name string, kind sourceKind) []string {
		valid, others := readSources(ui[name], kind)
		for _, other := range others {
			refused = append(refused, name+": "+other)
		}
		return valid
	}
	csp.ConnectDomains = list("connectDomains", connectSource)
	csp.ResourceDomains = list("resourceDomains", otherSource)
	csp.FrameDomains = list("frameDomains", otherSource)
	csp.BaseURIDomains = list("baseUriDomains", otherSource)
	return csp, refused
}

// readSources returns the valid sources of a list, and a text about each of the others.
func readSources(raw json.RawMessage, kind sourceKind) (valid, others []string) {
	if len(raw) == 0 {
		return nil, nil
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return nil, []string{excerpt.Cut(string(raw))}
	}
	for _, item := range list[:min(len(list), maxSources)] {
		source, isString := jsonrpc.String(item)
		if clean, ok := checkSource(source, kind); isString && ok {
			valid = append(valid, clean)
		} else {
			others = append(others, excerpt.Cut(string(item)))
		}
	}
	if len(list) > maxSources {
		others = append(others, "more than "+strconv.Itoa(maxSources)+" sources")
	}
	return valid, others
}

// CheckSource normalizes a source for a policy. ok is false unless it is an origin with an
// optional path: https or wss, or http or ws for the person's own machine, and a host, whose
// first label may be * if two others follow. A host without a scheme means https.
//
// No keyword of a policy ('unsafe-eval'), no scheme alone (data:), no character that ends a
// source or a directive, and no wildcard for all hosts passes.
func CheckSource(source string) (normalized string, ok bool) {
	return checkSource(source, connectSource)
}

type sourceKind int

const (
	connectSource sourceKind = iota // also web sockets
	otherSource
)

// checkSource is [CheckSource] for sources of a kind.
func checkSource(source string, kind sourceKind) (string, bool) {
	if source == "" || len(source) > maxSource {
		return "", false
	}
	for _, c := range []byte(source) {
		if !sourceByte(c) {
			return "", false
		}
	}
	if !strings.Contains(source, "://") {
		source = "https://" + source
	}
	scheme, rest, _ := strings.Cut(source, "://")
	authority, path, _ := strings.Cut(rest, "/")
	host, port, ok := splitPort(authority)
	if !ok || strings.Contains("/"+path, "//") || strings.Contains(path, ":") || strings.Contains(path, "*") {
		return "", false
	}
	scheme = strings.ToLower(scheme)
	if !kind.allows(scheme, reach.ThisMachine(strings.Trim(host, "[]"))) || !checkHost(host) {
		return "", false
	}
	clean := scheme + "://" + strings.ToLower(host) + port
	if path != "" {
		clean += "/" + path
	}
	return clean, true
}

// allows reports whether a source of this kind may have the scheme. local means the person's own
// machine.
func (k sourceKind) allows(scheme string, local bool) bool {
	switch scheme {
	case "https":
		return true
	case "http":
		return local
	case "wss":
		return k == connectSource
	case "ws":
		return k == connectSource && local
	}
	return false
}

// sourceByte reports whether a byte may appear in a source. Only ASCII may: hosts are written
// in Punycode.
func sourceByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~:/*[]", c) >= 0
}

// splitPort splits an authority into host and port, which keeps its colon.
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

// checkHost reports whether a host is an IPv6 address in brackets, or a name or IPv4 address whose
// labels have 1 to 63 bytes, with a star before it or not.
func checkHost(host string) bool {
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
	_, err := netip.ParseAddr(rest)
	return len(host) <= 253 && (err == nil || !reach.EndsInNumber(rest))
}

// Private reports whether a source, as returned by [CheckSource], may be in the person's network:
// addresses that are not on the public internet, names without a dot, and names below .local and
// .internal. Hosts should warn, because a server there may trust everyone who can reach it.
func Private(source string) bool {
	u, err := url.Parse(source)
	if err != nil {
		return true
	}
	host := u.Hostname()
	if reach.ThisMachine(host) || strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".internal") || !strings.ContainsAny(host, ".:") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		_, isHost := CheckSource(host)
		return !isHost // a browser may parse it as an address
	}
	return !reach.Public(ip)
}
