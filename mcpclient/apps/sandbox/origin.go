package sandbox

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// origin is an origin of a page. Its host is in lower case, has its port unless that is the scheme's,
// and may begin with "*.".
type origin struct{ scheme, host string }

func (o origin) String() string { return o.scheme + "://" + o.host }

// below returns the host without "*.", "" if it does not begin so.
func (o origin) below() string {
	below, found := strings.CutPrefix(o.host, "*.")
	if !found {
		return ""
	}
	return below
}

func parseOrigin(raw string) (origin, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return origin{}, err
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "", u.User != nil,
		u.Path != "" && u.Path != "/", u.RawQuery != "", u.Fragment != "":
		return origin{}, fmt.Errorf("%q is not a scheme (http, https), a host and a port", raw)
	}
	host := plainHost(u.Scheme, u.Host)
	rest := strings.TrimPrefix(host, "*.")
	if hostname(rest) == "" || strings.ContainsAny(rest, "* ;,'\"") {
		return origin{}, fmt.Errorf("%q: a star stands for the first label only", raw)
	}
	return origin{u.Scheme, host}, nil
}

// checkAncestor parses an origin of the host, and checks that it is apart from the sandbox's own.
func checkAncestor(raw string, own origin) (origin, error) {
	ancestor, err := parseOrigin(raw)
	if err == nil && ancestor.below() != "" {
		err = fmt.Errorf("%q begins with a star: name each origin", raw)
	}
	if err != nil {
		return origin{}, fmt.Errorf("sandbox: Options.HostOrigins: %w", err)
	}
	name, below := hostname(ancestor.host), hostname(own.below())
	switch {
	case own.host == ancestor.host:
		return origin{}, errors.New("sandbox: Options.Origin is the origin of the host: views would reach all that the host's page reaches")
	case below == "":
	case strings.HasSuffix(name, "."+below):
		return origin{}, errors.New("sandbox: Options.HostOrigins has one among the origins of views")
	case sharesCookies(below, name):
		return origin{}, errors.New("sandbox: Options.Origin is below the host's domain: views could set cookies for the host's page")
	}
	return ancestor, nil
}

// sharesCookies reports whether pages below one name may set cookies for another: the other is the
// same domain, one above it, or below such a one. A domain such as co.uk is a public suffix, for
// which browsers accept no cookies, unless it is the other.
func sharesCookies(below, other string) bool {
	if below == "localhost" {
		return false // browsers know it as a public suffix
	}
	if other == below {
		return true
	}
	for above := below; ; {
		_, above, _ = strings.Cut(above, ".")
		second, top, found := strings.Cut(above, ".")
		switch isSuffix := len(second) <= 3 && len(top) == 2; {
		case !found:
			return false
		case other == above || !isSuffix && strings.HasSuffix(other, "."+above):
			return true
		case isSuffix:
			return false
		}
	}
}

// plainHost returns a host in lower case, without the default port of the scheme.
func plainHost(scheme, host string) string {
	port := map[string]string{"http": ":80", "https": ":443"}[scheme]
	return strings.TrimSuffix(strings.ToLower(host), port)
}

// hostname returns a host without its port, and an IPv6 address without its brackets.
func hostname(host string) string { return (&url.URL{Host: host}).Hostname() }

func isAddress(host string) bool {
	_, err := netip.ParseAddr(hostname(host))
	return err == nil
}
