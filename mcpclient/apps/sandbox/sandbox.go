package sandbox

import (
	"bytes"
	"cmp"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
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

// Sandbox serves the page in which views run. It is an [http.Handler]. Its methods may be called concurrently.
type Sandbox struct {
	origin       origin   // with "*." if views have origins of their own
	below        string   // the host below which these origins are; "" without them
	ancestors    []string // the origins of the host
	allowPrivate bool     // Options.AllowPrivate
	permissions  []string
	key          []byte
}

// minKey is the smallest key, in bytes.
const minKey = 16

// New returns a sandbox. The error names the invalid option.
func New(opts *Options) (*Sandbox, error) {
	opts = cmp.Or(opts, new(Options))
	own, err := parseOrigin(opts.Origin)
	if err != nil {
		return nil, fmt.Errorf("sandbox: Options.Origin: %w", err)
	}
	s := &Sandbox{
		origin:       own,
		below:        own.below(),
		allowPrivate: opts.AllowPrivate,
		permissions:  slices.Clone(opts.Permissions),
		key:          bytes.Clone(opts.Key),
	}
	for _, raw := range opts.HostOrigins {
		ancestor, err := checkAncestor(raw, own)
		if err != nil {
			return nil, err
		}
		s.ancestors = append(s.ancestors, ancestor.String())
	}
	unknown := slices.IndexFunc(s.permissions, func(name string) bool { return features[name] == "" })
	switch {
	case isAddress(s.below):
		return nil, errors.New("sandbox: Options.Origin: an address has no names below it")
	case len(s.ancestors) == 0:
		return nil, errors.New("sandbox: Options.HostOrigins is empty")
	case unknown >= 0:
		return nil, fmt.Errorf("sandbox: Options.Permissions: %q is not one of %q", s.permissions[unknown], slices.Sorted(maps.Keys(features)))
	case len(s.key) > 0 && len(s.key) < minKey:
		return nil, fmt.Errorf("sandbox: Options.Key has %d bytes: want at least %d", len(s.key), minKey)
	case len(s.key) == 0:
		s.key = make([]byte, 32)
		_, _ = rand.Read(s.key) // it never returns an error
	}
	return s, nil
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
	host := plainHost(s.origin.scheme, r.Host)
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
		return host == s.origin.host
	}
	label, isBelow := strings.CutSuffix(host, "."+s.below)
	return isBelow && !strings.Contains(label, ".")
}
