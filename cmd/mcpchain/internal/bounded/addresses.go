package bounded

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Network returns the addresses that count as one: an address of IPv4, or a /64 network of IPv6,
// because a machine can use all of its addresses.
func Network(address netip.Addr) netip.Prefix {
	address = address.Unmap().WithZone("")
	network, _ := address.Prefix(min(address.BitLen(), 64)) // fails only for too many bits
	return network
}

// Addresses is a set of addresses. Nil is empty.
type Addresses []netip.Prefix

// Parse parses addresses and ranges, such as 10.0.0.0/8, which are separated by commas. They may be of IPv4 written as
// IPv6.
func Parse(text string) (out Addresses, err error) {
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		prefix, err := netip.ParsePrefix(item)
		if err != nil {
			address, wrong := netip.ParseAddr(item)
			if wrong != nil {
				return nil, fmt.Errorf("%q: want an address, or a range such as 10.0.0.0/8", item)
			}
			prefix = netip.PrefixFrom(address, address.BitLen())
		}
		if a := prefix.Addr(); a.Is4In6() && prefix.Bits() >= 96 {
			prefix = netip.PrefixFrom(a.Unmap(), prefix.Bits()-96)
		}
		out = append(out, prefix)
	}
	return out, nil
}

// HasSender reports whether a request was sent from one of the addresses.
func (a Addresses) HasSender(r *http.Request) bool {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && a.Has(from.Addr())
}

// Has reports whether an address is in the set. An IPv4 address that is written as IPv6 counts as
// IPv4, and zones do not count.
func (a Addresses) Has(address netip.Addr) bool {
	address = address.Unmap().WithZone("")
	return slices.ContainsFunc(a, func(p netip.Prefix) bool { return p.Contains(address) })
}
