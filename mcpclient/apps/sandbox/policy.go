package sandbox

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/apps/internal/source"
)

// policy returns the Content Security Policy for a view that declares these sources, and whose page
// only the origin ancestor may frame. It leaves out sources that [source.Normalize] refuses.
//
// It is the policy of the specification with three restrictions: no requests to the sandbox's own origin (connect-src
// 'self'), no forms (form-action), and fonts fall under default-src unless sources are declared.
func policy(csp apps.CSP, ancestor string) string {
	resources := sources(csp.ResourceDomains)
	var b strings.Builder
	directive := func(name string, values ...string) {
		if len(values) == 0 {
			values = []string{"'none'"}
		}
		if b.Len() > 0 {
			b.WriteString("; ")
		}
		b.WriteString(name + " " + strings.Join(values, " "))
	}
	with := func(first ...string) []string { return append(first, resources...) }
	directive("default-src")
	directive("script-src", with("'self'", "'unsafe-inline'")...)
	directive("style-src", with("'self'", "'unsafe-inline'")...)
	directive("img-src", with("'self'", "data:")...)
	directive("media-src", with("'self'", "data:")...)
	directive("font-src", resources...)
	directive("connect-src", sources(csp.ConnectDomains)...)
	directive("frame-src", sources(csp.FrameDomains)...)
	directive("object-src")
	directive("form-action")
	if base := sources(csp.BaseURIDomains); len(base) > 0 {
		directive("base-uri", base...)
	} else {
		directive("base-uri", "'self'")
	}
	directive("frame-ancestors", ancestor)
	return b.String()
}

// sources returns the sources that a policy may have, each once.
func sources(all []string) []string {
	var out []string
	for _, declared := range all {
		if clean, ok := source.Normalize(declared, true); ok && !slices.Contains(out, clean) {
			out = append(out, clean)
		}
	}
	return out
}

// both returns the permissions of a that are also in b.
func both(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(name string) bool { return !slices.Contains(b, name) })
}

// features are the browser features of permissions, in the words of Permissions Policy.
var features = map[string]string{
	"camera": "camera", "microphone": "microphone", "geolocation": "geolocation", "clipboardWrite": "clipboard-write",
}

// focus is the feature by which a view takes the keyboard with focus(). Few browsers enforce
// it, so a host has to take the focus back.
const focus = "focus-without-user-activation"

// otherFeatures are features that no view gets.
var otherFeatures = []string{
	"accelerometer", "autoplay", "bluetooth", "browsing-topics", "clipboard-read", "display-capture", "encrypted-media", focus,
	"fullscreen", "gyroscope", "hid", "identity-credentials-get", "idle-detection", "local-fonts", "magnetometer", "midi",
	"otp-credentials", "payment", "picture-in-picture", "publickey-credentials-create", "publickey-credentials-get",
	"screen-wake-lock", "serial", "storage-access", "usb", "web-share", "window-management", "xr-spatial-tracking",
}

// permissionsPolicy returns the header for a page whose view has these permissions. As a view
// has no origin it is granted by *; nothing else is in the page.
func permissionsPolicy(granted []string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(features)) {
		allowed := "=()"
		if slices.Contains(granted, name) {
			allowed = "=*"
		}
		parts = append(parts, features[name]+allowed)
	}
	for _, name := range otherFeatures {
		parts = append(parts, name+"=()")
	}
	return strings.Join(parts, ", ")
}

// allow returns the allow attribute of a view's frame, for content from any origin.
func allow(granted []string) string {
	var text strings.Builder
	for _, name := range granted {
		text.WriteString(features[name] + " *; ")
	}
	return text.String() + focus + " 'none'"
}

// allowedSources returns the declared sources that a view of this sandbox gets, and the others.
func (s *Sandbox) allowedSources(declared apps.CSP) (csp apps.CSP, refused []string) {
	keep := func(sources []string) (kept []string) {
		for _, source := range sources {
			if s.isOwn(source) || !s.allowPrivate && apps.IsPrivate(source) {
				refused = append(refused, source)
			} else {
				kept = append(kept, source)
			}
		}
		return kept
	}
	csp.ConnectDomains = keep(declared.ConnectDomains)
	csp.ResourceDomains = keep(declared.ResourceDomains)
	csp.FrameDomains = keep(declared.FrameDomains)
	csp.BaseURIDomains = keep(declared.BaseURIDomains)
	return csp, refused
}

// isOwn reports whether a source has an origin of the host or the sandbox, or is another port of
// the host, which gets the host's cookies. On a private host other ports are other programs: see
// Options.AllowPrivate. A source that cannot be parsed counts as own.
func (s *Sandbox) isOwn(source string) bool {
	u, err := url.Parse(source)
	if err != nil {
		return true
	}
	for _, own := range append([]string{s.origin.String()}, s.ancestors...) {
		o, err := url.Parse(own)
		if err != nil || !covers(u.Hostname(), o.Hostname()) {
			continue
		}
		if !apps.IsPrivate(own) || portOf(u) == portOf(o) {
			return true
		}
	}
	return false
}

// covers reports whether two hosts have a name in common; each may begin with a star.
func covers(a, b string) bool {
	a, b = strings.ToLower(a), strings.ToLower(b)
	under := func(name, pattern string) bool {
		above, wild := strings.CutPrefix(pattern, "*.")
		return wild && strings.HasSuffix(strings.TrimPrefix(name, "*"), "."+above)
	}
	return a == b || under(a, b) || under(b, a)
}

// portOf returns the port of a source, even if it is the scheme's.
func portOf(u *url.URL) string {
	return cmp.Or(u.Port(), map[string]string{"http": "80", "ws": "80"}[u.Scheme], "443")
}
