package sandbox

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
)

// Options configure a sandbox. Origin and HostOrigins are required.
type Options struct {
	// Origin is where the sandbox is served: a scheme, a host, and a port unless it is the
	// scheme's. It must not be the host's. If its host begins with "*.", each user and server gets
	// a label in the star's place: browsers resolve such names below localhost without DNS;
	// elsewhere they need a domain of their own, see "Origins" in the package documentation.
	Origin string

	// HostOrigins are the origins of the host's page. Only they may frame views and talk to them,
	// each only those made for it (FrameOptions.Host).
	HostOrigins []string

	// AllowPrivate lets views access loopback and private addresses that their servers declare, for
	// a server on the person's own machine. The host's own origins stay out of reach.
	AllowPrivate bool

	// Permissions are the most that views may get, by their names in [apps.ResourceMeta]. Default: none.
	Permissions []string

	// Key signs the URLs of frames, so that they stay valid in another process and after a restart.
	// It has at least 16 random bytes; use 32. The labels in place of a star also depend on it:
	// with another key views do not find their stored data. Default: a random key.
	Key []byte
}

// Sandbox serves the page in which views run. It is an [http.Handler]. Its methods may be
// called concurrently.
type Sandbox struct {
	scheme, host string   // host with its port, and with "*." if views have origins of their own
	below        string   // host without "*.", below which these origins are; "" without them
	ancestors    []string // the origins of the host
	allowPrivate bool     // Options.AllowPrivate
	permissions  []string
	key          []byte
}

// minKey is the smallest key, in bytes.
const minKey = 16

// New returns a sandbox. The error names the invalid option.
func New(opts *Options) (*Sandbox, error) {
	if opts == nil {
		opts = new(Options)
	}
	scheme, host, err := origin(opts.Origin)
	if err != nil {
		return nil, fmt.Errorf("sandbox: Options.Origin: %w", err)
	}
	s := &Sandbox{
		scheme:       scheme,
		host:         host,
		allowPrivate: opts.AllowPrivate,
		permissions:  slices.Clone(opts.Permissions),
		key:          bytes.Clone(opts.Key),
	}
	if below, own := strings.CutPrefix(host, "*."); own {
		s.below = below
	}
	if isAddress(s.below) {
		return nil, errors.New("sandbox: Options.Origin: an address has no names below it")
	}
	for _, raw := range opts.HostOrigins {
		ancestor, err := checkAncestor(raw, host)
		if err != nil {
			return nil, err
		}
		s.ancestors = append(s.ancestors, ancestor)
	}
	for _, name := range s.permissions {
		if features[name] == "" {
			return nil, fmt.Errorf("sandbox: Options.Permissions: %q is not one of %q", name, slices.Sorted(maps.Keys(features)))
		}
	}
	if len(s.ancestors) == 0 {
		return nil, errors.New("sandbox: Options.HostOrigins is empty")
	}
	if len(s.key) > 0 && len(s.key) < minKey {
		return nil, fmt.Errorf("sandbox: Options.Key has %d bytes: want at least %d", len(s.key), minKey)
	}
	if len(s.key) == 0 {
		s.key = make([]byte, 32)
		_, _ = rand.Read(s.key) // it never returns an error
	}
	return s, nil
}

// checkAncestor validates an origin of the host, which must not share the sandbox's host.
func checkAncestor(raw, host string) (string, error) {
	scheme, ancestor, err := origin(raw)
	if err == nil && strings.HasPrefix(ancestor, "*.") {
		err = fmt.Errorf("%q begins with a star: name each origin", raw)
	}
	if err != nil {
		return "", fmt.Errorf("sandbox: Options.HostOrigins: %w", err)
	}
	switch rest, own := strings.CutPrefix(host, "*."); {
	case host == ancestor:
		return "", errors.New("sandbox: Options.Origin is the origin of the host: views would reach all that the host's page reaches")
	case own && strings.HasSuffix(hostname(ancestor), "."+hostname(rest)):
		return "", errors.New("sandbox: Options.HostOrigins has one among the origins of views")
	case own && sharesCookies(hostname(rest), hostname(ancestor)):
		return "", errors.New("sandbox: Options.Origin is below the host's domain: views could set cookies for the host's page")
	}
	return scheme + "://" + ancestor, nil
}

// sharesCookies reports whether pages below one name may set cookies for another: the other is the
// same domain, its parent, or below that parent. A parent such as co.uk is a public suffix, for
// which browsers accept no cookies.
func sharesCookies(below, other string) bool {
	if below == "localhost" {
		return false // browsers know it as a public suffix
	}
	if other == below {
		return true
	}
	_, above, _ := strings.Cut(below, ".")
	second, top, found := strings.Cut(above, ".")
	if !found || len(second) <= 3 && len(top) == 2 {
		return false
	}
	return other == above || strings.HasSuffix(other, "."+above)
}

// origin parses an origin. host is in lower case, has its port unless that is the scheme's, and may
// begin with "*.".
func origin(raw string) (scheme, host string, err error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return "", "", err
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "", u.User != nil,
		u.Path != "" && u.Path != "/", u.RawQuery != "", u.Fragment != "":
		return "", "", fmt.Errorf("%q is not a scheme (http, https), a host and a port", raw)
	}
	host = plainHost(u.Scheme, u.Host)
	if strings.ContainsAny(strings.TrimPrefix(host, "*."), "* ;,'\"") {
		return "", "", fmt.Errorf("%q: a star stands for the first label only", raw)
	}
	return u.Scheme, host, nil
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

// Frame describes the iframe in which the host's page shows a view.
type Frame struct {
	URL     string // the iframe's address
	Origin  string // the origin of messages from and to the iframe
	Sandbox string // value of the attribute sandbox
	Allow   string // value of the attribute allow

	// CSP and Permissions are what the view gets, for its session. Refused lists declared
	// sources that it does not get: the host's own, the sandbox's, and private ones unless
	// Options.AllowPrivate is set.
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
	f.Origin = s.scheme + "://" + host
	f.URL = f.Origin + "/" + s.sign(f, ancestor, host)
	if len(f.URL) > maxURL {
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
	scheme, host, err := origin(raw)
	ancestor := scheme + "://" + host
	if err != nil || !slices.Contains(s.ancestors, ancestor) {
		return "", fmt.Errorf("sandbox: %q is not one of Options.HostOrigins", raw[:min(len(raw), 200)])
	}
	return ancestor, nil
}

// hostFor returns the host name that serves views for a user and server.
func (s *Sandbox) hostFor(opts FrameOptions) string {
	if s.below == "" {
		return s.host
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

//go:embed proxy.html
var page string

// maxMessage bounds messages through the proxy, in UTF-16 units of JSON.
const maxMessage = 20 << 20

// ServeHTTP serves the page for a frame's URL, and nothing else.
func (s *Sandbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	host := plainHost(s.scheme, r.Host)
	if !s.serves(host) {
		refuse(w, "this is not the origin of the sandbox", http.StatusMisdirectedRequest)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		refuse(w, "want GET", http.StatusMethodNotAllowed)
		return
	}
	settings, ok := s.settings(host, r.URL)
	if !ok {
		refuse(w, "there is no such view", http.StatusNotFound)
		return
	}
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy(settings.CSP, settings.Host))
	h.Set("Permissions-Policy", permissionsPolicy(settings.Permissions))
	values := strings.NewReplacer(
		"HOST_ORIGIN", quoted(settings.Host),
		"OWN_ORIGIN", strconv.FormatBool(s.below != ""),
		"MAX_MESSAGE", strconv.Itoa(maxMessage),
		"ALLOW", quoted(allow(settings.Permissions)),
	)
	_, _ = values.WriteString(w, page)
}

// refuse answers with a page in which nothing runs.
func refuse(w http.ResponseWriter, why string, status int) {
	w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox")
	http.Error(w, why, status)
}

// quoted returns a string literal for the page's script.
func quoted(s string) string {
	b, err := json.Marshal(s) // it escapes what could end the script
	if err != nil {
		panic(err)
	}
	return string(b)
}

// serves reports whether a host is the sandbox's, or one label in place of its star.
func (s *Sandbox) serves(host string) bool {
	if s.below == "" {
		return host == s.host
	}
	label, isBelow := strings.CutSuffix(host, "."+s.below)
	return isBelow && !strings.Contains(label, ".")
}

// settings decodes the URL of a frame at a host. ok is false unless the sandbox has signed it for
// this host, and its origin of the host's page is still one of them. What the options no longer
// allow is left out.
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
