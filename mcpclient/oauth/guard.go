package oauth

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"syscall"
	"time"

	"github.com/mcpchain/mcpchain/internal/reach"
)

// guard decides which URLs that servers name may be requested.
type guard struct {
	loopback bool           // the MCP server is on loopback itself
	allow    []netip.Prefix // allowed private networks
}

// checkURL parses a URL from a server. what describes the URL for errors.
func (g *guard) checkURL(what, raw string) (*url.URL, error) {
	const maxURL = 8 << 10
	if len(raw) > maxURL {
		return nil, untrustedError("%s is over %d bytes", what, maxURL)
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, untrustedError("%s is not a URL", what)
	}
	switch {
	case !isConfidential(u) || u.Scheme == "http" && !g.loopback:
		return nil, untrustedError("%s %s: want an https URL", what, safeURL(raw))
	case u.Hostname() == "" || u.Opaque != "":
		return nil, untrustedError("%s %s: no host", what, safeURL(raw))
	case u.User != nil:
		return nil, untrustedError("%s %s carries a user name", what, safeURL(raw))
	case u.Fragment != "":
		return nil, untrustedError("%s %s has a fragment", what, safeURL(raw))
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil {
		err = g.checkAddr(ip)
		return u, err
	}
	if reach.ThisMachine(u.Hostname()) && !g.loopback {
		return nil, untrustedError("%s %s leads to this machine", what, safeURL(raw))
	}
	return u, nil
}

// checkAddr refuses addresses outside the public internet, except those that are allowed.
func (g *guard) checkAddr(ip netip.Addr) error {
	ip = ip.Unmap().WithZone("")
	allowed := slices.ContainsFunc(g.allow, func(network netip.Prefix) bool { return network.Contains(ip) })
	if allowed || g.loopback && ip.IsLoopback() || reach.Public(ip) {
		return nil
	}
	return untrustedError("address %s is not on the public internet; Options.AllowPrivate can permit it", ip)
}

// control checks the resolved address right before the connection is made, so that no later DNS answer can change it.
func (g *guard) control(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return untrustedError("address %q is not an IP address and port", address)
	}
	return g.checkAddr(ap.Addr())
}

// transport returns the transport for these URLs. It uses no proxy, because a proxy would resolve the names itself.
func (g *guard) transport() *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, Control: g.control}
	return &http.Transport{
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    10 * time.Second,
		IdleConnTimeout:        30 * time.Second,
		MaxIdleConns:           4,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

// isConfidential reports whether requests to a URL cannot be read on their way: it is https, or http on this machine.
func isConfidential(u *url.URL) bool {
	return u.Scheme == "https" || u.Scheme == "http" && reach.ThisMachine(u.Hostname())
}
