package langchain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"mime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tmc/langchaingo/schema"
	"github.com/tmc/langchaingo/textsplitter"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// documents returns one document for each part of a resource.
func documents(res *mcp.ReadResourceResult) []schema.Document {
	out := make([]schema.Document, len(res.Contents))
	for i := range res.Contents {
		out[i] = document(&res.Contents[i])
	}
	return out
}

// document converts the contents of a resource to a document.
func document(c *mcp.ResourceContents) schema.Document {
	d := schema.Document{PageContent: c.Text, Metadata: map[string]any{"source": c.URI, "uri": c.URI}}
	if c.MIMEType != "" {
		d.Metadata["mime_type"] = c.MIMEType
	}
	switch {
	case c.Blob == nil:
	case isText(c.MIMEType) && utf8.Valid(c.Blob):
		d.PageContent = string(c.Blob)
	default:
		d.Metadata["data"] = c.Blob
	}
	return d
}

// isText reports whether content of a media type is text.
func isText(mimeType string) bool {
	kind, _, err := mime.ParseMediaType(mimeType)
	if err != nil {
		return false
	}
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") ||
		slices.Contains([]string{"application/json", "application/xml", "application/yaml"}, kind)
}

// Loader loads resources of one server as documents. It implements documentloaders.Loader of langchaingo. Load fails if
// there are more than 1,000 documents or 64 MiB. Its methods may be called concurrently.
type Loader struct {
	Client *mcpclient.Client

	// URIs are the resources to load. Default: all that the server lists.
	URIs []string

	maxDocuments, maxBytes int // set by tests; 0 means the default
}

// Load reads the resources one after the other, and returns one document for each part. It returns no documents if one
// cannot be read. Metadata "source", the key of langchaingo's loaders, and "uri" are the URI of the part, and "mime_type"
// is its type if that is known. A binary part with a MIME type of text becomes text if it is UTF-8. Other binary parts
// have no content; their bytes are in metadata "data".
func (l *Loader) Load(ctx context.Context) ([]schema.Document, error) {
	uris, err := l.uris(ctx)
	if err != nil {
		return nil, err
	}
	var out []schema.Document
	most, size := l.bounds()
	room := size
	for _, uri := range uris {
		res, err := l.Client.ReadResource(ctx, uri)
		if err != nil {
			return nil, err
		}
		for _, c := range res.Contents {
			room -= len(c.Text) + len(c.Blob)
		}
		if room < 0 {
			return nil, fmt.Errorf("load resource %.200q: more than %d bytes in all", uri, size)
		}
		if out = append(out, documents(res)...); len(out) > most {
			return nil, tooManyError(most)
		}
	}
	return out, nil
}

func tooManyError(most int) error { return fmt.Errorf("load resources: more than %d documents", most) }

// bounds returns the maximum number of documents and of bytes.
func (l *Loader) bounds() (documents, size int) {
	return cmp.Or(l.maxDocuments, 1000), cmp.Or(l.maxBytes, 64<<20)
}

// uris returns the resources to load.
func (l *Loader) uris(ctx context.Context) ([]string, error) {
	if l.Client == nil {
		return nil, errors.New("load resources: set Loader.Client")
	}
	if l.URIs != nil {
		return l.URIs, nil
	}
	var out []string
	most, _ := l.bounds()
	for r, err := range l.Client.Resources(ctx) {
		if err != nil {
			return nil, err
		}
		if out = append(out, r.URI); len(out) > most {
			return nil, tooManyError(most)
		}
	}
	return out, nil
}

// LoadAndSplit loads the resources and splits their text. Each piece has the metadata of its
// document. Documents without text are omitted.
func (l *Loader) LoadAndSplit(ctx context.Context, splitter textsplitter.TextSplitter) ([]schema.Document, error) {
	all, err := l.Load(ctx)
	if err != nil {
		return nil, err
	}
	var out []schema.Document
	for _, d := range all {
		if d.PageContent == "" {
			continue
		}
		pieces, err := splitter.SplitText(d.PageContent)
		if err != nil {
			return nil, fmt.Errorf("split resource %.200q: %w", d.Metadata["uri"], err)
		}
		for _, piece := range pieces {
			out = append(out, schema.Document{PageContent: piece, Metadata: maps.Clone(d.Metadata)})
		}
	}
	return out, nil
}
