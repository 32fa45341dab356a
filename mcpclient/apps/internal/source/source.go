// Package source checks the sources of a Content Security Policy that a server declares for a view.
package source

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/internal/reach"
)

// Max bounds a source, in bytes.
const Max = 256

// Normalize normalizes a source for a policy. It accepts an origin with an optional path, of at most 256 bytes. The
// scheme is https (the default) or, with sockets, wss; http and ws are accepted for the person's own machine only. The
// first label of the host may be *, if at least two others follow. For anything else ok is false.
//
// It rejects keywords of a policy ('unsafe-eval'), bare schemes (data:), characters that end a
// source or a directive, and a wildcard for all hosts.
func Normalize(source string, sockets bool) (normalized string, ok bool) {
	if source == "" || len(source) > Max {
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
	normalized = scheme + "://" + strings.ToLower(host) + port
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

// isSourceByte reports whether a byte may appear in a source. Only ASCII may: hosts are written in Punycode.
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
