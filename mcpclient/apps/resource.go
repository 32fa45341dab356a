package apps

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"slices"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/apps/internal/source"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Bounds of a view.
const (
	maxHTML   = 16 << 20
	maxListed = 1000
)

// View is the document of a view with the server's metadata. The server controls all of it: show it only in a sandbox.
type View struct {
	URI  string
	HTML []byte
	Meta ResourceMeta
}

// Fingerprint returns the SHA-256 of the document and its metadata in hexadecimal, by which a host
// recognizes a view that it has reviewed. Another version of this module may return another one.
func (v *View) Fingerprint() string {
	encoded, err := jsonrpc.Marshal(v.Meta)
	if err != nil {
		panic(err) // strings and a boolean always marshal
	}
	h := sha256.New()
	fmt.Fprintf(h, "%d:", len(v.HTML))
	h.Write(v.HTML)
	h.Write(encoded)
	return hex.EncodeToString(h.Sum(nil))
}

// ResourceMeta is a server's metadata about a view: the member ui of the _meta of a resource.
type ResourceMeta struct {
	CSP           CSP      `json:"csp"`
	Permissions   []string `json:"permissions,omitempty"` // camera, microphone, geolocation, clipboardWrite
	Domain        string   `json:"domain,omitempty"`      // an origin of its own, in the syntax of certain hosts
	PrefersBorder *bool    `json:"prefersBorder,omitempty"`

	// Refused describes the declared sources that no policy may have, which are left out of CSP.
	// Each text names the list, and quotes at most 1 KiB of the source.
	Refused []string `json:"-"`
}

// permissions are the browser features that a view can ask for.
var permissions = []string{"camera", "microphone", "geolocation", "clipboardWrite"}

// readPermissions returns the features that an object asks for, each by a member that is an object.
func readPermissions(object []byte) []string {
	var asked []string
	for _, name := range permissions {
		if jsonrpc.IsObject(jsonrpc.Lookup(object, name)) {
			asked = append(asked, name)
		}
	}
	return asked
}

// readResourceMeta decodes a resource's metadata about a view. found is false if there is no member
// ui. Invalid parts count as absent, so that a view never gets more than was declared.
func readResourceMeta(raw json.RawMessage) (meta ResourceMeta, found bool) {
	ui := jsonrpc.Lookup(raw, "ui")
	if !jsonrpc.IsObject(ui) {
		return ResourceMeta{}, false
	}
	meta.CSP, meta.Refused = readCSP(jsonrpc.Lookup(ui, "csp"))
	meta.Permissions = readPermissions(jsonrpc.Lookup(ui, "permissions"))
	if domain, ok := jsonrpc.String(jsonrpc.Lookup(ui, "domain")); ok && len(domain) <= source.Max {
		meta.Domain = domain
	}
	if text := string(jsonrpc.Lookup(ui, "prefersBorder")); text == "true" || text == "false" {
		border := text == "true"
		meta.PrefersBorder = &border
	}
	return meta, true
}

// Load reads a view of a server by its URI, or takes it from the cache of the client ([mcpclient.WithoutCache]). The
// metadata in the contents takes precedence over that in the list of resources, which is requested only if the contents
// have none. The error matches [mcp.ErrInvalidResult] if the contents are not a view: of type
// text/html;profile=mcp-app, in UTF-8, not empty, and at most 16 MiB.
func Load(ctx context.Context, c *mcpclient.Client, uri string, opts ...mcpclient.CallOption) (*View, error) {
	if err := checkURI(uri); err != nil {
		return nil, fmt.Errorf("load view: %w", err)
	}
	res, err := c.ReadResource(ctx, uri, opts...)
	if err != nil {
		return nil, fmt.Errorf("load view: %w", err)
	}
	i := slices.IndexFunc(res.Contents, func(r mcp.ResourceContents) bool { return r.URI == uri })
	if i < 0 {
		return nil, fmt.Errorf("load view %q: %w: no contents with this URI", excerpt.Cut(uri), mcp.ErrInvalidResult)
	}
	view, err := decodeView(&res.Contents[i])
	if err != nil {
		return nil, fmt.Errorf("load view %q: %w: %w", excerpt.Cut(uri), mcp.ErrInvalidResult, err)
	}
	meta, found := readResourceMeta(res.Contents[i].Meta)
	if !found {
		meta = listedMeta(ctx, c, uri, opts)
	}
	view.Meta = meta
	return view, nil
}

// decodeView returns the view in the contents of a resource, without its metadata.
func decodeView(r *mcp.ResourceContents) (*View, error) {
	html := []byte(r.Text)
	if r.Blob != nil {
		html = r.Blob
	}
	kind, params, err := mime.ParseMediaType(r.MIMEType)
	switch {
	case err != nil || kind != "text/html" || params["profile"] != "mcp-app":
		return nil, fmt.Errorf("MIME type is %q, want %s", excerpt.Cut(r.MIMEType), mimeType)
	case len(bytes.TrimSpace(html)) == 0:
		return nil, errors.New("HTML is empty")
	case len(html) > maxHTML:
		return nil, fmt.Errorf("HTML is over %d bytes", maxHTML)
	case !utf8.Valid(html):
		return nil, errors.New("not valid UTF-8")
	}
	return &View{URI: r.URI, HTML: html}, nil
}

// listedMeta returns the metadata in the server's list of resources, the zero value if the view
// is not among the first maxListed, or the list fails. A server need not list a view.
func listedMeta(ctx context.Context, c *mcpclient.Client, uri string, opts []mcpclient.CallOption) ResourceMeta {
	remaining := maxListed
	for r, err := range c.Resources(ctx, opts...) {
		if err != nil || remaining == 0 {
			break
		}
		remaining--
		if r.URI == uri {
			meta, _ := readResourceMeta(r.Meta)
			return meta
		}
	}
	return ResourceMeta{}
}
