package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp/internal/uritemplate"
)

// Resource is something that a server lets its clients read.
type Resource struct {
	URI         string          `json:"uri"`
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	MIMEType    string          `json:"mimeType,omitempty"`
	Size        *int64          `json:"size,omitempty"` // in bytes; nil unless the server gives a whole number from 0
	Icons       []Icon          `json:"icons,omitempty"`
	Annotations *Annotations    `json:"annotations,omitempty"`
	Meta        json.RawMessage `json:"_meta,omitempty"`
}

// UnmarshalJSON implements [json.Unmarshaler]. Size may be in any notation, and in a
// string: languages that have one kind of number write 12.0 for 12.
func (r *Resource) UnmarshalJSON(data []byte) error {
	type resource Resource
	*r = Resource{}
	read := struct {
		*resource
		Size json.RawMessage `json:"size"`
	}{resource: (*resource)(r)}
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	if size := wholeOf(read.Size); size != nil && *size >= 0 {
		r.Size = size
	}
	return nil
}

// ResourceTemplate is a family of resources whose URIs follow an RFC 6570 template.
type ResourceTemplate struct {
	URITemplate string          `json:"uriTemplate"`
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	MIMEType    string          `json:"mimeType,omitempty"`
	Icons       []Icon          `json:"icons,omitempty"`
	Annotations *Annotations    `json:"annotations,omitempty"`
	Meta        json.RawMessage `json:"_meta,omitempty"`
}

// Expand fills the template's variables. A variable without a value expands to nothing, as RFC 6570
// says. A template over 8 KiB is an error, and so is an expansion over 1 MiB.
func (t *ResourceTemplate) Expand(values map[string]string) (string, error) {
	uri, err := uritemplate.Expand(t.URITemplate, values)
	if err != nil {
		return "", fmt.Errorf("expand %q: %w", excerpt.Cut(t.URITemplate), err)
	}
	return uri, nil
}

// ReadResourceResult holds the parts of a resource; a directory-like resource has several.
type ReadResourceResult struct {
	Contents []ResourceContents `json:"contents"`
	Meta     json.RawMessage    `json:"_meta,omitempty"`
	TTL      time.Duration      `json:"-"` // as [Page.TTL]
}

func (r *ReadResourceResult) UnmarshalJSON(data []byte) error {
	d := jsonrpc.NewDecoder(data, jsonrpc.MaxElements)
	r.decode(&d)
	return d.Err()
}

func (r *ReadResourceResult) decode(d *jsonrpc.Decoder) {
	for key := range d.Members {
		switch string(key) {
		case "contents":
			r.Contents = nil // the last of equal members counts
			if d.Kind() == 'n' {
				continue
			}
			for range d.Elements {
				var part ResourceContents
				part.decode(d)
				r.Contents = append(r.Contents, part)
			}
		case "ttlMs":
			r.TTL = jsonrpc.TTL(d.Raw())
		case "_meta":
			r.Meta = bytes.Clone(d.Raw())
		}
	}
}
