package apps

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// ToolMeta is a tool's metadata about views: the member ui of its _meta.
type ToolMeta struct {
	ResourceURI string // the view that shows the tool's results, "" for none
	ForModel    bool   // models may call it
	ForViews    bool   // views of its server may call it
}

// maxURI bounds the URI of a view, in bytes.
const maxURI = 2 << 10

// ReadToolMeta decodes a tool's metadata about views. The deprecated member ui/resourceUri counts
// if there is no other. A tool without metadata is for models and views.
//
// It is an error if the visibility or the URI is invalid. A tool with an invalid visibility is
// for neither; with an invalid URI it has no view.
func ReadToolMeta(tool *mcp.Tool) (ToolMeta, error) {
	meta := ToolMeta{ForModel: true, ForViews: true}
	if len(tool.Meta) == 0 {
		return meta, nil
	}
	var errs []error
	if raw := jsonrpc.Lookup(tool.Meta, "ui", "visibility"); raw != nil && string(raw) != "null" {
		if err := meta.readVisibility(raw); err != nil {
			errs = append(errs, err)
		}
	}
	raw := jsonrpc.Lookup(tool.Meta, "ui", "resourceUri")
	if raw == nil {
		raw = jsonrpc.Lookup(tool.Meta, "ui/resourceUri")
	}
	if len(raw) > 0 && string(raw) != "null" {
		uri, ok := jsonrpc.String(raw)
		err := errors.New("view URI is not a string")
		if ok {
			err = checkURI(uri)
		}
		if err != nil {
			errs = append(errs, err)
		} else {
			meta.ResourceURI = uri
		}
	}
	return meta, errors.Join(errs...)
}

// readVisibility sets the tool's visibility.
func (t *ToolMeta) readVisibility(raw []byte) error {
	t.ForModel, t.ForViews = false, false
	var seen ToolMeta
	d := jsonrpc.NewDecoder(raw, jsonrpc.MaxElements)
	for range d.Elements {
		name := jsonrpc.StringMember(&d, "visibility", d.Raw())
		seen.ForModel = seen.ForModel || name == "model"
		seen.ForViews = seen.ForViews || name == "app"
	}
	if d.Err() != nil {
		return fmt.Errorf("visibility is not a list of names: %s", excerpt.Quote(raw))
	}
	t.ForModel, t.ForViews = seen.ForModel, seen.ForViews
	return nil
}

// checkURI returns an error for a URI that no view has, or that is too long.
func checkURI(uri string) error {
	switch {
	case len(uri) > maxURI:
		return fmt.Errorf("view URI is over %d bytes", maxURI)
	case !strings.HasPrefix(uri, "ui://"):
		return fmt.Errorf("view URI does not begin with ui://: %q", excerpt.Cut(uri))
	}
	return nil
}
