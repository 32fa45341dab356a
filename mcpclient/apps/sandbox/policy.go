package sandbox

import (
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/mcpclient/apps"
)

// policy returns the Content Security Policy for a view that declares these sources, and whose page
// only the origin ancestor may frame. It leaves out sources that [apps.CheckSource] refuses.
//
// It is the policy of the specification with three restrictions: no requests to the sandbox's
// own origin (connect-src 'self'), no forms (form-action), and fonts fall under default-src
// unless sources are declared.
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
	for _, source := range all {
		if clean, ok := apps.CheckSource(source); ok && !slices.Contains(out, clean) {
			out = append(out, clean)
		}
	}
	return out
}

// both returns the permissions that a and b have.
func both(a, b apps.Permissions) apps.Permissions {
	return apps.Permissions{
		Camera:         a.Camera && b.Camera,
		Microphone:     a.Microphone && b.Microphone,
		Geolocation:    a.Geolocation && b.Geolocation,
		ClipboardWrite: a.ClipboardWrite && b.ClipboardWrite,
	}
}

// features returns the browser features that a view gets and those it does not get, in the
// words of Permissions Policy.
func features(p apps.Permissions) (on, off []string) {
	for _, f := range []struct {
		name    string
		granted bool
	}{{"camera", p.Camera}, {"microphone", p.Microphone}, {"geolocation", p.Geolocation}, {"clipboard-write", p.ClipboardWrite}} {
		if f.granted {
			on = append(on, f.name)
		} else {
			off = append(off, f.name)
		}
	}
	return on, off
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
func permissionsPolicy(p apps.Permissions) string {
	on, off := features(p)
	var parts []string
	for _, name := range on {
		parts = append(parts, name+"=*")
	}
	for _, name := range append(off, otherFeatures...) {
		parts = append(parts, name+"=()")
	}
	return strings.Join(parts, ", ")
}

// allow returns the allow attribute of a view's frame, for content from any origin.
func allow(p apps.Permissions) string {
	on, _ := features(p)
	return strings.Join(append(on, focus+" 'none'"), " *; ")
}
