package sandbox

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
)

// Frame describes the iframe in which the host's page shows a view.
type Frame struct {
	URL     string // the iframe's address
	Origin  string // the origin of messages from and to the iframe
	Sandbox string // value of the attribute sandbox
	Allow   string // value of the attribute allow

	// CSP and Permissions are what the view gets, for its session. Refused lists declared
	// sources that it does not get: the host's own, the sandbox's, private ones unless
	// Options.AllowPrivate is set, and all of them if they are too many for the URL.
	CSP         apps.CSP
	Permissions []string
	Refused     []string
}

// FrameOptions is where a view is shown, and for whom.
type FrameOptions struct {
	Host string // origin of the host's page; default: the first of Options.HostOrigins

	// User and Server identify the data that a view may store, if views have origins: the user,
	// and the server by URL or command, since a label may be reused for another server.
	User, Server string
}

// pageSettings are in the URL of a frame, and decide what the page allows its view.
type pageSettings struct {
	Host        string   `json:"host"` // the origin of the host's page
	CSP         apps.CSP `json:"csp"`
	Permissions []string `json:"permissions"`
}

// maxURL bounds the URL of a frame, in bytes.
const maxURL = 16 << 10

// Frame returns the iframe for a view. Its URL is not a secret, and stays valid while Key and
// HostOrigins stay the same. If so many sources are declared that the URL would exceed 16 KiB, the
// view gets none. It is an error if opts.Host is not an origin of the host.
func (s *Sandbox) Frame(meta apps.ResourceMeta, opts FrameOptions) (Frame, error) {
	ancestor, err := s.ancestor(opts.Host)
	if err != nil {
		return Frame{}, err
	}
	f := Frame{Permissions: both(meta.Permissions, s.permissions), Sandbox: "allow-scripts allow-same-origin allow-forms"}
	f.CSP, f.Refused = s.allowedSources(meta.CSP)
	host := s.hostFor(opts)
	f.Origin = origin{s.origin.scheme, host}.String()
	f.URL = f.Origin + "/" + s.sign(f, ancestor, host)
	if len(f.URL) > maxURL {
		f.Refused = slices.Concat(f.Refused, f.CSP.ConnectDomains, f.CSP.ResourceDomains, f.CSP.FrameDomains, f.CSP.BaseURIDomains)
		f.CSP = apps.CSP{}
		f.URL = f.Origin + "/" + s.sign(f, ancestor, host)
	}
	f.Allow = allow(f.Permissions)
	return f, nil
}

// ancestor returns an origin of the host, for "" the first.
func (s *Sandbox) ancestor(raw string) (string, error) {
	if raw == "" {
		return s.ancestors[0], nil
	}
	ancestor, err := parseOrigin(raw)
	if err != nil || !slices.Contains(s.ancestors, ancestor.String()) {
		return "", fmt.Errorf("sandbox: %q is not one of Options.HostOrigins", raw[:min(len(raw), 200)])
	}
	return ancestor.String(), nil
}

// hostFor returns the host name that serves views for a user and server.
func (s *Sandbox) hostFor(opts FrameOptions) string {
	if s.below == "" {
		return s.origin.host
	}
	sum := hmac.New(sha256.New, s.key)
	fmt.Fprintf(sum, "origin\x00%d\x00%s\x00%s", len(opts.User), opts.User, opts.Server)
	return "v" + hex.EncodeToString(sum.Sum(nil)[:10]) + "." + s.below
}

// sign returns the query of a frame's URL. The signature covers the host and the settings, so
// that no page can make the sandbox loosen its policy.
func (s *Sandbox) sign(f Frame, ancestor, host string) string {
	raw, err := jsonrpc.Marshal(pageSettings{ancestor, f.CSP, f.Permissions})
	if err != nil {
		panic(err) // strings always marshal
	}
	settings := base64.RawURLEncoding.EncodeToString(raw)
	return "?view=" + settings + "&mark=" + s.signature(host, settings)
}

// signature returns the signature of settings for a host.
func (s *Sandbox) signature(host, settings string) string {
	sum := hmac.New(sha256.New, s.key)
	sum.Write([]byte("view\x00" + host + "\x00" + settings))
	return hex.EncodeToString(sum.Sum(nil))
}

// settings decodes the URL of a frame at a host. ok is false unless the sandbox has signed it for this host, and its
// origin of the host's page is still one of them. What the options no longer allow is left out.
func (s *Sandbox) settings(host string, u *url.URL) (out pageSettings, ok bool) {
	if u.Path != "/" || len(u.RawQuery) > maxURL {
		return out, false
	}
	query := u.Query()
	settings := query.Get("view")
	if !hmac.Equal([]byte(query.Get("mark")), []byte(s.signature(host, settings))) {
		return out, false
	}
	raw, err := base64.RawURLEncoding.DecodeString(settings)
	if err != nil {
		return out, false
	}
	if err := json.Unmarshal(raw, &out); err != nil || !slices.Contains(s.ancestors, out.Host) {
		return pageSettings{}, false
	}
	out.CSP, _ = s.allowedSources(out.CSP)
	out.Permissions = both(out.Permissions, s.permissions)
	return out, true
}
