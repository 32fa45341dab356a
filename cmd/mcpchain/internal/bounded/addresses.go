package bounded

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Addresses are the addresses of proxies.
type Addresses []netip.Prefix

// Parse reads addresses and ranges such as 10.0.0.0/8, separated by commas.
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
		out = append(out, prefix)
	}
	return out, nil
}

// Sent reports whether a request comes from one of the addresses.
func (a Addresses) Sent(r *http.Request) bool {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && a.Has(from.Addr())
}

// Has reports whether an address is one of the addresses.
func (a Addresses) Has(one netip.Addr) bool {
	one = one.Unmap().WithZone("")
	return slices.ContainsFunc(a, func(p netip.Prefix) bool { return p.Contains(one) })
}
